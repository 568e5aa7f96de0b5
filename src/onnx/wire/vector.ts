import { codeOf } from './dtypes.js';
import { TENSOR } from './fields.js';
import { concat, delimited, numberField, textField } from './wire.js';

/** vectorBytes makes a TensorProto of one axis. */
export function vectorBytes(
  name: string,
  values: readonly number[],
  dtype: 'int64' | 'float32' = 'int64',
): Uint8Array {
  const raw = dtype === 'int64' ? BigInt64Array.from(values.map(BigInt)) : Float32Array.from(values);
  return concat([
    numberField(TENSOR.dims, values.length),
    numberField(TENSOR.dataType, codeOf(dtype)),
    textField(TENSOR.name, name),
    ...delimited(TENSOR.rawData, new Uint8Array(raw.buffer)),
  ]);
}
