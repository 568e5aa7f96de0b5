import type { PipelinePlan, PlannedEdge, PlannedStage } from '../artifacts/index.js';
import { uniformAt } from '../random/index.js';
import type { VerdictOf } from '../simulator/index.js';

/** The most edges that leave a stage of the 64 that a pipeline may have. */
const MOST_EDGES = 64;

/** Chance gives a verdict from a uniform number for each of the stage's independent choices. */
type Chance = (uniform: (choice: number) => number) => number;

/**
 * drawnFates draws what the models of a pipeline's stages say: whether each conditional edge is taken, by the plan's
 * probabilities, each independently or exactly one of an exclusive list. The fate of a request depends only on the seed,
 * on how many requests came before it, and on the names of stages, so that it is the same under every policy.
 */
export function drawnFates({ stages, exclusive = [] }: PipelinePlan, seed: number): VerdictOf {
  const uniforms = stages.map(({ name }) => uniformAt(seed, `verdict/${name}`));
  const chances = stages.map((stage) => chanceOf(stage, exclusive));
  return (order, row, stage) => {
    const uniform = uniforms[stage] as (typeof uniforms)[number];
    return (chances[stage] as Chance)((choice) => uniform(order, MOST_EDGES * row + choice));
  };
}

/** conditionalEdges lists the edges of a stage that depend on its verdict, in the order of the verdict's bits. */
export function conditionalEdges({ next }: Pick<PlannedStage, 'next'>): PlannedEdge[] {
  return next.filter(({ probability, when }) => probability !== undefined || when !== undefined);
}

function chanceOf({ next }: PlannedStage, exclusive: readonly (readonly string[])[]): Chance {
  const edges = conditionalEdges({ next });
  const lists = exclusive.filter((list) => list.every((name) => edges.some(({ to }) => to === name)));
  const alone = edges.flatMap(({ to, probability = 1 }, edge) =>
    lists.some((list) => list.includes(to)) ? [] : [{ edge, probability }],
  );
  const choices = lists.map((list) =>
    list.map((name) => {
      const edge = edges.findIndex(({ to }) => to === name);
      return { edge, probability: edges[edge]?.probability ?? 0 };
    }),
  );
  return (uniform) => {
    let verdict = 0;
    for (const { edge, probability } of alone) if (uniform(edge) < probability) verdict |= 1 << edge;
    for (const choice of choices) verdict |= 1 << chosen(choice, uniform((choice[0] as Choice).edge));
    return verdict;
  };
}

interface Choice {
  readonly edge: number;
  readonly probability: number;
}

/** chosen is the edge of the choice into whose share of [0, 1) the number falls. */
function chosen(choices: readonly Choice[], uniform: number): number {
  let below = 0;
  for (const { edge, probability } of choices) {
    below += probability;
    if (uniform < below) return edge;
  }
  return (choices.at(-1) as Choice).edge;
}
