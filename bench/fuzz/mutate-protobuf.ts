import type { Dice } from '../seeded/dice.js';
import type { Mutated } from './mutate-json.js';
import { ODD_TEXTS } from './odd-values.js';

/** WireField is a field of a protobuf message, with its tag. */
interface WireField {
  number: number;
  wireType: number;
  /** The varint, or the bytes of any other value. */
  value: bigint | Buffer;
}

const VARINT = 0;
const DELIMITED = 2;
const ODD_VARINTS = [
  0n,
  1n,
  2n,
  7n,
  8n,
  16n,
  127n,
  128n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n,
  2n ** 53n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
];
const MOST_DEPTH = 30;

/**
 * mutateProtobuf changes an encoded message in a field or a few, at any depth: numbers, texts, order, presence, tags
 * and lengths. Which bytes are messages themselves is guessed from whether they can be read as such.
 */
export function mutateProtobuf(dice: Dice, bytes: Buffer): Mutated<Buffer> {
  let value = bytes;
  const told: string[] = [];
  const texts = textsOf(bytes, 0);
  for (let left = dice.small(); left > 0; left--) {
    const changed = changeMessage(dice, value, texts, '');
    value = changed.value;
    told.push(changed.what);
  }
  return { value, what: told.join('; ') };
}

function changeMessage(dice: Dice, bytes: Buffer, texts: readonly Buffer[], path: string): Mutated<Buffer> {
  const fields = fieldsOf(bytes);
  if (fields === undefined || fields.length === 0)
    return { value: changedPayload(dice, bytes, texts), what: `${path}: another payload` };
  const i = dice.below(fields.length);
  const field = fields[i] as WireField;
  const here = `${path}/${field.number}[${i}]`;
  const inner = field.value;
  if (inner instanceof Buffer && field.wireType === DELIMITED && dice.chance(0.75) && isMessage(inner)) {
    const below = changeMessage(dice, inner, texts, here);
    field.value = below.value;
    return { value: encoded(fields), what: below.what };
  }
  return changeField(dice, { fields, i, here }, texts);
}

interface Place {
  readonly fields: WireField[];
  readonly i: number;
  readonly here: string;
}

function changeField(dice: Dice, { fields, i, here }: Place, texts: readonly Buffer[]): Mutated<Buffer> {
  const field = fields[i] as WireField;
  const done = (what: string, lie?: bigint) => ({
    value: encoded(fields, lie === undefined ? undefined : { i, length: lie }),
    what: `${here}: ${what}`,
  });
  switch (dice.below(11)) {
    case 0:
      fields.splice(i, 1);
      return done('removed');
    case 1:
      fields.splice(dice.below(fields.length + 1), 0, { ...field });
      return done('doubled');
    case 2:
      fields.splice(dice.below(fields.length), 0, ...fields.splice(i, 1));
      return done('moved');
    case 3:
      field.number = dice.pick([0, 1, field.number + 1, 2, 5, 7, 13, 20, 25, 2 ** 29 - 1, 2 ** 29]);
      return done(`is number ${field.number}`);
    case 4:
      field.wireType = dice.below(8);
      return done(`has wire type ${field.wireType}`);
    case 5:
      return done(
        'says another length',
        dice.pick([...ODD_VARINTS, BigInt(sizeOf(field)) + 1n, BigInt(sizeOf(field)) - 1n]),
      );
    case 6:
      fields.splice(i, 0, {
        number: dice.below(30) + 1,
        wireType: DELIMITED,
        value: dice.bytes(dice.below(40)),
      });
      return done('something before it');
    case 7: {
      const depth = dice.pick([2, 33, 120, 5000]);
      field.value = nested(
        field.value instanceof Buffer ? field.value : Buffer.alloc(0),
        dice.pick([1, 4, 5, 6, 7]),
        depth,
      );
      field.wireType = DELIMITED;
      return done(`nested ${depth} deep`);
    }
    default:
      if (typeof field.value === 'bigint')
        field.value = dice.pick([...ODD_VARINTS, field.value + 1n, field.value - 1n]);
      else field.value = changedPayload(dice, field.value, texts);
      return done('another value');
  }
}

