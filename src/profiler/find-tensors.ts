import { itemAt, lastOf } from '../collections/index.js';
import {
  dtypeInfo,
  ExecutionError,
  type Executor,
  elementCount,
  freeMemory,
  isStrings,
  STRING_DTYPE,
  type TensorData,
  type TensorInfo,
  type Tensors,
} from '../execution/index.js';
import type { TensorSpec } from '../formats/index.js';
import {
  dataSizedTensors,
  dtypeOf,
  exposeTensors,
  type MeasuredShapes,
  type OnnxModel,
  type Probe,
  probeTensors,
  type SeenTensor,
  unsentTypes,
} from '../onnx/index.js';
import { agree, batchingOfShapes, confirmedBatching, type Seen, type Shaped } from './agreement.js';
import { randomBatching } from './random-values.js';
import { samplePicks } from './sampling.js';
import { writeModel } from './source.js';
import type { Batching, TensorFinding } from './types.js';

/**
 * A single run fetches values of at most this size for a request, because a fetched tensor lives several
 * times over.
 */
const FETCH_BYTES = 16 * 2 ** 20;
/** Up to this size in all, a model's tensors are compared in all elements; of a larger model, about half as much is. */
const WHOLE_BYTES = 64 * 2 ** 20;
const SAMPLED_BYTES = 32 * 2 ** 20;
/** At least this much of a large tensor is compared, whatever the number of tensors. */
const LEAST_SAMPLE_BYTES = 16 * 2 ** 10;
const MOST_SAMPLE_BYTES = 2 ** 20;

/** Trial holds what is needed to run a model and learn about its tensors. */
export interface Trial {
  readonly executor: Executor;
  readonly model: OnnxModel;
  /** A temporary folder for the models with probes. */
  readonly folder: string;
  /** Two different requests, and both at once; `both` is undefined where the model does not batch. */
  readonly first: Tensors;
  readonly second: Tensors;
  readonly both: Tensors | undefined;
  /** How far rows of a batch may be from those of a request alone, beyond rounding. */
  readonly tolerance?: number;
  /** Inputs that always hold the same elements, so that no size varies with them. */
  readonly settled?: ReadonlySet<string>;
  readonly signal?: AbortSignal;
  /** Receives what ONNX Runtime infers before the first run; throws where that cannot fit. */
  readonly checkFits?: (inferred: ReadonlyMap<string, TensorInfo>) => void;
}

/** Loading is what it takes to load a model and its probes. */
type Loading = Pick<Trial, 'executor' | 'model' | 'folder' | 'signal'>;

/** Shapes are a tensor's shapes for each request and for both at once. */
type Shapes = Omit<Seen<Shaped>, 'both'> & { readonly both: Shaped | undefined };

/** Candidate is a tensor whose values must confirm what its shapes say. */
interface Candidate {
  readonly name: string;
  readonly shapes: Seen<Shaped>;
  readonly asShaped: Exclude<Batching, { kind: 'mixed' }>;
}

/**
 * findTensors finds dtype, shape and batching of tensors of the graph, by loading and running it with probes. It asks
 * for the types that ONNX Runtime infers, then for the shapes of all tensors in one run per request, then for as many
 * values as the comparison takes. The model's tensors stay inner ones, which ONNX Runtime frees after their last use,
 * and what is fetched is bounded. All shapes cost three runs (four requests), and so do every 16 MiB of values. All
 * values are compared where they are 64 MiB or less; else a sample of every tensor is, of 32 MiB in all or 16 KiB each.
 */
export async function findTensors(
  trial: Trial,
  names: readonly string[],
  known?: KnownShapes,
): Promise<Map<string, TensorFinding>> {
  const { types, shapes } = known ?? (await knownShapes(trial, names));
  const sized = dataSizedTensors(trial.model, trial.settled);
  const variable = (name: string) => {
    const seen = shapes.get(name);
    return seen === undefined ? [] : variableAxes(seen, sized.has(name) ? types.get(name)?.shape : undefined);
  };
  const found = new Map<string, TensorFinding>();
  const candidates: Candidate[] = [];
  for (const name of names) {
    const seen = shapes.get(name);
    if (seen === undefined) found.set(name, { kind: 'not-a-tensor' });
    else {
      const batching = batchingAsShaped(seen);
      found.set(name, findingOf(name, seen.first, { batching, variable: variable(name) }));
      if (batching.kind !== 'mixed' && seen.both !== undefined)
        candidates.push({ name, shapes: { ...seen, both: seen.both }, asShaped: batching });
    }
  }
  for await (const { name, batching } of compared(trial, candidates))
    found.set(name, findingOf(name, shapes.get(name)!.first, { batching, variable: variable(name) }));
  return found;
}

