import { itemAt, pushAll } from '../../collections/index.js';
import {
  elementCount,
  oipDatatype,
  splitBatch,
  type TensorData,
  type Tensors,
  textFault,
} from '../../execution/index.js';
import type { Fault, TensorSpec } from '../../formats/index.js';
import type { LiveModel } from '../bundle/pool-work.js';

/** AskedModel is what a request is checked against. */
export type AskedModel = Pick<LiveModel, 'name' | 'inputs' | 'outputs' | 'maxRows'>;

/**
 * checkedRows splits the inputs of a request into those of each row. Reasons why the model cannot be fed with
 * them are added to `faults`: unknown and missing inputs, other types and shapes, text that ONNX Runtime
 * would change, unequal numbers of rows, and more rows than the model's `maxRows`. There are no rows then.
 */
export function checkedRows(model: AskedModel, inputs: Tensors, faults: Fault[]): Tensors[] {
  const names = Object.keys(inputs);
  for (const name of names) {
    const message = inputFault(model, name, inputs[name]!);
    if (message !== undefined) faults.push({ path: `input ${name}`, message });
  }
  pushAll(faults, missingInputs(model, new Set(names)));
  if (faults.length > 0) return [];
  const count = countRows(model, inputs, faults);
  return faults.length > 0 ? [] : rowsOfRequest(model, inputs, count);
}

function inputFault(model: AskedModel, name: string, tensor: TensorData): string | undefined {
  const spec = model.inputs.find((input) => input.name === name);
  if (spec === undefined) return unknownInput(model);
  const { dtype, dims, data } = tensor;
  if (dtype !== spec.dtype)
    return `its datatype is ${oipDatatype(dtype) ?? dtype}; it must be ${oipDatatype(spec.dtype)}`;
  if (!fitsInput(dims, spec))
    return `its shape is [${dims.join(',')}]; it must be [${shapeOf(spec).join(', ')}]`;
  if (data.length !== elementCount(dims))
    return `has ${data.length} elements; its shape has ${elementCount(dims)}`;
  return textFault(tensor);
}

/** unknownInput says of a tensor that it is not an input of the model. */
export function unknownInput(model: AskedModel): string {
  return `is not one of the model's; it takes ${inputsText(model)}`;
}

/** missingInputs finds the inputs of a model that a request does not name. */
export function missingInputs(model: AskedModel, told: ReadonlySet<unknown>): Fault[] {
  return model.inputs.flatMap((spec) =>
    told.has(spec.name) ? [] : [{ path: 'inputs', message: `lacks ${inputText(spec)}` }],
  );
}

/** inputsText lists a model's inputs with their types and shapes. */
export function inputsText({ inputs }: AskedModel): string {
  return inputs.map(inputText).join(', ');
}

function inputText(spec: TensorSpec): string {
  return `${spec.name} ${oipDatatype(spec.dtype)}[${shapeOf(spec).join(', ')}]`;
}

/** fitsInput says whether a tensor of this shape holds whole rows of an input. */
export function fitsInput(dims: unknown, spec: TensorSpec): boolean {
  if (!Array.isArray(dims) || dims.length !== spec.shape.length) return false;
  return spec.shape.every((size, axis) => {
    const dim: unknown = dims[axis];
    if (spec.variableAxes?.includes(axis)) return Number.isSafeInteger(dim) && (dim as number) >= 0;
    if (axis !== spec.batchAxis) return dim === size;
    return Number.isSafeInteger(dim) && (dim as number) > 0 && (dim as number) % size === 0;
  });
}

/**
 * shapeOf gives a tensor's shape as the protocol's metadata states it, with −1 for the axis that grows with the rows and
 * for axes whose size depends on the data.
 */
export function shapeOf({ shape, batchAxis, variableAxes = [] }: TensorSpec): number[] {
  return shape.map((size, axis) => (axis === batchAxis || variableAxes.includes(axis) ? -1 : size));
}

/** countRows counts the rows. All inputs that grow with the batch must hold the same number. */
export function countRows(model: AskedModel, inputs: Tensors, faults: Fault[]): number {
  const counts = model.inputs.flatMap((spec) => {
    const tensor = inputs[spec.name];
    if (spec.batchAxis === undefined || tensor === undefined) return [];
    return [
      { name: spec.name, rows: itemAt(tensor.dims, spec.batchAxis) / itemAt(spec.shape, spec.batchAxis) },
    ];
  });
  const rows = counts[0]?.rows ?? 1;
  if (counts.some((count) => count.rows !== rows)) {
    const told = counts.map((count) => `${count.name} ${count.rows}`).join(', ');
    faults.push({ path: 'inputs', message: `hold unequal numbers of rows: ${told}` });
  }
  if (rows > model.maxRows) {
    faults.push({
      path: 'inputs',
      message: `hold ${rows} rows; at most ${model.maxRows} are taken in one request`,
    });
  }
  return rows;
}

/** rowsOfRequest splits inputs of `count` rows into those of each row. */
export function rowsOfRequest(model: AskedModel, inputs: Tensors, count: number): Tensors[] {
  if (count === 1) return [inputs];
  const rows: Record<string, TensorData>[] = Array.from({ length: count }, () => ({}));
  for (const spec of model.inputs) {
    const tensor = inputs[spec.name] as TensorData;
    const parts =
      spec.batchAxis === undefined
        ? undefined
        : splitBatch(tensor, spec.batchAxis, new Array<number>(count).fill(spec.shape[spec.batchAxis]!));
    rows.forEach((row, i) => {
      row[spec.name] = parts?.[i] ?? tensor;
    });
  }
  return rows;
}
