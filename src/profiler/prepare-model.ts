import { basename } from 'node:path';
import { readWhole } from '../artifacts/index.js';
import {
  dtypeInfo,
  ExecutionError,
  firstLine,
  freeMemory,
  MemoryGuard,
  OutOfMemoryError,
  STRING_DTYPE,
} from '../execution/index.js';
import {
  type Boundary,
  type DimValues,
  fault,
  InputError,
  option,
  sha256Of,
  type TensorSpec,
} from '../formats/index.js';
import {
  externalLocations,
  type OnnxModel,
  type TensorType,
  textsNotUtf8,
  unsentTypes,
  zeroDims,
} from '../onnx/index.js';
import { type BoundModel, bindModel } from './bind-model.js';
import { bindForBatches, type Found, findUnbatched, tryBatching } from './find-batch.js';
import { unsentType } from './find-tensors.js';
import { layersOf, measuredCuts } from './layers.js';
import { memoryError } from './memory-need.js';
import { dataFilesOf } from './source.js';
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
  checkTolerance(options.batchTolerance);
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
  const prepared = await assemble({ ...read, ...found });
  // Where the model was changed, nothing shows the file's bytes any more.
  if (prepared.model.bytes.buffer !== bytes.buffer) freeMemory(bytes);
  return prepared;
}

function checkTolerance(tolerance: number | undefined): void {
  if (tolerance === undefined || (tolerance > 0 && tolerance < 1)) return;
  const said = `${option('batchTolerance')} is ${tolerance}; give a number between 0 and 1`;
  throw new InputError('let the rows of a batch differ', [fault(said)]);
}

/** This name of a tensor cannot be fetched: assigning to it sets the prototype of the runtime's object of tensors. */
const NOT_FETCHED = '__proto__';

/** ONNX Runtime's binding takes an output that is not fetched for fetched if every JavaScript object has its name. */
function checkNames(path: string, { graph: { inputs, outputs, nodes } }: OnnxModel): void {
  const names = [...inputs.map(({ name }) => name), ...nodes.flatMap(({ outputs: made }) => made)];
  const ends = outputs.map(({ name }) => name).filter((name) => name in {});
  const wrong = [...new Set([...names.filter((name) => name === NOT_FETCHED), ...ends])];
  if (wrong.length === 0) return;
  const faults = wrong.map((name) => fault(`ONNX Runtime cannot hand over a tensor called ${name}`));
  throw new InputError(`run ${path}`, faults, 'Give the tensor another name.');
}

/** checkTypes refuses inputs and outputs that ONNX Runtime for Node neither takes nor gives. */
function checkTypes(path: string, model: OnnxModel): void {
  const made = unsentTypes(model);
  const { inputs, outputs } = model.graph;
  const faultsOf = (kind: 'input' | 'output', values: typeof inputs) =>
    values.flatMap(({ name, type }) => {
      const dtype = type?.kind === 'tensor' ? type.dtype : made.get(name);
      const isSent = dtype === undefined || dtype === STRING_DTYPE || dtypeInfo(dtype) !== undefined;
      return isSent ? [] : [fault(`${kind} ${name} is ${dtype}, which ONNX Runtime hands over to nobody`)];
    });
  const faults = [...faultsOf('input', inputs), ...faultsOf('output', outputs)];
  if (faults.length > 0) throw new InputError(`profile ${path}`, faults, CAST);
}

const CAST = 'Cast it inside the model, so that it takes and gives another type, such as float32 or int8.';

