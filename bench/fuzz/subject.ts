import type { Dice } from './dice.js';

/** CaseResult says what a case did, how it ended, and which rules were broken. */
export interface CaseResult {
  /** What was changed, in words. */
  readonly what: string;
  /** How the input was taken, such as `accepted` or `refused`, to be counted. */
  readonly outcome: string;
  readonly faults: readonly string[];
}

/** Subject makes and tries the cases of one kind of input. */
export interface Subject {
  /** run makes one case in an empty folder and tries it. Equal draws make equal cases. */
  run(dice: Dice, folder: string): Promise<CaseResult>;
  close(): Promise<void>;
}
