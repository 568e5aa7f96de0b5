import type { Dice } from '../seeded/dice.js';

/** Refutation is one claim that another computation has shown to be false. */
export interface Refutation {
  /** The claim, with its figures, such as "case.json: no plan serves more than 120/s". */
  readonly claim: string;
  /** The computation that makes it false, with its figures, such as "brute force finds a plan for 131/s". */
  readonly found: string;
}

/** Refuted is the end of one case. */
export interface Refuted {
  /** The spec, cluster, load and models of the case, in words. */
  readonly what: string;
  /** The program's answer, such as `optimal` or `infeasible`, to be counted: a kind that is always refused tests nothing. */
  readonly outcome: string;
  readonly refutations: readonly Refutation[];
}

/**
 * Refuter makes one case in an empty folder, has the program answer it, and tries to make each claim of the answer false
 * by a computation that shares nothing with the one that made it. Equal dice make equal cases. A case takes at most two
 * seconds of CPU; an error that it throws is a refutation too.
 */
export type Refuter = (dice: Dice, folder: string) => Promise<Refuted>;