/** findAll runs the model on a device of its own, with two requests at once where it batches. */
async function findAll(
  bytes: Uint8Array,
  file: { name: string; dims: Readonly<DimValues> },
  options: PrepareOptions,
): Promise<Found & { reason: string | undefined }> {
  const path = file.name;
  const bound = bindModel(bytes, file);
  checkNames(path, bound.model);
  checkTypes(path, bound.model);
  await options.onDataFiles?.(externalLocations(bound.model));
  const memory = new MemoryGuard({ limitBytes: options.memoryLimitBytes });
  const common = { path, options, memory };
  try {
    const batched = await tryBatching(await bindForBatches(bytes, { ...file, bound }, common), common);
    if (batched.kind === 'batches') return { ...batched, reason: undefined };
    if (bound.fileBatch === 0) throw new InputError(`run ${path}`, [fault(batched.why)], adviceOf(bound));
    const fixed = bound.fileBatch === undefined ? bound : bindModel(bytes, { ...file, batching: false });
    const found = await findUnbatched(fixed, common);
    return { ...found, reason: batched.why };
  } catch (error) {
    throw notRunnable(path, error, adviceOf(bound));
  }
}

async function assemble(
  found: Omit<Found, 'kind'> & {
    path: string;
    name: string;
    bytes: Uint8Array;
    dims: Readonly<DimValues>;
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
  checkTexts(found.path, model, outputs);
  const types = new Map([...unsent(model), ...typesOf(tensors)]);
  const cuts = measuredCuts(model, { tensors, boundary, fixedBatch });
  const fill = new Map(Object.entries(found.fill));
  return {
    name: found.name,
    path: found.path,
    model,
    source: found.source,
    sha256: sha256Of(found.bytes),
    data: await dataFilesOf(found.source),
    dims: found.dims,
    fixedBatch,
    boundary,
    tensors,
    types,
    request: found.request,
    fixedBatchReason: fixedBatch === undefined ? undefined : found.reason,
    measuredShapes: found.measuredShapes,
    batchTolerance: fixedBatch === undefined ? found.batchTolerance : undefined,
    trustBatch: fixedBatch === undefined ? found.trustBatch : undefined,
    inputs: specsOf(model.graph.inputs, tensors).map((spec) => withFill(spec, fill.get(spec.name))),
    outputs,
    cuts,
    layers: layersOf(model, cuts, { types, tensors, boundary, fixedBatch }),
  };
}

/** Of text that is not UTF-8, a client would get something else. */
function checkTexts(path: string, model: OnnxModel, outputs: readonly TensorSpec[]): void {
  const texts = outputs.filter(({ dtype }) => dtype === STRING_DTYPE).map(({ name }) => name);
  const holders = texts.length === 0 ? [] : textsNotUtf8(model);
  if (holders.length === 0) return;
  const said = `it may give text of ${holders.join(', ')} as ${texts.join(', ')}, and bytes of it are not UTF-8, which ONNX Runtime for Node replaces`;
  throw new InputError(`profile ${path}`, [fault(said)], 'Save the model with its text in UTF-8.');
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

/** unsent gives the types that cannot be sent, so that a cut that they stand in the way of says so. */
function unsent(model: OnnxModel): [string, TensorType][] {
  return [...unsentTypes(model)].map(([name, dtype]) => [name, { dtype }]);
}

/** typesOf gives types as a partition declares them at its ends: with the batch and data's sizes open. */
function typesOf(tensors: ReadonlyMap<string, TensorFinding>): Map<string, TensorType> {
  const types = new Map<string, TensorType>();
  for (const [name, finding] of tensors) {
    if (finding.kind !== 'tensor') continue;
    const { dtype, shape, batchAxis, variableAxes = [] } = finding.spec;
    const isOpen = (axis: number) => axis === batchAxis || variableAxes.includes(axis);
    types.set(name, { dtype, dims: shape.map((dim, axis) => (isOpen(axis) ? undefined : dim)) });
  }
  return types;
}

/** notRunnable turns ONNX Runtime's refusal of the model into an error with advice; other errors pass through. */
function notRunnable(path: string, error: unknown, advice: string): unknown {
  if (!(error instanceof ExecutionError)) return error;
  if (error instanceof OutOfMemoryError) return memoryError(`run ${path}`, error);
  if (error.isLoading) {
    // ONNX Runtime names a temporary model that was made from the person's file: its path means nothing to them.
    const dtype = unsentType(error.why);
    const said = `one of its outputs is ${dtype}, which ONNX Runtime hands over to nobody`;
    if (dtype !== undefined) return new InputError(`profile ${path}`, [fault(said)], CAST);
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
