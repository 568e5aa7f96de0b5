import { itemAt, pushAll } from '../collections/index.js';
import {
  dtypeInfo,
  elementCount,
  filledTensor,
  requestTensor,
  stackBatch,
  type TensorData,
  type TensorMaker,
  type Tensors,
} from '../execution/index.js';
import { fault, InputError } from '../formats/index.js';
import type { BatchDim, OnnxModel } from '../onnx/index.js';
import type { Batching, PreparedModel } from './types.js';

const MOST_INPUT_BYTES = 2 ** 30;

/** inputAxes says where each input has the batch; undefined where the input is common to all requests. */
export function inputAxes(batch: BatchDim): ReadonlyMap<string, number | undefined> {
  return new Map(batch.kind === 'none' ? [] : batch.inputs.map(({ name, axis }) => [name, axis]));
}

interface RequestValues {
  readonly which: number;
  readonly given?: Tensors;
  readonly fill?: Readonly<Record<string, number>>;
  /** Makes the values of inputs with a batch axis; uniform random ones by default. */
  readonly kind?: TensorMaker;
}

/**
 * requestFor makes values of every input for one request (for a whole run where the batch is fixed). An input in `fill`
 * holds that number throughout, another one in `given` holds those values, and all others hold seeded random values.
 * @param which the number of the request; requests differ in the random inputs that have a batch axis, and in no others
 * @throws InputError for given values that belong to no input or have another type or shape, and for an input of more
 *   than 1 GiB
 */
export function requestFor(
  model: OnnxModel,
  batch: BatchDim,
  { which, given = {}, fill = {}, kind }: RequestValues,
): Tensors {
  const axes = inputAxes(batch);
  const symbolic = batch.kind === 'symbolic';
  const shapes = new Map(
    model.graph.inputs.map(({ name, type }) => {
      const dims = type?.kind === 'tensor' ? (type.dims ?? []) : [];
      const shape = dims.map((dim, axis) => (symbolic && axis === axes.get(name) ? 1 : Number(dim)));
      return [name, { dtype: type?.kind === 'tensor' ? type.dtype : '', shape }];
    }),
  );
  checkSizes(model.name, shapes);
  checkGiven(model.name, shapes, { given, fill });
  const filled = new Map(Object.entries(fill));
  const asGiven = new Map(Object.entries(given));
  return Object.fromEntries(
    [...shapes].map(([name, { dtype, shape }]) => {
      const value = filled.get(name);
      if (value !== undefined) return [name, filledTensor(dtype, shape, value)];
      const isCommon = axes.get(name) === undefined;
      const of = { name, which: isCommon ? 0 : which };
      const made = () => requestTensor(of, { dtype, dims: shape }, isCommon ? undefined : kind);
      return [name, asGiven.get(name) ?? made()];
    }),
  );
}

/** checkSizes refuses inputs that no array can hold, because their values are made in memory. */
function checkSizes(model: string, shapes: ReadonlyMap<string, { dtype: string; shape: number[] }>): void {
  const faults = [...shapes].flatMap(([name, { dtype, shape }]) => {
    const bytes = elementCount(shape) * (dtypeInfo(dtype)?.bytes ?? 1);
    if (bytes <= MOST_INPUT_BYTES) return [];
    const size = `${dtype}[${shape.join(', ')}] is ${(bytes / 2 ** 30).toFixed(1)} GiB for one request`;
    return [fault(`input ${name} ${size}; at most ${MOST_INPUT_BYTES / 2 ** 30} GiB are allowed`)];
  });
  if (faults.length > 0) throw new InputError(`run ${model}`, faults);
}

function checkGiven(
  model: string,
  shapes: ReadonlyMap<string, { dtype: string; shape: number[] }>,
  { given, fill }: { given: Tensors; fill: Readonly<Record<string, number>> },
): void {
  const inputs = [...shapes.keys()].join(', ');
  const unknown = Object.keys(fill).filter((name) => !shapes.has(name));
  const faults = unknown.map((name) => fault(`there is no input ${name}; inputs are ${inputs}`));
  const others = Object.entries(given).flatMap(([name, { dtype, dims }]) => {
    const wanted = shapes.get(name);
    if (wanted === undefined) return [fault(`there is no input ${name}; inputs are ${inputs}`)];
    const same = dtype === wanted.dtype && dims.join() === wanted.shape.join();
    const are = `${dtype}[${dims.join(', ')}]; ${wanted.dtype}[${wanted.shape.join(', ')}] is needed`;
    return same ? [] : [fault(`the values given for ${name} are ${are}`)];
  });
  pushAll(faults, others);
  if (faults.length > 0) throw new InputError(`run ${model} with the values given`, faults);
}

/**
 * stackRequests joins the values of several requests: stacked along a batch axis, else the first request's.
 */
export function stackRequests(requests: readonly Tensors[], batchingOf: (name: string) => Batching): Tensors {
  const names = Object.keys(requests[0] ?? {});
  return Object.fromEntries(
    names.map((name): [string, TensorData] => {
      const batching = batchingOf(name);
      const parts = requests.map((request) => request[name]!);
      return [name, batching.kind === 'stacked' ? stackBatch(parts, batching.axis) : itemAt(parts, 0)];
    }),
  );
}

/** inputBatching says how the model's inputs are batched. */
export function inputBatching(batch: BatchDim): (name: string) => Batching {
  const axes = inputAxes(batch);
  return (name) => {
    const axis = axes.get(name);
    return axis === undefined || batch.kind !== 'symbolic' ? { kind: 'common' } : { kind: 'stacked', axis };
  };
}

/** requestsOf gives the requests of a run at a batch size: one where the batch is fixed, since one request is a run. */
export function requestsOf({ fixedBatch }: PreparedModel, batch: number): number {
  return fixedBatch === undefined ? batch : 1;
}

/**
 * batchOf repeats the feeds of one request `batch` times, since equal rows take as long as different ones. Tensors that
 * are common to all requests stay as they are, and all do for one request or a fixed batch.
 */
export function batchOf(prepared: PreparedModel, request: Tensors, batch: number): Tensors {
  const requests = requestsOf(prepared, batch);
  if (requests === 1) return request;
  return stackRequests(new Array<Tensors>(requests).fill(request), (name): Batching => {
    const finding = prepared.tensors.get(name);
    return finding?.kind === 'tensor' ? finding.batching : { kind: 'common' };
  });
}
