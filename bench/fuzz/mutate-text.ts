import type { Dice } from '../seeded/dice.js';
import type { Mutated } from './mutate-json.js';
import { ODD_NUMBERS, ODD_TEXTS, RAW_NUMBERS } from './odd-values.js';

/** YAML_LINES are pieces of YAML whose meaning is not obvious. */
const YAML_LINES = [
  'a: &a [*a]',
  '<<: *nothing',
  '<<: {a: 1}',
  '? [complex, key]\n: value',
  '--- \nkind: cluster',
  '%YAML 1.1',
  '!!js/function "x"',
  'b: !!binary aGVsbG8=',
  'c: !<tag:x> 1',
  'd: |\n  text',
  'e: >-\n  text',
  '&x kind: *x',
  'f: 2001-01-01',
  'g: yes',
  '\tindent: 1',
  'h: &h {<<: *h}',
  '...',
  '- item',
  'kind: kind',
  'i: [1, 2',
  "j: 'open",
  '1: 2',
  'null: 1',
  '~: 1',
  '[]: 1',
  '{}: 2',
  'l1: &l1 [1,1,1,1,1,1,1,1,1]\nl2: &l2 [*l1,*l1,*l1,*l1,*l1,*l1,*l1]\nl3: &l3 [*l2,*l2,*l2,*l2,*l2,*l2]\nl4: [*l3,*l3,*l3,*l3,*l3,*l3]',
];

const ODD_BYTES: readonly Buffer[] = [
  Buffer.from([0]),
  Buffer.from([0xff]),
  Buffer.from([0xfe, 0xff]),
  Buffer.from([0xc3]),
  Buffer.from([0xed, 0xa0, 0x80]),
  Buffer.from('\n'),
  Buffer.from('\r\n'),
  Buffer.from('\u0085\u2028'),
  Buffer.from('\u001b[31m'),
  Buffer.from('"'),
  Buffer.from(','),
  Buffer.from('{'),
  Buffer.from(']'),
  Buffer.from('#'),
  Buffer.from('\ufeff'),
  Buffer.from(':'),
];

/** mutateText changes a text's lines, or its bytes. */
export function mutateText(
  dice: Dice,
  text: string,
  inserted: readonly string[] = YAML_LINES,
): Mutated<Buffer> {
  if (dice.chance(0.3)) return mutateBytes(dice, Buffer.from(text));
  const lines = text.split('\n');
  const told: string[] = [];
  for (let left = dice.small(); left > 0; left--) told.push(changeLines(dice, lines, inserted));
  const end = dice.chance(0.1) ? '\r\n' : '\n';
  return { value: Buffer.from(lines.join(end)), what: told.join('; ') };
}

function changeLines(dice: Dice, lines: string[], inserted: readonly string[]): string {
  const i = dice.below(lines.length);
  switch (dice.below(7)) {
    case 0:
      lines.splice(i, 1);
      return `line ${i + 1} removed`;
    case 1:
      lines.splice(i, 0, lines[i] ?? '');
      return `line ${i + 1} doubled`;
    case 2:
      lines.splice(i, 0, dice.pick(inserted));
      return `a line before ${i + 1}`;
    case 3: {
      const [line] = lines.splice(i, 1);
      lines.splice(dice.below(lines.length + 1), 0, line ?? '');
      return `line ${i + 1} moved`;
    }
    case 4:
      lines[i] = (lines[i] ?? '').repeat(dice.pick([2, 10, 1000]));
      return `line ${i + 1} repeated within itself`;
    default:
      lines[i] = changedFields(dice, lines[i] ?? '');
      return `a field of line ${i + 1}`;
  }
}

/** changedFields changes a line between its separators. */
function changedFields(dice: Dice, line: string): string {
  const separator = dice.pick([',', ',', ':', ' ']);
  const fields = line.split(separator);
  const i = dice.below(fields.length);
  const odd = dice.pick([String(dice.pick(ODD_NUMBERS)), dice.pick(ODD_TEXTS), dice.pick(RAW_NUMBERS), '']);
  const way = dice.pick(['less', 'more', 'longer', 'another', 'another']);
  if (way === 'less') fields.splice(i, 1);
  else if (way === 'more') fields.splice(i, 0, odd);
  else fields[i] = way === 'longer' ? `${fields[i]}${odd}` : odd;
  return fields.join(separator);
}

/** mutateBytes changes bytes wherever they lie. */
export function mutateBytes(dice: Dice, bytes: Buffer): Mutated<Buffer> {
  const at = dice.below(bytes.length + 1);
  const end = Math.min(bytes.length, at + dice.pick([1, 2, 8, 100]));
  switch (dice.below(7)) {
    case 0:
      return { value: bytes.subarray(0, at), what: `cut off at byte ${at}` };
    case 1:
      return {
        value: Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]),
        what: `bytes ${at} to ${end} removed`,
      };
    case 2:
      return {
        value: Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]),
        what: `bytes ${at} to ${end} doubled`,
      };
    case 3:
      return {
        value: Buffer.concat([bytes.subarray(0, at), dice.pick(ODD_BYTES), bytes.subarray(at)]),
        what: `odd bytes at ${at}`,
      };
    case 4:
      return { value: Buffer.from(bytes.toString('utf8'), 'utf16le'), what: 'as UTF-16' };
    case 5:
      return { value: Buffer.concat([bytes, dice.bytes(dice.below(64))]), what: 'bytes at the end' };
    default: {
      const changed = Buffer.from(bytes);
      for (let left = dice.small(); left > 0 && changed.length > 0; left--)
        changed[dice.below(changed.length)] = dice.below(256);
      return { value: changed, what: 'some bytes changed' };
    }
  }
}
