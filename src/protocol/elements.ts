import { dtypeInfo, elementCount, STRING_DTYPE, type TensorData } from '../execution/index.js';
import { quotedJson } from './json.js';
import { WireFault } from './wire-fault.js';

/** Elements takes the elements of a tensor in their order, some at a time. */
export class Elements {
  readonly tensor: TensorData;
  private count = 0;
  private readonly take: (values: readonly unknown[], written: (i: number) => unknown) => void;

  constructor(dtype: string, dims: readonly number[]) {
    if (dtype === STRING_DTYPE) {
      const data: string[] = [];
      this.tensor = { dtype, dims, data };
      this.take = (values, written) => this.takeStrings(data, values, written);
      return;
    }
    const info = dtypeInfo(dtype);
    if (info === undefined) throw new WireFault(`its datatype ${dtype} cannot be sent`);
    const data = new info.array(elementCount(dims));
    this.tensor = { dtype, dims, data };
    const read = reader(dtype);
    this.take = (values, written) => {
      for (let i = 0; i < values.length; i++) {
        const value = read(values[i], i, written);
        if (value === undefined)
          throw new WireFault(`${this.toldAt(values[i], i, written)}, not a valid ${info.oip}`);
        (data as { [i: number]: number | bigint })[this.count + i] = value;
      }
    };
  }

  /**
   * add takes elements that follow those so far.
   * @param written gives one of `values` as it was written
   */
  add(values: readonly unknown[], written: (i: number) => unknown): void {
    this.take(values, written);
    this.count += values.length;
  }

  /** refuse says that the next element does not fit, in the words for a value of its kind. */
  refuse(value: unknown): WireFault {
    const kind =
      this.tensor.dtype === STRING_DTYPE ? 'a string' : `a valid ${dtypeInfo(this.tensor.dtype)?.oip}`;
    return new WireFault(`${this.toldAt(value, 0, () => value)}, not ${kind}`);
  }

  private takeStrings(data: string[], values: readonly unknown[], written: (i: number) => unknown): void {
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (typeof value !== 'string') throw new WireFault(`${this.toldAt(value, i, written)}, not a string`);
      data.push(value);
    }
  }

  private toldAt(value: unknown, i: number, written: (i: number) => unknown): string {
    return `its data at ${this.count + i} is ${quotedJson({ value, written: () => written(i) })}`;
  }
}

/** Reader gives the element of a value, or undefined where it does not fit. It may ask what was written at its place. */
type Reader = (value: unknown, at: number, written: (at: number) => unknown) => number | bigint | undefined;

function reader(dtype: string): Reader {
  const integer = /^(u?)int(\d+)$/.exec(dtype);
  if (integer !== null) {
    const bits = Number(integer[2]);
    const low = integer[1] === 'u' ? 0 : -(2 ** (bits - 1));
    const high = integer[1] === 'u' ? 2 ** bits : 2 ** (bits - 1);
    if (bits === 64) return longReader(integer[1] === 'u' ? BigInt.asUintN : BigInt.asIntN);
    return (value) =>
      Number.isSafeInteger(value) && (value as number) >= low && (value as number) < high
        ? (value as number)
        : undefined;
  }
  if (dtype === 'bool') {
    return (value) => (value === true || value === 1 ? 1 : value === false || value === 0 ? 0 : undefined);
  }
  // JSON has no infinities, so a number beyond the range of its type is a mistake.
  const rounded = dtype === 'float32' ? Math.fround : Number;
  return (value) => (typeof value === 'number' && Number.isFinite(rounded(value)) ? value : undefined);
}

/** From here on JavaScript has no numbers between two whole ones, so that a fraction that was written is not seen. */
const NO_FRACTIONS = 2 ** 52;

/**
 * longReader reads integers of 64 bits. Integers beyond 2^53 are read in the digits that were written, and
 * integers beyond 2^52 are looked up there for a fraction that was rounded away.
 */
function longReader(within: (bits: number, value: bigint) => bigint): Reader {
  const fitting = (value: bigint) => (within(64, value) === value ? value : undefined);
  return (value, at, written) => {
    if (typeof value !== 'number') return undefined;
    if (Number.isSafeInteger(value) && Math.abs(value) < NO_FRACTIONS) return fitting(BigInt(value));
    const digits = String(written(at));
    if (Number.isSafeInteger(value) && !/\.\d*[1-9]\d*$/.test(digits)) return fitting(BigInt(value));
    return /^-?\d{1,20}$/.test(digits) ? fitting(BigInt(digits)) : undefined;
  };
}
