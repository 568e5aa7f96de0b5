import { basename } from 'node:path';
import {
  type Boundary,
  fault,
  InputError,
  option,
  readWhole,
  sha256Of,
  type TensorSpec,
} from '../artifacts/index.js';
import {
  ExecutionError,
  firstLine,
  MemoryGuard,
  OutOfMemoryError,
  startExecutor,
  type TensorInfo,
  type Tensors,
} from '../execution/index.js';
import { cutsOf, externalLocations, type OnnxModel, type TensorType, zeroDims } from '../onnx/index.js';
import { type BoundModel, bindModel } from './bind-model.js';
import { findTensors, type Trial } from './find-tensors.js';
import { layersOf } from './layers.js';
import { inferredBytes, memoryError, memoryShortage } from './memory-need.js';
import { inputBatching, requestFor, stackRequests } from './requests.js';
import { dataFilesOf, gathered, lightened, type Source, withScratch, writeData } from './source.js';
import type { PreparedModel, PrepareOptions, TensorFinding } from './types.js';

/**
 * prepareModel reads a model and finds out all that profiling needs to know of it. It names nodes, binds dimensions
 * and makes a fixed batch symbolic where the graph allows it and two requests at once give each its own result. It
 * finds the type, shape and batch axis of every tensor that could cross a cut, and which cuts are valid. Where the
 * model cannot batch, `fixedBatch` says at which size it runs and `fixedBatchReason` says why.
 *
 * It runs the model on `options.device`; `findTensors` says what that costs. Temporary files are removed also on
 * failure.
 * @throws InputError for a file that is not a model ONNX Runtime runs, for one that does not fit in memory at one
 *   request, or for dimensions without a size (naming `dim`); MissingError for a missing file or device; the signal's
 *   reason on abort
 */
export async function prepareModel(path: string, options: PrepareOptions): Promise<PreparedModel> {
  const bytes = await readWhole(path);
  const name = basename(path).replace(/\.onnx$/i, '');
  const dims = options.dims ?? {};
  const read = {
    path,
    name,
    bytes,
    dims,
    fill: options.fill ?? {},
    boundary: options.boundary ?? 'exact',
  } as const;
  const found = await findAll(bytes, { name: path, dims }, options);
  return await assemble({ ...read, ...found });
}

/** findAll runs the model on a device of its own, with two requests at once where it batches. */
async function findAll(
  bytes: Uint8Array,
  file: { name: string; dims: Readonly<Record<string, number>> },
  options: PrepareOptions,
): Promise<Found & { reason: string | undefined }> {
  const path = file.name;
  const bound = bindModel(bytes, file);
  await options.onDataFiles?.(externalLocations(bound.model));
  const memory = new MemoryGuard({ limitBytes: options.memoryLimitBytes });
  const common = { path, options, memory };
  try {
    const batched = await tryBatching(bound, common);
    if (batched.kind === 'batches') return { ...batched, reason: undefined };
    if (bound.fileBatch === 0) throw new InputError(`run ${path}`, [fault(batched.why)], adviceOf(bound));
    const found = await find(unbatchedModel(bytes, file, bound), common, false);
    return { ...found, reason: batched.why };
  } catch (error) {
    throw notRunnable(path, error, adviceOf(bound));
  }
}

interface Common {
  readonly path: string;
  readonly options: PrepareOptions;
  readonly memory: MemoryGuard;
}

interface Found {
  readonly kind: 'batches';
  readonly model: OnnxModel;
  readonly source: Source;
  readonly request: Tensors;
  readonly tensors: ReadonlyMap<string, TensorFinding>;
  readonly fixedBatch: number | undefined;
}

/** tryBatching gives the tensors of a model that batches, or says why it does not. */
async function tryBatching(
  bound: BoundModel,
  common: Common,
): Promise<Found | { kind: 'fails'; why: string }> {
  if (bound.notSymbolic !== undefined) return { kind: 'fails', why: bound.notSymbolic };
  try {
    const found = await find(bound, common, true);
    const faults = bound.model.graph.outputs.flatMap(({ name }) => {
      const finding = found.tensors.get(name);
      return finding?.kind === 'tensor' && finding.batching.kind === 'mixed'
        ? [`output ${name}: ${finding.batching.why}`]
        : [];
    });
    return faults.length === 0 ? found : { kind: 'fails', why: faults.join('; ') };
  } catch (error) {
    if (!(error instanceof ExecutionError) || common.options.signal?.aborted) throw error;
    const said = error instanceof OutOfMemoryError ? error.why : error.message;
    return { kind: 'fails', why: `it does not run at batch 2: ${firstLine(said)}` };
  }
}

/** unbatchedModel gives the model as it is in the file, where batching it failed. */
function unbatchedModel(
  bytes: Uint8Array,
  names: { name: string; dims: Readonly<Record<string, number>> },
  bound: BoundModel,
): BoundModel {
  return bound.fileBatch === undefined ? bound : bindModel(bytes, { ...names, batching: false });
}

