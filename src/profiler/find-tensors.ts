import type { TensorSpec } from '../artifacts/index.js';
import {
  type Described,
  dtypeInfo,
  type Executor,
  elementCount,
  STRING_DTYPE,
  type TensorData,
  type Tensors,
} from '../execution/index.js';
import { exposeTensors, type OnnxModel } from '../onnx/index.js';
import { batchingOf } from './agreement.js';
import { writeModel } from './source.js';
import type { Batching, TensorFinding } from './types.js';

/** A session holds every tensor that is exposed while it runs: so many, and no more bytes than this where there are several. */
const SESSION_TENSORS = 256;
const SESSION_BYTES = 512 * 1024 * 1024;
/** What is fetched from a run at once. */
const FETCH_BYTES = 128 * 1024 * 1024;

export interface Probe {
  readonly executor: Executor;
  readonly model: OnnxModel;
  /** Temporary folder for the exposed models. */
  readonly folder: string;
  /** Two different requests, and both at once; the last undefined where it does not batch. */
  readonly first: Tensors;
  readonly second: Tensors;
  readonly both: Tensors | undefined;
  readonly signal?: AbortSignal;
}

/**
 * Dtype, shape and batching of tensors of the graph, by running it with them exposed: once for their sizes, then for their
 * values, in pieces of bounded size. Two sessions for 256 tensors or 512 MiB, about four runs for 128 MiB.
 */
export async function findTensors(
  probe: Probe,
  names: readonly string[],
): Promise<Map<string, TensorFinding>> {
  const described = await describeAll(probe, names);
  const found = new Map<string, TensorFinding>();
  const comparable: string[] = [];
  for (const name of names) {
    const entry = described.get(name);
    if (entry === undefined || entry.notTensor) found.set(name, { kind: 'not-a-tensor' });
    else if (dtypeInfo(entry.dtype) === undefined && entry.dtype !== STRING_DTYPE)
      found.set(name, unsendable(entry));
    else comparable.push(name);
  }
  const size = (name: string) => sizeOf(described.get(name));
  for (const session of chunks(comparable, size, { bytes: SESSION_BYTES, count: SESSION_TENSORS })) {
    await exposed(probe, session, async (model) => {
      for (const fetches of chunks(session, size, { bytes: FETCH_BYTES, count: SESSION_TENSORS }))
        for (const entry of await compare(probe, model, fetches)) found.set(...entry);
    });
  }
  return found;
}

async function describeAll(probe: Probe, names: readonly string[]): Promise<Map<string, Described>> {
  const described = new Map<string, Described>();
  for (const session of chunks(names, () => 0, { bytes: SESSION_BYTES, count: SESSION_TENSORS })) {
    await exposed(probe, session, async (model) => {
      for (const entry of await probe.executor.describe(model, probe.first, session))
        described.set(entry.name, entry);
    });
  }
  return described;
}

function sizeOf(entry: Described | undefined): number {
  if (entry === undefined || entry.notTensor) return 0;
  return elementCount(entry.dims) * (dtypeInfo(entry.dtype)?.bytes ?? 1);
}

function unsendable(entry: { name: string; dtype: string; dims: number[] }): TensorFinding {
  const spec = { name: entry.name, dtype: entry.dtype, shape: entry.dims };
  return {
    kind: 'tensor',
    spec,
    batching: { kind: 'mixed', why: `tensors of ${entry.dtype} cannot be joined` },
  };
}

/** Names in pieces of at most so many bytes (but for a single one) and so many names. */
function* chunks(
  names: readonly string[],
  size: (name: string) => number,
  most: { readonly bytes: number; readonly count: number },
): Generator<string[]> {
  let chunk: string[] = [];
  let bytes = 0;
  for (const name of names) {
    if (chunk.length > 0 && (bytes + size(name) > most.bytes || chunk.length >= most.count)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(name);
    bytes += size(name);
  }
  if (chunk.length > 0) yield chunk;
}

async function compare(
  probe: Probe,
  model: number,
  names: readonly string[],
): Promise<[string, TensorFinding][]> {
  probe.signal?.throwIfAborted();
  const run = async (feeds: Tensors) => (await probe.executor.run(model, feeds, names)).outputs;
  const first = await run(probe.first);
  const second = await run(probe.second);
  const both = probe.both === undefined ? undefined : await run(probe.both);
  return names.map((name) => [name, finding(name, first[name]!, second[name]!, both?.[name])]);
}

function finding(
  name: string,
  first: TensorData,
  second: TensorData,
  both: TensorData | undefined,
): TensorFinding {
  const batching = both === undefined ? unbatched(first, second) : batchingOf(first, second, both);
  const axis = batching.kind === 'stacked' ? { batchAxis: batching.axis } : {};
  const spec: TensorSpec = { name, dtype: first.dtype, shape: [...first.dims], ...axis };
  return { kind: 'tensor', spec, batching };
}

/** Without batching every size must be the same for every request, and that is all. */
function unbatched(first: TensorData, second: TensorData): Batching {
  if (first.dims.join() === second.dims.join()) return { kind: 'common' };
  return {
    kind: 'mixed',
    why: `its size depends on the data ([${first.dims.join(', ')}] and [${second.dims.join(', ')}])`,
  };
}

/** Runs the model with tensors exposed, unoptimized: so that all of them are made as the graph says. */
async function exposed<T>(
  probe: Probe,
  names: readonly string[],
  use: (model: number) => Promise<T>,
): Promise<T> {
  probe.signal?.throwIfAborted();
  const path = await writeModel(probe.folder, 'exposed', exposeTensors(probe.model, names));
  const { model } = await probe.executor.load(path, { optimization: 'disabled' });
  try {
    return await use(model);
  } finally {
    await probe.executor.release(model);
  }
}
