import { describe, expect, it } from 'vitest';
import { harmless, harmlessLine } from '../../src/cli/harmless.js';

describe('harmless()', () => {
  it('shows as escapes the characters that a terminal would obey, and keeps line breaks', () => {
    expect(harmless('\x1b[31mred\x1b[0m\x07\n\r\t\b')).toBe('\\x1b[31mred\\x1b[0m\\x07\n\\r\\t\\x08');
  });

  it('leaves no control character of 7 or 8 bits, and no mark that changes the direction of text or breaks lines', () => {
    const codes = [...Array(0x20).keys(), ...Array.from({ length: 0x21 }, (_, i) => 0x7f + i)];
    const marks = [0x61c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069];
    for (const code of [...codes, ...marks]) {
      const hexadecimal = code.toString(16);
      if (code === 10) continue;
      const shown = harmless(`a${String.fromCharCode(code)}b`);
      expect(shown).toMatch(/^a\\([rt]|x[0-9a-f]{2}|u[0-9a-f]{4})b$/);
      if (!/[rt]b$/.test(shown)) expect(shown).toContain(hexadecimal);
    }
  });

  it('leaves other text of any script alone', () => {
    const text = 'modèle 模型 mô hình µs × 1/2 — “x” 👩‍🔬\u00a0\\x1b';
    expect(harmless(text)).toBe(text);
    expect(harmlessLine(text)).toBe(text);
  });
});

describe('harmlessLine()', () => {
  it('shows line breaks as escapes too', () => {
    expect(harmlessLine('a\nb\r\nc')).toBe('a\\nb\\r\\nc');
  });
});
