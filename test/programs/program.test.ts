import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { DATATYPES } from '../../src/programs/index.js';

const EXAMPLES = fileURLToPath(new URL('../../examples/workflows/programs/', import.meta.url));

/** complaintsOf gives what TypeScript says of each file. Those that `texts` has are read from there. */
function complaintsOf(files: readonly string[], texts: ReadonlyMap<string, string>): Map<string, string[]> {
  const options: ts.CompilerOptions = {
    allowJs: true,
    checkJs: true,
    noEmit: true,
    strict: true,
    types: [],
    lib: ['lib.es2023.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    skipLibCheck: true,
  };
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists, getSourceFile } = host;
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.getSourceFile = (path, version, ...rest) => {
    const text = texts.get(path);
    return text === undefined
      ? getSourceFile(path, version, ...rest)
      : ts.createSourceFile(path, text, version);
  };
  const program = ts.createProgram(files, options, host);
  const said = new Map(files.map((path): [string, string[]] => [path, []]));
  for (const { file, messageText } of ts.getPreEmitDiagnostics(program))
    said.get(file?.fileName ?? '')?.push(ts.flattenDiagnosticMessageText(messageText, '\n'));
  return said;
}

const MODULE = `
import type { Program } from 'inferplan/program';
const program: Program = async (request, { call, now, random }) => {
  const handle = call('c', { x: request.in('x') });
  BODY
};
export default program;`;

const RIGHT = `
  const { data } = await handle.read('y', 'FP32');
  const one: number = data[0]! + now() + random();
  const many: bigint[] = [...(await request.read('x', 'INT64')).data];
  const text: string | undefined = (await handle.read('t', 'BYTES')).data[0];
  return { y: handle.out('y'), z: undefined, t: { datatype: 'BYTES', shape: [1], data: [text ?? '', String(one + many.length)] } };`;

const WRONG: readonly (readonly [what: string, body: string, words: RegExp])[] = [
  [
    'a value as an input',
    `call('c', { x: 3 }); return {};`,
    /'number' is not assignable to type 'TensorSource'/,
  ],
  ['a handle as an output', `return { y: handle };`, /is not assignable to type/],
  ['an unknown datatype', `await handle.read('y', 'FLOAT'); return {};`, /"FLOAT"/],
  [
    'numbers of another kind',
    `const n: number = (await handle.read('y', 'INT64')).data[0]!; return {};`,
    /'bigint' is not assignable/,
  ],
  ['nothing returned', ``, /is not assignable to type/],
];

const EVERY_DATATYPE = `${DATATYPES.map((datatype) => `await handle.read('y', '${datatype}');`).join('\n')} return {};`;

describe('the types of programs', () => {
  const examples = readdirSync(EXAMPLES).map((name) => `${EXAMPLES}${name}`);
  // They stand beside the examples, from where the package is found by its name.
  const bodies = [RIGHT, EVERY_DATATYPE, ...WRONG.map(([, body]) => body)];
  const written = bodies.map((body, i): [string, string] => [
    `${EXAMPLES}written-${i}.ts`,
    MODULE.replace('BODY', body),
  ]);
  const said = [...complaintsOf([...examples, ...written.map(([path]) => path)], new Map(written)).values()];

  it('fit the examples, which are JavaScript with types in comments', () => {
    expect(examples.length).toBeGreaterThan(0);
    expect(said.slice(0, examples.length)).toEqual(examples.map(() => []));
  });

  it('know what a datatype holds', () => {
    expect(said[examples.length]).toEqual([]);
  });

  it('have the datatypes that the thread takes', () => {
    expect(said[examples.length + 1]).toEqual([]);
  });

  it.each(WRONG.map(([what, , words], i) => [what, words, i] as const))('refuse %s', (_, words, i) => {
    expect(said[examples.length + 2 + i]?.join('\n')).toMatch(words);
  });
});