function sizeOf({ value }: WireField): number {
  return value instanceof Buffer ? value.length : 1;
}

function changedPayload(dice: Dice, bytes: Buffer, texts: readonly Buffer[]): Buffer {
  const at = dice.below(bytes.length + 1);
  return dice.pick<() => Buffer>([
    () => (texts.length === 0 ? Buffer.alloc(0) : dice.pick(texts)),
    () => (texts.length === 0 ? Buffer.alloc(0) : dice.pick(texts)),
    () => Buffer.from(dice.pick(ODD_TEXTS)),
    () => bytes.subarray(0, at),
    () => Buffer.concat([bytes, dice.bytes(dice.below(9))]),
    () => Buffer.alloc(0),
    () => dice.bytes(bytes.length % 4096),
    () => Buffer.concat([bytes, bytes]),
  ])();
}

function nested(bytes: Buffer, number: number, depth: number): Buffer {
  let inner = bytes;
  for (let i = 0; i < depth; i++)
    inner = Buffer.concat([varint(BigInt(number * 8 + DELIMITED)), varint(BigInt(inner.length)), inner]);
  return inner;
}

/** fieldsOf reads a message's fields, or gives undefined where the bytes are no message. */
function fieldsOf(bytes: Buffer): WireField[] | undefined {
  const fields: WireField[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = readVarint(bytes, at);
    if (tag === undefined) return undefined;
    at = tag.end;
    const [number, wireType] = [Number(tag.value >> 3n), Number(tag.value & 7n)];
    if (number < 1 || number > 1000) return undefined;
    const size = wireType === 1 ? 8 : wireType === 5 ? 4 : undefined;
    const head = size === undefined ? readVarint(bytes, at) : { value: BigInt(size), end: at };
    if (head === undefined || ![0, 1, 2, 5].includes(wireType)) return undefined;
    at = head.end;
    if (wireType === VARINT) fields.push({ number, wireType, value: head.value });
    else {
      const end = at + Number(head.value);
      if (end > bytes.length) return undefined;
      fields.push({ number, wireType, value: bytes.subarray(at, end) });
      at = end;
    }
  }
  return fields;
}

function isMessage(bytes: Buffer): boolean {
  return bytes.length > 1 && fieldsOf(bytes) !== undefined;
}

/** textsOf gathers the short texts of a message, names above all, to be put where others belong. */
function textsOf(bytes: Buffer, depth: number): Buffer[] {
  if (depth > MOST_DEPTH) return [];
  return (fieldsOf(bytes) ?? []).flatMap(({ value }) => {
    if (!(value instanceof Buffer)) return [];
    const isText = value.length < 40 && /^[\w/.:]+$/.test(value.toString('latin1'));
    return isText ? [value] : isMessage(value) ? textsOf(value, depth + 1) : [];
  });
}

function readVarint(bytes: Buffer, from: number): { value: bigint; end: number } | undefined {
  let value = 0n;
  for (let at = from; at < bytes.length && at < from + 10; at++) {
    const byte = bytes[at] as number;
    value |= BigInt(byte & 0x7f) << BigInt(7 * (at - from));
    if (byte < 0x80) return { value, end: at + 1 };
  }
  return undefined;
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, value);
  for (; left >= 0x80n; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
  bytes.push(Number(left));
  return Buffer.from(bytes);
}

/** encoded writes fields back. `lie` makes one of them tell another length than it has. */
function encoded(fields: readonly WireField[], lie?: { i: number; length: bigint }): Buffer {
  return Buffer.concat(
    fields.flatMap(({ number, wireType, value }, i) => {
      const tag = varint(BigInt(number) * 8n + BigInt(wireType));
      if (typeof value === 'bigint') return [tag, varint(value)];
      if (wireType !== DELIMITED) return [tag, value];
      return [tag, varint(lie?.i === i ? lie.length : BigInt(value.length)), value];
    }),
  );
}