function findingOf(
  name: string,
  { dtype, dims }: Shaped,
  { batching, variable }: { batching: Batching; variable: readonly number[] },
): TensorFinding {
  const axis = batching.kind === 'stacked' ? batching.axis : undefined;
  const variableAxes = variable.filter((at) => at !== axis);
  const spec: TensorSpec = {
    name,
    dtype,
    shape: [...dims],
    ...(axis === undefined ? {} : { batchAxis: axis }),
    ...(variableAxes.length === 0 ? {} : { variableAxes }),
  };
  return { kind: 'tensor', spec, batching };
}

/**
 * variableAxes lists the axes whose size depends on the data: those that differ between two requests.
 * @param inferred of a tensor whose size may depend on the data, what ONNX Runtime infers: axes without a number count
 */
function variableAxes(
  { first, second }: Shapes,
  inferred: readonly (number | string)[] | undefined,
): number[] {
  return [...first.dims.keys()].filter((axis) => {
    const differs = first.dims[axis] !== second.dims[axis];
    return differs || (inferred !== undefined && !isSize(inferred[axis]));
  });
}

function isSize(dim: number | string | undefined): boolean {
  return typeof dim === 'number' && dim >= 0;
}

/**
 * batchingAsShaped gives the batching that shapes alone allow. Without batching, every request must have the same
 * sizes.
 */
function batchingAsShaped({ first, second, both }: Shapes): Batching {
  if (dtypeInfo(first.dtype) === undefined && first.dtype !== STRING_DTYPE)
    return { kind: 'mixed', why: `tensors of ${first.dtype} cannot be joined` };
  if (both !== undefined) return batchingOfShapes({ first, second, both });
  if (first.dims.join() === second.dims.join()) return { kind: 'common' };
  return {
    kind: 'mixed',
    why: `its size depends on the data ([${first.dims.join(', ')}] and [${second.dims.join(', ')}])`,
    dataSized: true,
  };
}

/** typesOf gives the types that ONNX Runtime infers for tensors when it loads the model; it runs nothing. */
async function typesOf(trial: Loading, names: readonly string[]): Promise<Map<string, TensorInfo>> {
  // ONNX Runtime hands over no tensor of these types, and a model that exposes one cannot be loaded.
  const unsent = unsentTypes(trial.model);
  const exposed = names.filter((name) => !unsent.has(name));
  return await inferred(trial, exposed);
}

/** inferred gives the types of tensors, without those that nobody is handed and of which no rule tells the type. */
async function inferred(trial: Loading, names: readonly string[]): Promise<Map<string, TensorInfo>> {
  try {
    return await loaded(trial, exposeTensors(trial.model, names), async ({ outputInfo }) => {
      return new Map(outputInfo.map((info) => [info.name, info]));
    });
  } catch (error) {
    if (names.length === 0 || !(error instanceof ExecutionError) || unsentType(error.why) === undefined)
      throw error;
    if (names.length === 1) return await inferred(trial, []);
    const half = Math.ceil(names.length / 2);
    const first = await inferred(trial, names.slice(0, half));
    return new Map([...first, ...(await inferred(trial, names.slice(half)))]);
  }
}

/** unsentType gives the type that ONNX Runtime for Node hands over to nobody, where it refuses a model for that. */
export function unsentType(said: string): string | undefined {
  const code = /Unsupported data type: (\d+)/.exec(said)?.[1];
  return code === undefined ? undefined : dtypeOf(Number(code));
}

async function shapesOf(
  trial: Trial,
  names: readonly string[],
  dtypeOf: (name: string) => string,
): Promise<Map<string, Shapes>> {
  if (names.length === 0) return new Map();
  const seen = await observed(trial, shapeProbes(names), (values): Shaped[] =>
    dimsOf(values).map((dims, i) => ({ dtype: dtypeOf(itemAt(names, i)), dims })),
  );
  const shapes = (i: number): Shapes => ({
    first: itemAt(seen.first, i),
    second: itemAt(seen.second, i),
    both: seen.both?.[i],
  });
  return new Map(names.map((name, i) => [name, shapes(i)]));
}

