import { describe, expect, it } from 'vitest';
import { decodedText, refuseForeign } from '../../src/artifacts/index.js';
import { InputError } from '../../src/formats/index.js';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const little = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'utf16le'));
const big = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'utf16le').swap16());

function refusal(bytes: Uint8Array): string {
  try {
    return `accepted: ${decodedText(bytes, 'x.yaml')}`;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return error.message;
  }
}

describe('textOf()', () => {
  it.each(['', 'a', 'kind: pooled\n', 'é — 模型 👩‍🔬', '\0', '{"a":"\0"}'])('reads %j', (text) => {
    expect(decodedText(utf8(text), 'x')).toBe(text);
  });

  it('reads text after a byte order mark as if it were not there', () => {
    expect(decodedText(utf8('\uFEFF{}'), 'x')).toBe('{}');
  });

  it.each([
    ['little-endian UTF-16', little('\uFEFFkind: pooled'), 'UTF-16'],
    ['big-endian UTF-16', big('\uFEFFkind: pooled'), 'UTF-16'],
    ['little-endian UTF-16 without a mark', little('{"'), 'UTF-16'],
    ['big-endian UTF-16 without a mark', big('ki'), 'UTF-16'],
    ['little-endian UTF-32', Uint8Array.of(0xff, 0xfe, 0, 0, 0x7b, 0, 0, 0), 'UTF-32'],
    ['big-endian UTF-32', Uint8Array.of(0, 0, 0xfe, 0xff, 0, 0, 0, 0x7b), 'UTF-32'],
  ])('refuses %s, and names the encoding', (_, bytes, name) => {
    expect(refusal(bytes)).toBe(`Cannot read x.yaml: it is text in ${name}; save it as UTF-8`);
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(refusal(Uint8Array.of(0x63, 0xe9, 0x0a))).toBe('Cannot read x.yaml: it is not text in UTF-8');
  });
});

describe('refuseForeign()', () => {
  it('accepts beginnings of any length', () => {
    for (let length = 0; length < 4; length++) refuseForeign(utf8('abc').slice(0, length), 'x');
    expect(() => refuseForeign(Uint8Array.of(0xfe, 0xff), 'x')).toThrow('UTF-16');
  });
});
