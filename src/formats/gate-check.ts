/** GATES lists what a command can be asked to judge. */
export const GATES = [
  'attainment',
  'failedRequests',
  'attainmentDifference',
  'inputs',
  'same',
  'hold',
  'difference',
] as const;

/** Gate is what a command was asked to judge: a figure against a threshold, or a fact. */
export type Gate = (typeof GATES)[number];

/** GateCheck is the verdict of one gate. An attainment holds at its threshold or above, every other figure at it or below. */
export interface GateCheck {
  what: Gate;
  /** The model that is judged; absent where it is all of them. */
  model?: string;
  /** Of `difference`: the figure of two plans that is judged, such as cost. */
  figure?: string;
  /** relative says whether threshold and value are shares of the earlier figure. */
  relative?: boolean;
  /** The file that is judged, where a command judges several. */
  file?: string;
  threshold?: number;
  /** The figure that was found; absent of a fact, and where nothing gave the figure. */
  value?: number;
  /** The lower end of the figure's confidence interval over several runs, which is judged in place of its mean. */
  low?: number;
  held: boolean;
}

/** GateVerdicts are what a document says of the gates that were asked for. */
export interface GateVerdicts {
  /**
   * The verdict of every gate that was asked for; absent where none was, or an interruption left none to judge. That no
   * request failed is asked of every load.
   */
  checks?: GateCheck[];
}

/** INPUTS_HELD is the verdict on a plan whose inputs are what it was made from. */
export const INPUTS_HELD: GateCheck = { what: 'inputs', held: true };

/** INPUTS_CHANGED is the verdict on a plan whose inputs are not known to be what it was made from. */
export const INPUTS_CHANGED: readonly GateCheck[] = [{ what: 'inputs', held: false }];

/** CHANGED_ADVICE is what to do about a plan whose inputs have changed. */
export const CHANGED_ADVICE = 'Put the files back where they were when it was solved, or solve again.';

/** isHeld says whether every gate held. */
export function isHeld({ checks = [] }: GateVerdicts): boolean {
  return checks.every(({ held }) => held);
}
