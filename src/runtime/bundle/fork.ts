import { elementAt, type Tensors } from '../../execution/index.js';
import type { WhenOutput } from '../../formats/index.js';
import { type ServedStage, type VerdictChoice, verdictChoices } from '../../plans/index.js';
import type { Fork } from './pool-work.js';

/**
 * forkOf makes the reader of a stage's verdicts. Edges by themselves are taken where their condition holds; of exclusive
 * ones, the first whose condition holds is taken, or else the last. A condition does not hold of a value that is no
 * number.
 * @returns undefined where all edges of the stage are always taken
 */
export function forkOf(
  stage: Pick<ServedStage, 'next'>,
  exclusive: readonly (readonly string[])[],
): Fork | undefined {
  // The choices are tried in the order of the plan.
  const choices = verdictChoices(stage, exclusive).map(({ isExclusive, edges }) => ({
    isExclusive,
    edges: edges.toSorted((a, b) => a.bit - b.bit),
  }));
  if (choices.length === 0) return undefined;
  return {
    verdictOn: (outputs) => choices.reduce((bits, choice) => bits | bitsOf(choice, outputs), 0),
  };
}

function bitsOf({ edges, isExclusive }: VerdictChoice, outputs: Tensors): number {
  const taken = edges.find(({ when }) => when !== undefined && holds(when, outputs));
  const last = isExclusive ? edges.at(-1) : undefined;
  const bit = (taken ?? last)?.bit;
  return bit === undefined ? 0 : 1 << bit;
}

function holds({ output, index = 0, atLeast, below }: WhenOutput, outputs: Tensors): boolean {
  const tensor = outputs[output];
  const value = tensor === undefined ? undefined : elementAt(tensor, index);
  if (value === undefined)
    throw new Error(`${output} has no element ${index}, which says where the row goes on`);
  return atLeast === undefined ? value < (below as number) : value >= atLeast;
}
