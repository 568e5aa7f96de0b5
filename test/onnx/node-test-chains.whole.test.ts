import type * as ort from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Cut,
  cutFault,
  cutsOf,
  liveTensors,
  type OnnxModel,
  randomNodes,
  readModel,
  type TensorType,
} from '../../src/onnx/index.js';
import { cases, LONG } from '../cases.js';
import { type NodeTests, nodeTestInputs, unpackNodeTests } from './node-tests.js';
import { noise } from './noise.js';
import { bytesOf, measuredTypes, run, runChain, spread, type Tensors } from './runtime.js';
import { hasShared } from './shared.js';

const CUTS = 20;
const EXACT = { level: 'disabled' } as const;

/** answerOf gives what a run gives, or nothing for operators and types that ONNX Runtime's CPU kernels lack. */
async function answerOf<T>(running: () => Promise<T>): Promise<T | undefined> {
  try {
    return await running();
  } catch {
    return undefined;
  }
}

/** typesIn measures inner tensors, together or else one by one; it leaves out those that are no tensors of numbers. */
async function typesIn(model: OnnxModel, feeds: Tensors): Promise<Map<string, TensorType>> {
  const names = [...new Set([...liveTensors(model), ...cutsOf(model).flatMap(({ tensors }) => tensors)])];
  const together = await answerOf(() => measuredTypes(model, names, feeds));
  if (together !== undefined) return together;
  const types = new Map<string, TensorType>();
  for (const name of names) {
    const one = await answerOf(() => measuredTypes(model, [name], feeds));
    for (const [found, type] of one ?? []) types.set(found, type);
  }
  return types;
}

/** Chained says at how many cuts a model was chained, or why it was not. */
type Chained = { readonly cuts: number } | 'one node' | 'no inputs' | 'not run' | 'random' | 'no cut';

/** chainsAsWhole expects a node test's answers from chains: one at up to 20 cuts, and one at each of some of them. */
async function chainsAsWhole(name: string, tests: NodeTests): Promise<Chained> {
  const model = readModel(tests.modelOf(name), { name });
  if (model.graph.nodes.length < 2) return 'one node';
  if (randomNodes(model).length > 0) return 'random';
  const feeds = nodeTestInputs(tests.folderOf(name), model);
  if (feeds === undefined) return 'no inputs';
  const whole = await answerOf(() => run(model.bytes, feeds, EXACT));
  if (whole === undefined) return 'not run';
  const types = await typesIn(model, feeds);
  const valid = cutsOf(model, bytesOf(types)).filter((cut) => cutFault(model, cut, { types }) === undefined);
  if (valid.length === 0) return 'no cut';
  const cuts = spread(valid, CUTS);
  const chain = (at: readonly Cut[]) =>
    runChain(model, at, feeds, { ...EXACT, types, outputs: Object.keys(whole) });
  expectSame(await chain(cuts), whole, name);
  for (const cut of spread(cuts, cases(2, CUTS)))
    expectSame(await chain([cut]), whole, `${name}, cut at ${cut.position}`);
  return { cuts: cuts.length };
}

/** expectSame expects the same tensors bit for bit: −0 is not 0, and a NaN is itself. */
function expectSame(actual: Tensors, expected: Tensors, name: string): void {
  const bits = ({ type, dims, data }: ort.Tensor) => {
    const { buffer, byteOffset, byteLength } = data as Float32Array;
    return { type, dims, hex: Buffer.from(buffer, byteOffset, byteLength).toString('hex') };
  };
  expect(Object.keys(actual), name).toEqual(Object.keys(expected));
  for (const [output, tensor] of Object.entries(expected))
    expect(bits(actual[output]!), `${name}: ${output}`).toEqual(bits(tensor));
}

describe.runIf(hasShared)('the ONNX project’s node tests, cut', publishedNodeTests);

function publishedNodeTests(): void {
  let tests: NodeTests;
  beforeAll(() => {
    tests = unpackNodeTests();
  });
  afterAll(() => tests.remove());

  it('partitions in a chain give the whole model’s answers bit for bit', async () => {
    const next = noise(86028121);
    // In the published archive, all models of several nodes are expanded function bodies.
    const tried = tests.names.filter((name) => LONG || (name.endsWith('_expanded') && next() < 0.1));
    const chained: Chained[] = [];
    for (const name of tried) chained.push(await chainsAsWhole(name, tests));
    const cuts = chained.flatMap((result) => (typeof result === 'string' ? [] : [result.cuts]));
    const left = (reason: Chained) => chained.filter((result) => result === reason).length;
    expect(cuts.length).toBeGreaterThan(cases(25, 330));
    expect(cuts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(cases(250, 3800));
    // Every model of several nodes that ONNX Runtime runs can be cut somewhere.
    expect(left('no cut')).toBe(0);
    if (LONG) expect(left('one node')).toBe(1403);
  });
}
