import type { DrawnUniforms, Fates } from '../plan-of.js';
import { type ConditionalEdge, type VerdictChoice, verdictChoices } from './choices.js';

/** The most edges that leave a stage of the 64 that a pipeline may have. */
const MOST_EDGES = 64;

/** Chance gives a verdict from a uniform number for each of the stage's independent choices. */
type Chance = (uniform: (choice: number) => number) => number;

/** UncertainPipeline is what fates depend on: the edges of each stage, and which of them are exclusive. */
export interface UncertainPipeline {
  readonly stages: readonly { readonly name: string; readonly next: readonly ConditionalEdge[] }[];
  readonly exclusive?: readonly (readonly string[])[] | undefined;
}

/**
 * fatesOf says what the models of a pipeline's stages say: whether each conditional edge is taken, by the plan's
 * probabilities, each independently or exactly one of an exclusive list. The fate of a request depends only on the numbers
 * that are drawn, on how many requests came before it, and on the names of stages, so that it is the same under every policy.
 */
export function fatesOf({ stages, exclusive = [] }: UncertainPipeline, draw: DrawnUniforms): Fates {
  const uniforms = stages.map(({ name }) => draw(`verdict/${name}`));
  const chances = stages.map((stage) => chanceOf(stage, exclusive));
  return (order, row, stage) => {
    const uniform = uniforms[stage] as (typeof uniforms)[number];
    return (chances[stage] as Chance)((choice) => uniform(order, MOST_EDGES * row + choice));
  };
}

function chanceOf(
  stage: UncertainPipeline['stages'][number],
  exclusive: readonly (readonly string[])[],
): Chance {
  const choices = verdictChoices(stage, exclusive);
  return (uniform) =>
    choices.reduce((verdict, choice) => {
      // A choice has the number of its first edge, so that what it draws does not depend on other choices.
      const bit = chosen(choice, uniform((choice.edges[0] as { bit: number }).bit));
      return bit === undefined ? verdict : verdict | (1 << bit);
    }, 0);
}

/** chosen is the bit of the edge into whose share of [0, 1) the number falls; undefined where none is taken. */
function chosen({ edges, isExclusive }: VerdictChoice, uniform: number): number | undefined {
  let below = 0;
  for (const { bit, probability = 1 } of edges) {
    below += probability;
    if (uniform < below) return bit;
  }
  return isExclusive ? edges.at(-1)?.bit : undefined;
}