function shapeProbes(names: readonly string[]): Probe[] {
  return names.map((tensor) => ({ tensor, asks: 'shape' }));
}

/** dimsOf reads the answers of probes that asked for shapes. */
function dimsOf(values: readonly TensorData[]): number[][] {
  return values.map(({ data }) => Array.from(data, Number));
}

/** measureShapes gives the shapes of tensors for the first request, as far as they are tensors. */
export async function measureShapes(
  trial: Omit<Trial, 'second' | 'both'>,
  names: readonly string[],
): Promise<MeasuredShapes> {
  const types = await typesOf(trial, names);
  trial.checkFits?.(types);
  const tensors = names.filter((name) => types.get(name)?.dtype !== undefined);
  if (tensors.length === 0) return {};
  const [shapes] = await answers(trial, shapeProbes(tensors), { requests: [trial.first], read: dimsOf });
  return Object.fromEntries(tensors.map((name, i) => [name, itemAt(shapes!, i)]));
}

/** KnownShapes are what ONNX Runtime infers of tensors, and the shapes that were seen. */
export interface KnownShapes {
  readonly types: ReadonlyMap<string, TensorInfo>;
  readonly shapes: ReadonlyMap<string, Shapes>;
}

/** knownShapes finds types and shapes of tensors, which is the first that `findTensors` does. */
export async function knownShapes(trial: Trial, names: readonly string[]): Promise<KnownShapes> {
  const types = await typesOf(trial, names);
  trial.checkFits?.(types);
  const tensors = names.filter((name) => types.get(name)?.dtype !== undefined);
  return { types, shapes: await shapesOf(trial, tensors, (name) => types.get(name)!.dtype!) };
}

/** seenShapes gives the shapes of tensors for one request and for two, where they are the same for any request. */
export function seenShapes({ shapes }: KnownShapes): Map<string, SeenTensor> {
  return new Map(
    [...shapes].flatMap(([name, { first, second, both }]): [string, SeenTensor][] =>
      both === undefined || first.dims.join() !== second.dims.join()
        ? []
        : [[name, { one: first.dims, two: both.dims }]],
    ),
  );
}

/** compared gives the batching of tensors by their values. */
async function* compared(
  trial: Trial,
  candidates: readonly Candidate[],
): AsyncGenerator<{ name: string; batching: Batching }> {
  const { tolerance = 0 } = trial;
  const most = mostBytesOfEach(candidates);
  const sampled = candidates.map((candidate) => ({ ...candidate, probe: probeOf(candidate, most) }));
  for (const chunk of chunks(sampled, ({ shapes, probe }) => probedBytes(shapes.first, probe))) {
    const seen = await observed(
      trial,
      chunk.map(({ probe }) => probe),
      (values) => values,
    );
    const { first, second, both = [] } = seen;
    const findings = chunk.map(({ name, shapes, asShaped }, i) => {
      const values = { first: itemAt(first, i), second: itemAt(second, i), both: itemAt(both, i) };
      return { name, batching: confirmedBatching(asShaped, values, { whole: shapes.both, tolerance }) };
    });
    const mixed = findings.flatMap(({ batching }, i) => (batching.kind === 'mixed' ? [i] : []));
    const random = await randomAmong(trial, chunk, { indices: mixed, values: first });
    freeAll([...first, ...second, ...both]);
    yield* findings.map((found, i) =>
      random.has(i) ? { ...found, batching: randomBatching(trial.model) } : found,
    );
  }
}

/** freeAll frees the memory of tensors that came in few messages, and so share it. */
function freeAll(tensors: readonly TensorData[]): void {
  const memories = new Set(tensors.flatMap(({ data }) => (isStrings(data) ? [] : [data.buffer])));
  for (const memory of memories) freeMemory(new Uint8Array(memory));
}

/** randomAmong finds the tensors whose values differ when the same request is run again. */
async function randomAmong(
  trial: Trial,
  chunk: readonly { readonly probe: Probe }[],
  { indices, values }: { readonly indices: readonly number[]; readonly values: readonly TensorData[] },
): Promise<Set<number>> {
  if (indices.length === 0) return new Set();
  const probes = indices.map((i) => itemAt(chunk, i).probe);
  const { first } = await observed({ ...trial, both: undefined }, probes, (again) => again);
  return new Set(indices.filter((i, k) => !agree(itemAt(values, i), itemAt(first, k))));
}

