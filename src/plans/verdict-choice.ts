import type { WhenOutput } from '../formats/index.js';

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
