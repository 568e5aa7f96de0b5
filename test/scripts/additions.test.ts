import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADDITIONS, withInsertion } from '../../scripts/additions/additions.js';
import { compiled, faultyFiles } from '../../scripts/additions/program.js';
import { tableText, withTable } from '../../scripts/additions/table.js';
import { toldApart } from '../../scripts/additions/told-apart.js';
import { describeInWholeRun, inWholeRun } from '../cases.js';

const SHAPES = `
export type Shape = { kind: 'square'; side: number } | { kind: 'disc'; radius: number };
`;
const TABLE = `
import type { Shape } from './shapes.js';
export const NAMES: { readonly [K in Shape['kind']]: string } = { square: 'Square', disc: 'Disc' };
`;
const TOLD = `
import type { Shape } from './shapes.js';
export function areaOf(shape: Shape): number {
  if (shape.kind === 'square') return shape.side ** 2;
  return Math.PI * shape.radius ** 2;
}
export function hasSides(shape: Shape): boolean {
  return 'side' in shape;
}
export function cornersOf(shape: Shape): number {
  switch (shape.kind) {
    case 'square':
      return 4;
    case 'disc':
      return 0;
  }
}
export function isSquare(name: string): boolean {
  return name === 'square';
}
`;

let project: string;
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'inferplan-additions-'));
  await mkdir(join(project, 'src'));
  const options = { strict: true, skipLibCheck: true, target: 'es2022', module: 'nodenext', types: [] };
  await writeFile(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, include: ['src'] }),
  );
  await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
  for (const [name, text] of Object.entries({ shapes: SHAPES, table: TABLE, told: TOLD }))
    await writeFile(join(project, 'src', `${name}.ts`), text);
});
afterAll(() => rm(project, { recursive: true, force: true }));

/** What the project is compiled to, once for all tests. */
let compiledOnce: ReturnType<typeof compiled> | undefined;
function asItIs(): ReturnType<typeof compiled> {
  compiledOnce ??= compiled(project);
  return compiledOnce;
}

describeInWholeRun('compiled()', () => {
  it('finds no fault in the project as it is', () => {
    expect([...faultyFiles(asItIs())]).toEqual([]);
  });

  inWholeRun('finds the tables and switches that lack a member which is inserted', () => {
    const insertion = { file: 'src/shapes.ts', after: 'export type Shape =', member: "{ kind: 'trial' } |" };
    const overlay = new Map([[insertion.file, withInsertion(SHAPES, insertion)]]);
    const files = faultyFiles(compiled(project, overlay, asItIs()));
    expect([...files.keys()].sort()).toEqual(['src/table.ts', 'src/told.ts']);
  });
});

describe('toldApart()', () => {
  it('finds comparisons, properties and switches, and leaves out tables and other texts', () => {
    const places = toldApart(asItIs(), [['square', 'disc']]);
    expect(places.map(({ file, line, text }) => `${file}:${line} ${text}`)).toEqual([
      "src/told.ts:4 shape.kind === 'square'",
      "src/told.ts:8 'side' in shape",
      'src/told.ts:11 switch (shape.kind) {',
    ]);
  });

  it('finds nothing of a family that no type has', () => {
    expect(toldApart(asItIs(), [['cube', 'ball']])).toEqual([]);
  });
});

describe('withInsertion()', () => {
  it('refuses a text that does not stand there once', () => {
    const insertion = { file: 'a.ts', after: 'type A =', member: "'b' |" };
    expect(() => withInsertion('type B = 1;', insertion)).toThrow('stands there 0 times');
    expect(() => withInsertion('type A = 1; type A = 2;', insertion)).toThrow('stands there 2 times');
  });

  it('has an addition for each recipe that begins with a type', () => {
    expect(ADDITIONS.map(({ name }) => name)).toEqual([
      'a kind of plan',
      'a kind of spec',
      'a drop rule',
      'a queue order',
      'a deploy target',
    ]);
  });
});

describe('withTable()', () => {
  it('puts the table between the marks, in place of the one before', () => {
    const table = tableText(new Map([['a kind', ['src/a.ts', 'src/b/c.ts']]]));
    expect(table.split('\n').at(-1)).toBe('| a kind | `a.ts`, `b/c.ts` |');
    const page = 'before\n<!-- additions -->\nold\n<!-- /additions -->\nafter\n';
    const written = withTable(page, table);
    expect(written).toBe(`before\n<!-- additions -->\n${table}\n<!-- /additions -->\nafter\n`);
    expect(withTable(written, table)).toBe(written);
  });

  it('refuses a page without the marks', () => {
    expect(() => withTable('a page', 'a table')).toThrow('Cannot find');
  });
});