async function find(bound: BoundModel, common: Common, batching: boolean): Promise<Found> {
  const { model, source } = gathered(bound.model, common.path);
  const { signal, feeds: given = {}, fill = {}, device } = common.options;
  const first = requestFor(bound.shaped, bound.batch, { which: 0, given, fill });
  const second = requestFor(bound.shaped, bound.batch, { which: 1, given, fill });
  const both = batching ? stackRequests([first, second], inputBatching(bound.batch)) : undefined;
  const { slowdown: _heldBack, ...probed } = device;
  const start = common.options.startExecutor ?? startExecutor;
  const executor = await start(probed, { memory: common.memory });
  const tensors = await withScratch(async (folder) => {
    await writeData(folder, source);
    const trial: Trial = {
      ...{ executor, model: await lightened(model, folder), folder, first, second, both },
      ...(signal === undefined ? {} : { signal }),
      checkFits: (inferred) => checkFits(model, inferred, { requests: batching ? 2 : 1, ...common }),
    };
    return await findTensors(trial, liveTensors(model));
  }).finally(() => executor.close());
  const fixedBatch = batching ? undefined : bound.batch.kind === 'fixed' ? bound.batch.size : 1;
  return { kind: 'batches', model, source, request: first, tensors, fixedBatch };
}

/** checkFits throws before anything is run, where what ONNX Runtime infers shows that a run cannot fit in memory. */
function checkFits(
  model: OnnxModel,
  inferred: ReadonlyMap<string, TensorInfo>,
  { path, requests, memory }: Common & { readonly requests: number },
): void {
  const why = memoryShortage(model, inferredBytes(inferred, requests), { requests, memory });
  if (why !== undefined) throw new OutOfMemoryError(`Cannot run ${path}: ${why}`, why);
}

/** liveTensors lists inputs, outputs, and the tensors that cross some cut. */
function liveTensors(model: OnnxModel): string[] {
  const crossing = cutsOf(model).flatMap(({ tensors }) => tensors);
  const ends = [...model.graph.inputs, ...model.graph.outputs].map(({ name }) => name);
  return [...new Set([...ends, ...crossing])];
}

async function assemble(
  found: Omit<Found, 'kind'> & {
    path: string;
    name: string;
    bytes: Uint8Array;
    dims: Readonly<Record<string, number>>;
    fill: Readonly<Record<string, number>>;
    boundary: Boundary;
    reason: string | undefined;
  },
): Promise<PreparedModel> {
  const { model, tensors, fixedBatch, boundary } = found;
  const outputs = specsOf(model.graph.outputs, tensors);
  if (outputs.length === 0)
    throw new InputError(`profile ${found.path}`, [
      fault('none of its outputs is a tensor, so none could be sent'),
    ]);
  const types = typesOf(tensors);
  return {
    ...{ name: found.name, path: found.path, model, source: found.source },
    ...{ sha256: sha256Of(found.bytes), data: await dataFilesOf(found.source) },
    ...{ dims: found.dims, fixedBatch, boundary, tensors, types, request: found.request },
    fixedBatchReason: fixedBatch === undefined ? undefined : found.reason,
    inputs: specsOf(model.graph.inputs, tensors).map((spec) => withFill(spec, found.fill[spec.name])),
    outputs,
    layers: layersOf(model, { types, tensors, boundary, fixedBatch }),
  };
}

function specsOf(
  values: readonly { readonly name: string }[],
  tensors: ReadonlyMap<string, TensorFinding>,
): TensorSpec[] {
  return values.flatMap(({ name }) => {
    const finding = tensors.get(name);
    return finding?.kind === 'tensor' ? [finding.spec] : [];
  });
}

function withFill(spec: TensorSpec, fill: number | undefined): TensorSpec {
  return fill === undefined ? spec : { ...spec, fill };
}

/** typesOf gives types as a partition declares them at its ends: with the batch axis open. */
function typesOf(tensors: ReadonlyMap<string, TensorFinding>): Map<string, TensorType> {
  const types = new Map<string, TensorType>();
  for (const [name, finding] of tensors) {
    if (finding.kind !== 'tensor') continue;
    const { dtype, shape, batchAxis } = finding.spec;
    types.set(name, { dtype, dims: shape.map((dim, axis) => (axis === batchAxis ? undefined : dim)) });
  }
  return types;
}

/** notRunnable turns ONNX Runtime's refusal of the model into an error with advice; other errors pass through. */
function notRunnable(path: string, error: unknown, advice: string): unknown {
  if (!(error instanceof ExecutionError)) return error;
  if (error instanceof OutOfMemoryError) return memoryError(`run ${path}`, error);
  if (error.isLoading) {
    // ONNX Runtime names a temporary model that was made from the person's file: its path means nothing to them.
    const why = firstLine(error.why).replace(/^Load model from .*? failed:/, '');
    return new InputError(`load ${path}`, [fault(why)], 'ONNX Runtime does not accept this model.');
  }
  return new InputError(`run ${path}`, [fault(firstLine(error.message))], advice);
}

/** adviceOf says what may help a model that does not run on generated inputs. */
function adviceOf({ batch, fileBatch, shaped }: BoundModel): string {
  const emptyBatches = fileBatch === 0 && batch.kind !== 'none' ? batch.inputs : [];
  const batches = emptyBatches.flatMap(({ name, axis }) => (axis === undefined ? [] : [`${name}.${axis}`]));
  const zeros = [...new Set([...batches, ...zeroDims(shaped)])];
  if (zeros.length === 0)
    return `Where an input takes certain values only, give it one with ${option('fill')} <input>=<number>.`;
  const sizes = zeros.map((dim) => `${option('dim')} ${dim}=<size>`).join(' ');
  return `In the file the size of ${zeros.join(', ')} is 0; where that means any size, give ${sizes}.`;
}
