import { freeMemory } from '../execution/index.js';
import { type DimValues, fault, InputError, option, type ProfiledModel } from '../formats/index.js';
import {
  BATCH,
  type BatchDim,
  batchDim,
  bindDims,
  freeDims,
  type MeasuredShapes,
  makeBatchSymbolic,
  mayBranch,
  nameNodes,
  type OnnxModel,
  readModel,
} from '../onnx/index.js';
import type { PreparedModel } from './types.js';

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
  /** lacksShapes says whether measured shapes of inner tensors might make it symbolic. */
  readonly lacksShapes: boolean;
  /** mixesSlightly says whether it might be symbolic if rows may influence one another slightly. */
  readonly mixesSlightly: boolean;
  /** The measured shapes that were needed to make it symbolic. */
  readonly shapes: MeasuredShapes;
}

export interface BindOptions {
  readonly name: string;
  readonly dims?: Readonly<DimValues>;
  /** False leaves a fixed batch as it is; so does a size for the batch's own dimension. */
  readonly batching?: boolean;
  /** Shapes of inner tensors, as measured at the fixed batch. */
  readonly shapes?: MeasuredShapes;
  /**
   * mixing says whether rows of a batch may influence one another slightly, through scales that are taken
   * from all of them.
   */
  readonly mixing?: boolean;
}

/**
 * bindModel names the nodes, binds the free dimensions and makes a fixed batch symbolic where the graph allows it. It
 * is pure: the same bytes and options give the same model, so that what is deployed is what was profiled.
 * @throws InputError with the faults of bytes that are no valid model, naming inputs that are no tensors or declare no
 *   shape, dimensions that lack a size, or given ones that the model does not have
 */
export function bindModel(bytes: Uint8Array, options: BindOptions): BoundModel {
  const { name, dims = {}, batching = true, shapes = {}, mixing = false } = options;
  const read = readModel(bytes, { name });
  const bound = Object.keys(dims).length === 0 ? read : readModel(bindDims(read, dims), { name });
  const declared = Object.values(dims).includes(BATCH) ? BATCH : undefined;
  checkNothingOpen(bound, declared);
  const shaped = named(bound);
  // A large model's copy on the way would else wait for the garbage collector.
  if (bound !== read && bound !== shaped) freeMemory(bound.bytes);
  const model = openWhereBranching(read, bound, shaped);
  const batch = batchDim(shaped, declared);
  const as = { model, shaped, batch, lacksShapes: false, mixesSlightly: false, shapes: {} };
  if (batch.kind === 'none')
    return { ...as, fileBatch: undefined, notSymbolic: `it has no batch axis: ${batch.why}` };
  if (batch.kind === 'symbolic') return { ...as, fileBatch: undefined, notSymbolic: undefined };
  const fixed = { ...as, fileBatch: batch.size };
  const left = leftFixed(read, { dims, size: batch.size, batching });
  if (left !== undefined) return { ...fixed, notSymbolic: left };
  const made = makeBatchSymbolic(shaped, { shapes, mixing });
  if (!made.ok) {
    const { missing, lacksShapes = false, mixesSlightly = false } = made;
    return { ...fixed, notSymbolic: missing, lacksShapes, mixesSlightly };
  }
  const symbolic = readModel(made.bytes, { name });
  const batched = { model: symbolic, shaped: symbolic, batch: batchDim(symbolic), shapes: made.shapes };
  return { ...fixed, ...batched, notSymbolic: undefined };
}

/**
 * openWhereBranching picks the model that is run. ONNX Runtime infers shapes also in branches that are not taken, and
 * refuses a model in which a given size contradicts one of them; with the dimension open, the model runs. So sizes are
 * not written into a model with branches.
 */
function openWhereBranching(read: OnnxModel, bound: OnnxModel, shaped: OnnxModel): OnnxModel {
  return read === bound || !mayBranch(read) ? shaped : named(read);
}

/** named gives the same model with named nodes; it is not read again where it has them already. */
function named(model: OnnxModel): OnnxModel {
  const bytes = nameNodes(model);
  return bytes === model.bytes ? model : readModel(bytes, { name: model.name });
}

