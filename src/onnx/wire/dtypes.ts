/** ElementType is an entry of onnx.proto's TensorProto.DataType, under ONNX Runtime's name. */
interface ElementType {
  readonly code: number;
  readonly dtype: string;
  readonly bits: number;
  /** The typed field that holds the values where raw_data does not. `entriesPerElement` counts its entries. */
  readonly field: 'floatData' | 'int32Data' | 'stringData' | 'int64Data' | 'doubleData' | 'uint64Data';
  readonly entriesPerElement: number;
}

const ELEMENTS: readonly ElementType[] = [
  [1, 'float32', 32, 'floatData', 1],
  [2, 'uint8', 8, 'int32Data', 1],
  [3, 'int8', 8, 'int32Data', 1],
  [4, 'uint16', 16, 'int32Data', 1],
  [5, 'int16', 16, 'int32Data', 1],
  [6, 'int32', 32, 'int32Data', 1],
  [7, 'int64', 64, 'int64Data', 1],
  [8, 'string', 0, 'stringData', 1],
  [9, 'bool', 8, 'int32Data', 1],
  [10, 'float16', 16, 'int32Data', 1],
  [11, 'float64', 64, 'doubleData', 1],
  [12, 'uint32', 32, 'uint64Data', 1],
  [13, 'uint64', 64, 'uint64Data', 1],
  [14, 'complex64', 64, 'floatData', 2],
  [15, 'complex128', 128, 'doubleData', 2],
  [16, 'bfloat16', 16, 'int32Data', 1],
  [17, 'float8e4m3fn', 8, 'int32Data', 1],
  [18, 'float8e4m3fnuz', 8, 'int32Data', 1],
  [19, 'float8e5m2', 8, 'int32Data', 1],
  [20, 'float8e5m2fnuz', 8, 'int32Data', 1],
  [21, 'uint4', 4, 'int32Data', 1 / 2],
  [22, 'int4', 4, 'int32Data', 1 / 2],
  [23, 'float4e2m1', 4, 'int32Data', 1 / 2],
  [24, 'float8e8m0', 8, 'int32Data', 1],
  [25, 'uint2', 2, 'int32Data', 1 / 4],
  [26, 'int2', 2, 'int32Data', 1 / 4],
].map((row) => {
  const [code, dtype, bits, field, entriesPerElement] = row as [
    number,
    string,
    number,
    ElementType['field'],
    number,
  ];
  return { code, dtype, bits, field, entriesPerElement };
});

const BY_CODE = new Map(ELEMENTS.map((element) => [element.code, element]));
const BY_DTYPE = new Map(ELEMENTS.map((element) => [element.dtype, element]));

/** These types move between sessions as a plain array of whole bytes per element; strings and packed types do not. */
const TRAVELLING = new Set(
  'float32 float64 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool'.split(' '),
);

/** elementOf finds an element type by its number in onnx.proto, undefined where this table lacks it. */
export function elementOf(code: number): ElementType | undefined {
  return BY_CODE.get(code);
}

/** dtypeOf names an element type. A type that is newer than this table is named by its number. */
export function dtypeOf(code: number): string {
  return BY_CODE.get(code)?.dtype ?? `type${code}`;
}

/**
 * codeOf gives the number that onnx.proto has for an element type's name, or the number in a name that
 * `dtypeOf` made of one (`type27`). It is undefined for any other name.
 */
export function codeOf(dtype: 'float32' | 'float16' | 'int64'): number;
export function codeOf(dtype: string): number | undefined;
export function codeOf(dtype: string): number | undefined {
  const unnamed = /^type(\d+)$/.exec(dtype)?.[1];
  return BY_DTYPE.get(dtype)?.code ?? (unnamed === undefined ? undefined : Number(unnamed));
}

/** travels says whether tensors of this type can be sent from one partition to the next. */
export function travels(dtype: string): boolean {
  return TRAVELLING.has(dtype);
}

/** travellingTypes lists, for messages, the types that `travels` accepts. */
export function travellingTypes(): string {
  return [...TRAVELLING].join(', ');
}
