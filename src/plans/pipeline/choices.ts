import type { WhenOutput } from '../../artifacts/index.js';

/** CERTAIN is what is wrong with an edge that is planned as if it were always taken, and has a condition. */
export const CERTAIN =
  'has a condition, and is planned with probability 1 as if it were always taken; give less, or no condition';

/** ConditionalEdge is an edge as specs and plans have it, with what says whether it is taken. */
export interface ConditionalEdge {
  readonly to: string;
  readonly probability?: number;
  readonly when?: WhenOutput;
}

/** VerdictChoice is a list of exclusive edges of a stage, exactly one of which is taken, or an edge by itself. */
export interface VerdictChoice {
  readonly isExclusive: boolean;
  /** In the order of the exclusive list. `bit` is the edge's place in the stage's verdict. */
  readonly edges: readonly (ConditionalEdge & { readonly bit: number })[];
}

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