/**
 * leftFixed says why a fixed batch stays: nobody asked for another, or its size is the one that was asked for. (A size
 * of 1 for several inputs without a common name may only say that they are to be bound.)
 */
function leftFixed(
  read: OnnxModel,
  { dims, size, batching }: { dims: Readonly<DimValues>; size: number; batching: boolean },
): string | undefined {
  if (!batching) return 'not tried';
  const given = read.graph.inputs.flatMap(({ name, type }) => {
    const lead = type?.kind === 'tensor' ? type.dims?.[0] : undefined;
    return [`${name}.0`, ...(typeof lead === 'string' ? [lead] : [])].filter((dim) =>
      Object.hasOwn(dims, dim),
    );
  });
  const [first] = given;
  if (first === undefined || (size === 1 && batchDim(read).kind === 'none')) return undefined;
  return `its dimension ${first} was given the size ${dims[first]}`;
}

function checkNothingOpen(model: OnnxModel, declared: string | undefined): void {
  const batch = batchDim(model, declared);
  const named = batch.kind === 'symbolic' ? batch.name : declared;
  const open = freeDims(model).filter((dim) => dim !== named);
  const shapeless = model.graph.inputs.flatMap(({ name, type }) => {
    if (type?.kind !== 'tensor') return [fault(`input ${name} is not a tensor`)];
    return type.dims === undefined ? [fault(`input ${name} declares no shape`)] : [];
  });
  const faults = [...shapeless, ...open.map((dim) => fault(`the size of dimension ${dim} is not given`))];
  if (faults.length === 0) return;
  const why =
    batch.kind === 'none'
      ? ` No batch axis is known: ${batch.why}. Where an axis is the batch, give ${option('dim')} <input>.<axis>=${BATCH}.`
      : '';
  const advice =
    open.length === 0
      ? undefined
      : `Give ${open.map((dim) => `${option('dim')} ${dim}=<size>`).join(' ')}.${why}`;
  throw new InputError(`run ${model.name}`, faults, advice);
}

type BoundFields = Pick<
  ProfiledModel,
  'dims' | 'fixedBatch' | 'measuredShapes' | 'batchTolerance' | 'trustBatch' | 'unservedOutputs'
>;

/** unservedOutputs lists the outputs that are no tensors. */
export function unservedOutputs({ model, outputs }: PreparedModel): string[] {
  const tensors = new Set(outputs.map(({ name }) => name));
  return model.graph.outputs.map(({ name }) => name).filter((name) => !tensors.has(name));
}

/** boundFields gives what a profile says of how its model was bound. `bindModel` makes the same model of it again. */
export function boundFields(prepared: PreparedModel): BoundFields {
  const { dims, fixedBatch, measuredShapes, batchTolerance, trustBatch } = prepared;
  const unserved = unservedOutputs(prepared);
  const shapes = Object.entries(measuredShapes).map(([name, shape]) => [name, [...shape]]);
  return {
    ...(Object.keys(dims).length > 0 ? { dims: { ...dims } } : {}),
    ...(fixedBatch === undefined ? {} : { fixedBatch }),
    ...(shapes.length === 0 ? {} : { measuredShapes: Object.fromEntries(shapes) }),
    ...(batchTolerance === undefined ? {} : { batchTolerance }),
    ...(trustBatch === undefined ? {} : { trustBatch }),
    ...(unserved.length === 0 ? {} : { unservedOutputs: unserved }),
  };
}

/**
 * bindAsProfiled binds a model as it was bound when it was profiled.
 * @throws InputError as `bindModel` does, and where the model does not batch as the profile says
 */
export function bindAsProfiled(bytes: Uint8Array, profiled: ProfiledModel): OnnxModel {
  const { name, dims, fixedBatch, measuredShapes: shapes, batchTolerance } = profiled;
  const mixing = batchTolerance !== undefined;
  const bound = bindModel(bytes, {
    name,
    batching: fixedBatch === undefined,
    mixing,
    ...(dims && { dims }),
    ...(shapes && { shapes }),
  });
  if ((mixing || shapes !== undefined) && bound.notSymbolic !== undefined) {
    const why = fault(`its profile says that it takes any batch, but ${bound.notSymbolic}`);
    throw new InputError(`bind model ${name}`, [why], 'Profile it again.');
  }
  return bound.model;
}
