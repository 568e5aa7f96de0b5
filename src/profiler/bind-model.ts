import { fault, InputError, option } from '../artifacts/index.js';
import {
  type BatchDim,
  batchDim,
  bindDims,
  freeDims,
  makeBatchSymbolic,
  mayBranch,
  nameNodes,
  type OnnxModel,
  readModel,
} from '../onnx/index.js';

/** BoundModel is a model with named nodes and every dimension but the batch bound. */
export interface BoundModel {
  /**
   * The model that is run and cut. Where it has branches, it keeps the file's open dimensions: `openWhereBranching`.
   */
  readonly model: OnnxModel;
  /** The same model with every dimension but the batch bound. It gives the shapes of the inputs. */
  readonly shaped: OnnxModel;
  /** The batch as the graph has it now. */
  readonly batch: BatchDim;
  /** The size that the batch had in the file, where it was fixed. */
  readonly fileBatch: number | undefined;
  /** Why the batch could not be made symbolic; undefined where it is symbolic. */
  readonly notSymbolic: string | undefined;
}

/**
 * bindModel names the nodes, binds the free dimensions and makes a fixed batch symbolic where the graph allows it. It
 * is pure: the same bytes and dimensions give the same model, so that what is deployed is what was profiled.
 * @param options.batching false leaves a fixed batch as it is; so does a size for the batch's own dimension
 * @throws InputError with the faults of bytes that are no valid model, naming inputs that are no tensors or declare no
 *   shape, dimensions that lack a size, or given ones that the model does not have
 */
export function bindModel(
  bytes: Uint8Array,
  options: { name: string; dims?: Readonly<Record<string, number>>; batching?: boolean },
): BoundModel {
  const { name, dims = {}, batching = true } = options;
  const read = readModel(bytes, { name });
  const bound = Object.keys(dims).length === 0 ? read : readModel(bindDims(read, dims), { name });
  checkNothingOpen(bound);
  const shaped = readModel(nameNodes(bound), { name });
  const model = openWhereBranching(read, shaped);
  const batch = batchDim(shaped);
  const as = { model, shaped, batch };
  if (batch.kind === 'none')
    return { ...as, fileBatch: undefined, notSymbolic: `it has no batch axis: ${batch.why}` };
  if (batch.kind === 'symbolic') return { ...as, fileBatch: undefined, notSymbolic: undefined };
  const left = leftFixed(read, dims, batching);
  if (left !== undefined) return { ...as, fileBatch: batch.size, notSymbolic: left };
  const made = makeBatchSymbolic(shaped);
  if (!made.ok) return { ...as, fileBatch: batch.size, notSymbolic: made.missing };
  const symbolic = readModel(made.bytes, { name });
  const batched = { model: symbolic, shaped: symbolic, batch: batchDim(symbolic) };
  return { ...batched, fileBatch: batch.size, notSymbolic: undefined };
}

/**
 * openWhereBranching picks the model that is run. ONNX Runtime infers shapes also in branches that are not taken, and
 * refuses a model in which a given size contradicts one of them; with the dimension open, the model runs. So sizes are
 * not written into a model with branches.
 */
function openWhereBranching(read: OnnxModel, shaped: OnnxModel): OnnxModel {
  return mayBranch(read) ? readModel(nameNodes(read), { name: read.name }) : shaped;
}

/** leftFixed says why a fixed batch stays: nobody asked for another, or its size is the one that was asked for. */
function leftFixed(
  read: OnnxModel,
  dims: Readonly<Record<string, number>>,
  batching: boolean,
): string | undefined {
  if (!batching) return 'not tried';
  const before = batchDim(read);
  if (before.kind !== 'symbolic' || !Object.hasOwn(dims, before.name)) return undefined;
  return `its dimension ${before.name} was given the size ${dims[before.name]}`;
}

function checkNothingOpen(model: OnnxModel): void {
  const batch = batchDim(model);
  const open = freeDims(model).filter((dim) => batch.kind !== 'symbolic' || dim !== batch.name);
  const shapeless = model.graph.inputs.flatMap(({ name, type }) => {
    if (type?.kind !== 'tensor') return [fault(`input ${name} is not a tensor`)];
    return type.dims === undefined ? [fault(`input ${name} declares no shape`)] : [];
  });
  const faults = [...shapeless, ...open.map((dim) => fault(`the size of dimension ${dim} is not given`))];
  if (faults.length === 0) return;
  const why = batch.kind === 'none' ? ` No batch axis is known: ${batch.why}.` : '';
  const advice =
    open.length === 0
      ? undefined
      : `Give ${open.map((dim) => `${option('dim')} ${dim}=<size>`).join(' ')}.${why}`;
  throw new InputError(`run ${model.name}`, faults, advice);
}
