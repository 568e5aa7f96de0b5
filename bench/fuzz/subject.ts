import type { Dice } from './dice.js';

/** CaseResult holds the change of a case, its end, and the rules that it broke. */
export interface CaseResult {
  /** The change, in words. */
  readonly what: string;
  /** The program's reaction to the input, such as `accepted` or `refused`, to be counted. */
  readonly outcome: string;
  readonly faults: readonly string[];
}

/** Subject makes and tries the cases of one kind of input. */
export interface Subject {
  /** run makes one case in an empty folder and tries it. Equal draws make equal cases. */
  run(dice: Dice, folder: string): Promise<CaseResult>;
  close(): Promise<void>;
}
