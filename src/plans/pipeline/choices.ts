import type { ConditionalEdge, VerdictChoice } from '../verdict-choice.js';

export type { ConditionalEdge, VerdictChoice } from '../verdict-choice.js';

/** CERTAIN is what is wrong with an edge that is planned as if it were always taken, and has a condition. */
export const CERTAIN =
  'has a condition, and is planned with probability 1 as if it were always taken; give less, or no condition';

/** conditionalEdges lists the edges of a stage that depend on its verdict, in the order of the verdict's bits. */
export function conditionalEdges<Edge extends Pick<ConditionalEdge, 'probability' | 'when'>>({
  next,
}: {
  readonly next: readonly Edge[];
}): Edge[] {
  return next.filter(({ probability, when }) => probability !== undefined || when !== undefined);
}

/** verdictChoices lists what a stage's verdict chooses: the edges by themselves first, and then the exclusive lists. */
export function verdictChoices(
  stage: { readonly next: readonly ConditionalEdge[] },
  exclusive: readonly (readonly string[])[],
): VerdictChoice[] {
  const edges = conditionalEdges(stage).map((edge, bit) => ({ ...edge, bit }));
  const edgeTo = (name: string) => edges.find(({ to }) => to === name);
  const lists = exclusive
    .map((list) => list.map(edgeTo).filter((edge) => edge !== undefined))
    .filter((found, i) => found.length === exclusive[i]?.length);
  const listed = new Set(lists.flat());
  return [
    ...edges.filter((edge) => !listed.has(edge)).map((edge) => ({ isExclusive: false, edges: [edge] })),
    ...lists.map((list) => ({ isExclusive: true, edges: list })),
  ];
}