/** mostBytesOfEach gives the bytes of each tensor to compare: all of them where there are few in all. */
function mostBytesOfEach(candidates: readonly Candidate[]): number {
  const total = candidates.reduce((sum, { shapes }) => sum + bytesOf(shapes.first), 0);
  if (total <= WHOLE_BYTES) return FETCH_BYTES;
  const share = SAMPLED_BYTES / candidates.length;
  return Math.min(MOST_SAMPLE_BYTES, Math.max(LEAST_SAMPLE_BYTES, share));
}

function probeOf({ name, shapes, asShaped }: Candidate, mostBytes: number): Probe {
  const mostElements = Math.floor(mostBytes / elementBytes(shapes.first.dtype));
  const whole = asShaped.kind === 'stacked' ? asShaped.axis : undefined;
  return {
    tensor: name,
    asks: 'elements',
    picks: samplePicks(shapes.first.dims, { mostElements, whole }),
  };
}

function probedBytes({ dtype, dims }: Shaped, probe: Probe): number {
  const picks = new Map(
    probe.asks === 'shape' ? [] : probe.picks.map(({ axis, indices }) => [axis, indices.length]),
  );
  return bytesOf({ dtype, dims: dims.map((dim, axis) => picks.get(axis) ?? dim) });
}

function bytesOf({ dtype, dims }: Shaped): number {
  return elementCount(dims) * elementBytes(dtype);
}

/** elementBytes gives an element's size, and a guess for texts. */
function elementBytes(dtype: string): number {
  return dtypeInfo(dtype)?.bytes ?? 16;
}

/** chunks gives pieces of at most FETCH_BYTES; a larger item is a piece by itself. */
function* chunks<T>(items: readonly T[], sizeOf: (item: T) => number): Generator<T[]> {
  let chunk: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (chunk.length > 0 && bytes + size > FETCH_BYTES) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(item);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

/** observed gives the answers of probes for each request and for both at once. */
async function observed<T>(
  trial: Trial,
  probes: readonly Probe[],
  read: (values: TensorData[]) => T,
): Promise<{ first: T; second: T; both: T | undefined }> {
  const { first, second, both } = trial;
  // The largest run comes first, so that the memory that ONNX Runtime's arena takes for it has room for the others.
  const requests = [...(both === undefined ? [] : [both]), first, second];
  const seen = await answers(trial, probes, { requests, read });
  return { first: seen.at(-2)!, second: lastOf(seen), both: both && seen[0] };
}

/** answers gives the answers of probes for each request. */
async function answers<T>(
  trial: Loading,
  probes: readonly Probe[],
  { requests, read }: { readonly requests: readonly Tensors[]; readonly read: (values: TensorData[]) => T },
): Promise<T[]> {
  return await withProbes(trial, probes, async (run) => {
    const seen: T[] = [];
    for (const feeds of requests) seen.push(read(await run(feeds)));
    return seen;
  });
}

/** withProbes loads the model with probes, and hands over what runs it and gives their answers. */
export async function withProbes<T>(
  trial: Loading,
  probes: readonly Probe[],
  use: (run: (feeds: Tensors) => Promise<TensorData[]>) => Promise<T>,
): Promise<T> {
  const { bytes, outputs } = probeTensors(trial.model, probes);
  return await loaded(trial, bytes, async ({ model }) => {
    return await use(async (feeds) => {
      trial.signal?.throwIfAborted();
      const { outputs: values } = await trial.executor.run(model, feeds, [...new Set(outputs)]);
      return outputs.map((name) => values[name]!);
    });
  });
}

/** loaded loads a model without optimization, so that it makes all tensors of the graph, and with the least memory. */
async function loaded<T>(
  { executor, folder, signal }: Loading,
  bytes: Uint8Array,
  use: (model: Awaited<ReturnType<Executor['load']>>) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const path = await writeModel(folder, 'probed', bytes);
  const model = await executor.load(path, {
    optimization: 'disabled',
    memoryPattern: false,
    prepacking: false,
  });
  try {
    return await use(model);
  } finally {
    // If the executor is gone, an earlier error has said why.
    await executor.release(model.model).catch(() => {});
  }
}
