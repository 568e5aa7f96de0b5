import { type Fault, fault, InputError, type Profile, type ProfiledBlock } from '../formats/index.js';
import { crossingSpecs } from './layers.js';
import type { PreparedModel } from './types.js';

/**
 * blocksAt lists the blocks that end before these layers, as a profile holds them: block k is layers `ends[k − 1]` (0
 * for the first) up to, but not including, `ends[k]`.
 */
export function blocksAt(prepared: PreparedModel, ends: readonly number[]): ProfiledBlock[] {
  return ends.map((end, k) => {
    const layers = prepared.layers.slice(ends[k - 1] ?? 0, end);
    return {
      nodes: layers.map(({ name }) => name),
      cutBytes: layers.at(-1)?.cutBytes ?? 0,
      weightBytes: layers.reduce((sum, { weightBytes = 0 }) => sum + weightBytes, 0),
      tensors: crossingSpecs(prepared, end),
    };
  });
}

/**
 * endsOfProfile finds where another profile's blocks end in this model, by the nodes that they hold. Ends are as in
 * `blocksAt`.
 * @throws InputError with the first 20 faults: blocks without nodes, nodes that are missing or elsewhere, ends at which
 *   the model cannot be cut
 */
export function endsOfProfile(prepared: PreparedModel, { blocks }: Profile): number[] {
  const faults: Fault[] = [];
  const ends: number[] = [];
  let at = 0;
  blocks.forEach(({ nodes }, k) => {
    if (nodes === undefined) {
      faults.push(fault('it does not say which nodes it holds', `block ${k}`));
      return;
    }
    const here = prepared.layers.slice(at, at + nodes.length).map(({ name }) => name);
    const wrong = nodes.findIndex((name, i) => name !== here[i]);
    if (wrong >= 0)
      faults.push(fault(`node ${nodes[wrong]} is ${here[wrong] ?? 'past the end'} here`, `block ${k}`));
    at += nodes.length;
    ends.push(at);
    const noCut = prepared.layers[at - 1]?.noCut;
    if (wrong < 0 && noCut !== undefined)
      faults.push(fault(`it ends where this model cannot be cut: ${noCut}`, `block ${k}`));
  });
  if (faults.length === 0 && at !== prepared.layers.length)
    faults.push(fault(`the blocks hold ${at} nodes, the model has ${prepared.layers.length}`));
  if (faults.length > 0)
    throw new InputError(`measure the blocks of that profile in ${prepared.name}`, faults.slice(0, 20));
  return ends;
}
