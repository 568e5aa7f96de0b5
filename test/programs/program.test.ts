import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { DATATYPES } from '../../src/programs/index.js';

const EXAMPLES = fileURLToPath(new URL('../../examples/workflows/programs/', import.meta.url));

/** complaints gives what TypeScript says of files, which are read from memory where `texts` has them. */
function complaints(files: readonly string[], texts: Readonly<Record<string, string>> = {}): string[] {
  const options: ts.CompilerOptions = {
    ...{ allowJs: true, checkJs: true, noEmit: true, strict: true, types: [], lib: ['lib.es2023.d.ts'] },
    ...{ module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
    ...{ target: ts.ScriptTarget.ES2023, skipLibCheck: true },
  };
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists } = host;
  host.readFile = (path) => texts[path] ?? readFile(path);
  host.fileExists = (path) => path in texts || fileExists(path);
  const { getSourceFile } = host;
  host.getSourceFile = (path, version, ...rest) => {
    const text = texts[path];
    return text === undefined
      ? getSourceFile(path, version, ...rest)
      : ts.createSourceFile(path, text, version);
  };
  const program = ts.createProgram(files, options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}

const MODULE = `
import type { Program } from 'inferplan/program';
const program: Program = async (request, { call, now, random }) => {
  const handle = call('c', { x: request.in('x') });
  BODY
};
export default program;`;

/** complaintsOf gives what TypeScript says of a program with a body. The file stands beside the examples, and so finds the package. */
function complaintsOf(body: string): string[] {
  const path = `${EXAMPLES}written.ts`;
  return complaints([path], { [path]: MODULE.replace('BODY', body) });
}

describe('the types of programs', () => {
  it('fit the examples, which are JavaScript with types in comments', () => {
    const files = readdirSync(EXAMPLES).map((name) => `${EXAMPLES}${name}`);
    expect(files).toHaveLength(3);
    expect(complaints(files)).toEqual([]);
  });

  it('know what a datatype holds', () => {
    expect(
      complaintsOf(`
        const { data } = await handle.read('y', 'FP32');
        const one: number = data[0]! + now() + random();
        const many: bigint[] = [...(await request.read('x', 'INT64')).data];
        const text: string | undefined = (await handle.read('t', 'BYTES')).data[0];
        return { y: handle.out('y'), z: undefined, t: { datatype: 'BYTES', shape: [1], data: [text ?? '', String(one + many.length)] } };`),
    ).toEqual([]);
  });

  it.each([
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
  ])('refuse %s', (_, body, words) => {
    expect(complaintsOf(body).join('\n')).toMatch(words);
  });

  it('have the datatypes that the thread takes', () => {
    const of = (datatype: string) => complaintsOf(`await handle.read('y', '${datatype}'); return {};`);
    expect(DATATYPES.flatMap(of)).toEqual([]);
  });
});
