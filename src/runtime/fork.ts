import { Float16Array } from '@petamoriken/float16';
import type { PlannedEdge, PlannedStage, WhenOutput } from '../artifacts/index.js';
import { isStrings, type TensorData, type Tensors } from '../execution/index.js';
import type { Fork } from './pool-work.js';

/** Choice is a set of exclusive edges, or an edge by itself. */
interface Choice {
  readonly edges: readonly { readonly bit: number; readonly when?: WhenOutput }[];
  /** Whether exactly one of them is taken. */
  readonly isExclusive: boolean;
}

/**
 * forkOf makes the reader of a stage's verdicts. Edges by themselves are taken where their condition holds; of exclusive
 * ones, the first whose condition holds is taken, or else the last. A condition does not hold of a value that is no
 * number.
 * @returns undefined where all edges of the stage are always taken
 */
export function forkOf({ next }: PlannedStage, exclusive: readonly (readonly string[])[]): Fork | undefined {
  const conditional = next
    .filter(({ probability, when }) => probability !== undefined || when !== undefined)
    .map((edge, bit) => ({ ...edge, bit }));
  if (conditional.length === 0) return undefined;
  const choices = choicesOf(conditional, exclusive);
  return {
    verdictOn: (outputs) => choices.reduce((bits, choice) => bits | bitsOf(choice, outputs), 0),
  };
}

function choicesOf(
  edges: readonly (PlannedEdge & { readonly bit: number })[],
  exclusive: readonly (readonly string[])[],
): Choice[] {
  const lists = exclusive.filter((list) => list.every((name) => edges.some(({ to }) => to === name)));
  const listed = new Set(lists.flat());
  return [
    ...lists.map((list) => ({ edges: edges.filter(({ to }) => list.includes(to)), isExclusive: true })),
    ...edges.filter(({ to }) => !listed.has(to)).map((edge) => ({ edges: [edge], isExclusive: false })),
  ];
}

function bitsOf({ edges, isExclusive }: Choice, outputs: Tensors): number {
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

/** elementAt gives an element of a row's tensor as a number; undefined where there is none. */
function elementAt({ dtype, data }: TensorData, index: number): number | undefined {
  if (isStrings(data)) return undefined;
  if (dtype !== 'float16') return data[index] === undefined ? undefined : Number(data[index]);
  return new Float16Array(data.buffer as ArrayBuffer, data.byteOffset, data.length)[index];
}
