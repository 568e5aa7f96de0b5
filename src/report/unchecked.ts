import { listed, option, type PlanChecks } from '../artifacts/index.js';

/** uncheckedNote says in a sentence what a plan was not checked against; undefined where it was checked against all. */
export function uncheckedNote({ unchecked }: PlanChecks): string | undefined {
  if (unchecked === undefined || unchecked.length === 0) return undefined;
  return `the plan is not checked against its ${listed(unchecked)}: not all that it was made from is named, there and as it was, so that an edit may not show; \`plan validate\` tells more, and ${option('strict')} refuses such a plan`;
}
