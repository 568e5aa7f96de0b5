import { describe, expect, it } from 'vitest';
import { RULES } from '../../scripts/ratchet/offenders.js';
import { sourceOf } from '../../scripts/ratchet/read.js';

function ofLines(name: string, lines: number): string {
  return `function ${name}() {${'\n'.repeat(lines - 1)}}\n`;
}

describe('RULES', () => {
  it('lists functions of more than 60 lines with their lines', () => {
    const text = ofLines('short', 60) + ofLines('long', 61);
    expect(RULES.lines.offenders([sourceOf('bench/a.ts', text)])).toEqual({ 'bench/a.ts long': 61 });
  });

  it('gives one figure for all callbacks within a function: the largest', () => {
    const callback = (lines: number) => `of(() => {${'\n'.repeat(lines - 1)}});`;
    const text = `const all = [${callback(70)} ${callback(80)} ${callback(65)}];`.replaceAll(';', ',');
    expect(RULES.lines.offenders([sourceOf('src/a/b.ts', text)])).toEqual({ 'src/a/b.ts (callback)': 80 });
  });

  it('lists exported functions with more than three positional arguments', () => {
    const text = `
      export function three(a, b, c) {}
      export function four(a, b, c, d) {}
      function own(a, b, c, d) {}
      export class Made { constructor(a, b, c, d, e) {} }`;
    expect(RULES.parameters.offenders([sourceOf('src/a/b.ts', text)])).toEqual({
      'src/a/b.ts Made.constructor': 5,
      'src/a/b.ts four': 4,
    });
  });

  it('lists names that more than one folder of src exports, and no re-export', () => {
    const files = {
      'src/a/one.ts': 'export interface Same {} export const own = 1; type Kept = 1; export { Kept };',
      'src/a/index.ts': "export { Same } from './one.js'; export type { Other } from '../b/index.js';",
      'src/a/c/two.ts': 'export class Same {}',
      'src/b/two.ts': 'export type Same = 1; export interface Other {} export enum Kept {} const own = 2;',
      'src/c/index.ts': "export { Same as Renamed } from '../a/index.js';",
      'bench/a.ts': 'export const Other = 1;',
    };
    const sources = Object.entries(files).map(([path, text]) => sourceOf(path, text));
    expect(RULES.names.offenders(sources)).toEqual({ Kept: 2, Same: 2 });
  });

  it('counts the lists that calls of src spread as arguments, except for those that a function was given so', () => {
    const text = `
      const all = [...list, ...more];
      list.push(...more); Math.max(0, ...list, ...more); new Set(...list);
      const passed = (...args) => call(1, ...args);
      function own(args) { call(...args); }`;
    expect(RULES.spreads.offenders([sourceOf('src/a/b.ts', text), sourceOf('bench/a.ts', text)])).toEqual({
      'src/a/b.ts': 5,
    });
  });

  it('counts what files outside of artifacts take of the file system that may write', () => {
    const text = `
      import { readFile, writeFile as put, rename } from 'node:fs/promises';
      import * as all from 'fs';
      import { stat } from 'node:fs';
      import type { Stats } from 'node:fs';
      import { join } from 'node:path';`;
    const sources = ['src/a/b.ts', 'src/artifacts/save.ts', 'bench/a.ts'].map((path) => sourceOf(path, text));
    expect(RULES.writers.offenders(sources)).toEqual({ 'src/a/b.ts': 3 });
  });

  it('counts comment lines of more than 132 letters, and no commands or code of that length', () => {
    const [most, more] = ['x'.repeat(129), 'x'.repeat(130)];
    const text = `// ${most}\n// ${more}\n/**\n * ${more}\n *     ${more}\n */\nconst a = '${more}';\n`;
    const sources = [sourceOf('src/a/b.ts', text), sourceOf('bench/a.ts', `// ${most}\n`)];
    expect(RULES.comments.offenders(sources)).toEqual({ 'src/a/b.ts': 2 });
  });
});
