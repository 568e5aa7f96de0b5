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

/** A run holds every tensor it was asked for; so many at once, and no more bytes than this where there are several. */
const CHUNK_TENSORS = 64;
const CHUNK_BYTES = 128 * 1024 * 1024;

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
 * Dtype, shape and batching of tensors of the graph, by running it with them exposed: once for their sizes, then in
 * chunks of bounded size for their values. Costs about five runs of the model and two sessions per 64 tensors.
 */
export async function findTensors(
  probe: Probe,
  names: readonly string[],
): Promise<Map<string, TensorFinding>> {
  const described = new Map<string, Described>();
  for (let at = 0; at < names.length; at += CHUNK_TENSORS) {
    const chunk = names.slice(at, at + CHUNK_TENSORS);
    await exposed(probe, chunk, async (model) => {
      for (const entry of await probe.executor.describe(model, probe.first, chunk))
        described.set(entry.name, entry);
    });
  }
  const found = new Map<string, TensorFinding>();
  const comparable: string[] = [];
  for (const name of names) {
    const entry = described.get(name);
    if (entry === undefined || entry.notTensor) found.set(name, { kind: 'not-a-tensor' });
    else if (dtypeInfo(entry.dtype) === undefined && entry.dtype !== STRING_DTYPE)
      found.set(name, unsendable(entry));
    else comparable.push(name);
  }
  for (const chunk of chunksBySize(comparable, described)) {
    for (const entry of await compare(probe, chunk)) found.set(...entry);
  }
  return found;
}

function unsendable(entry: { name: string; dtype: string; dims: number[] }): TensorFinding {
  const spec = { name: entry.name, dtype: entry.dtype, shape: entry.dims };
  return {
    kind: 'tensor',
    spec,
    batching: { kind: 'mixed', why: `tensors of ${entry.dtype} cannot be joined` },
  };
}

function* chunksBySize(
  names: readonly string[],
  described: ReadonlyMap<string, Described>,
): Generator<string[]> {
  let chunk: string[] = [];
  let bytes = 0;
  for (const name of names) {
    const entry = described.get(name) as { dtype: string; dims: number[] };
    const size = elementCount(entry.dims) * (dtypeInfo(entry.dtype)?.bytes ?? 1);
    if (chunk.length > 0 && (bytes + size > CHUNK_BYTES || chunk.length >= CHUNK_TENSORS)) {
      yield chunk;
      chunk = [];
      bytes = 0;
    }
    chunk.push(name);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}

async function compare(probe: Probe, names: readonly string[]): Promise<[string, TensorFinding][]> {
  return await exposed(probe, names, async (model) => {
    const run = async (feeds: Tensors) => (await probe.executor.run(model, feeds, names)).outputs;
    const first = await run(probe.first);
    const second = await run(probe.second);
    const both = probe.both === undefined ? undefined : await run(probe.both);
    return names.map((name) => [name, finding(name, first[name]!, second[name]!, both?.[name])]);
  });
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
