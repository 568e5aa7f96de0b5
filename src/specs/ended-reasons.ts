import type { NoPlan, NoPlanReason } from '../formats/index.js';

/** EndedSearch is a search that found no plan, and proved nothing. */
interface EndedSearch {
  /** The limit that ended it; absent where plans were found, and none held what it was to hold. */
  readonly limit?: NoPlan['limit'];
  /** The reasons why the plans that it tried fail, as far as they are known. */
  readonly reasons?: readonly Pick<NoPlanReason, 'text'>[];
}

/** COPIES_ENDED says what became of the literal formulation where its copies of pipelines were too few. */
export const COPIES_ENDED =
  'the literal formulation found no plan with as many pipelines of one sequence of classes as it tries, and more of them may do';

/** endedReasons says why a search has no plan: what was in the way, or else what ended it. */
export function endedReasons({ limit, reasons = [] }: EndedSearch): string[] {
  if (reasons.length > 0) return reasons.map(({ text }) => text);
  const before = 'before a plan was found, or it was proved that there is none';
  switch (limit) {
    case 'time':
      return [`the time was over ${before}`];
    case 'interrupted':
      return [`the search was stopped ${before}`];
    case 'work':
    case 'gap':
      return [`the search did the work that it is allowed ${before}`];
    case 'copies':
      return [COPIES_ENDED];
    case undefined:
      return ['no plan that was found holds in simulation what is asked for'];
  }
}
