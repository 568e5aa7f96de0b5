import * as ort from 'onnxruntime-node';
import {
  type Cut,
  cutFault,
  cutsOf,
  exposeTensors,
  extractPartition,
  liveTensors,
  type OnnxModel,
  type TensorType,
} from '../../src/onnx/index.js';

export type Tensors = Record<string, ort.Tensor>;
export type Level = 'disabled' | 'all';

interface RunOptions {
  readonly level: Level;
  readonly outputs?: readonly string[];
}

/** run executes a model on one CPU thread and gives the outputs that are asked for, or all. */
export async function run(bytes: Uint8Array, feeds: Tensors, options: RunOptions): Promise<Tensors> {
  const [answer] = await runEach(bytes, [feeds], options);
  return answer!;
}

/** runEach runs a model once for each of several feeds, in one session. */
export async function runEach(
  bytes: Uint8Array,
  feeds: readonly Tensors[],
  options: RunOptions,
): Promise<Tensors[]> {
  const session = await ort.InferenceSession.create(bytes, {
    graphOptimizationLevel: options.level,
    interOpNumThreads: 1,
    intraOpNumThreads: 1,
    logSeverityLevel: 3,
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  });
  try {
    const answers: Tensors[] = [];
    for (const one of feeds) {
      const given = Object.fromEntries(session.inputNames.map((name) => [name, one[name]!]));
      answers.push({ ...(await session.run(given, options.outputs ?? session.outputNames)) });
    }
    return answers;
  } finally {
    await session.release();
  }
}

/** measuredTypes gives the types of tensors as a run of the model has them when they are exposed. */
export async function measuredTypes(
  model: OnnxModel,
  names: readonly string[],
  feeds: Tensors,
): Promise<Map<string, TensorType>> {
  const inner = names.filter((name) => !(name in feeds));
  const outputs = await run(exposeTensors(model, inner), feeds, { level: 'disabled', outputs: inner });
  return new Map(
    Object.entries({ ...feeds, ...outputs }).map(([name, { type, dims }]) => [name, { dtype: type, dims }]),
  );
}

/** validCuts gives the model's valid cuts by the bytes of all tensors that could cross one, and their types. */
export async function validCuts(model: OnnxModel, feeds: Tensors) {
  const ends = new Set([...model.graph.inputs, ...model.graph.outputs].map(({ name }) => name));
  const inner = liveTensors(model).filter((name) => !ends.has(name));
  const outputs = cutsOf(model).flatMap(({ tensors }) => tensors);
  const types = await measuredTypes(model, [...new Set([...inner, ...outputs])], feeds);
  const cuts = cutsOf(model, bytesOf(types));
  return { types, cuts: cuts.filter((cut) => cutFault(model, cut, { types }) === undefined) };
}

/** bytesOf gives the bytes of tensors by their types; it does not know those of other types than numbers. */
export function bytesOf(types: ReadonlyMap<string, TensorType>): (name: string) => number | undefined {
  return (name) => {
    const { dtype = '', dims = [] } = types.get(name) ?? {};
    const bits = dtype === 'bool' ? 8 : Number(/^(?:float|u?int)(\d+)$/.exec(dtype)?.[1] ?? Number.NaN);
    const bytes = dims.reduce<number>((product, dim) => product * Number(dim), bits / 8);
    return Number.isNaN(bytes) ? undefined : bytes;
  };
}

/** spread picks at most `count` items evenly from a list, first and last included. */
export function spread<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items];
  return Array.from({ length: count }, (_, i) => items[Math.round((i * (items.length - 1)) / (count - 1))]!);
}

/** runChain runs the partitions between some cuts in turn, and hands on what each gives by graph-level name. */
export async function runChain(
  model: OnnxModel,
  cuts: readonly Cut[],
  feeds: Tensors,
  options: {
    level: Level;
    types: ReadonlyMap<string, TensorType>;
    outputs: readonly string[];
    boundary?: 'exact' | 'float16';
  },
): Promise<Tensors> {
  const tensors: Tensors = { ...feeds };
  const ends = [0, ...cuts.map(({ position }) => position), model.graph.nodes.length];
  for (const [index, to] of ends.slice(1).entries()) {
    const { boundary = 'exact', types } = options;
    const part = extractPartition(model, { from: ends[index]!, to, types, boundary, cuts });
    const wanted = part.outputs.filter((name) => to < ends.at(-1)! || options.outputs.includes(name));
    Object.assign(tensors, await run(part.bytes, tensors, { level: options.level, outputs: wanted }));
  }
  return Object.fromEntries(options.outputs.map((name) => [name, tensors[name]!]));
}

/** relativeError is the largest |a − b| over the largest |b|; it is 0 only where all numbers are the same. */
export function relativeError(actual: ort.Tensor, expected: ort.Tensor): number {
  const a = actual.data as Float32Array;
  const b = expected.data as Float32Array;
  let error = 0;
  let largest = 0;
  for (let i = 0; i < b.length; i++) {
    error = Math.max(error, Math.abs(Number(a[i]) - Number(b[i])));
    largest = Math.max(largest, Math.abs(Number(b[i])));
  }
  return error === 0 ? 0 : error / largest;
}
