import { listed, option, type PlanChecks } from '../formats/index.js';

/**
 * uncheckedNote says in a sentence what a plan was not checked against; undefined where it was checked against all.
 * @param isValidated whether `plan validate` writes this, which needs no pointer to itself
 */
export function uncheckedNote({ unchecked }: PlanChecks, isValidated = false): string | undefined {
  if (unchecked === undefined || unchecked.length === 0) return undefined;
  const more = isValidated ? '' : '`plan validate` tells more, and ';
  return `the plan is not checked against its ${listed(unchecked)}: not all that it was made from is named, there and as it was, so that an edit may not show; ${more}${option('strict')} refuses such a plan`;
}
