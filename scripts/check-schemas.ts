/**
 * This script checks that the types of src/formats agree exactly with schemas/*.schema.json. It generates types from
 * the schemas, and the compiler compares them with the hand-written ones, type for type.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { compile, type JSONSchema } from 'json-schema-to-typescript';
import ts from 'typescript';
import { schemaSource } from '../src/artifacts/index.js';
import { ARTIFACT_KINDS, type ArtifactKind } from '../src/formats/index.js';

interface Schema {
  title?: string;
  definitions?: Record<string, Schema>;
  [key: string]: unknown;
}

const project = resolve(import.meta.dirname, '../..');

/**
 * bundleSchemas makes one schema that holds all of them, each definition under its kind's name, so that
 * titles become the types' names.
 */
function bundleSchemas(): Schema {
  const definitions: Record<string, Schema> = {};
  for (const kind of ARTIFACT_KINDS) {
    const { definitions: own = {}, $id, $schema, ...root } = JSON.parse(schemaSource(kind)) as Schema;
    definitions[kind] = localRefs(root, kind);
    for (const [name, part] of Object.entries(own)) definitions[`${kind}.${name}`] = localRefs(part, kind);
  }
  const roots = ARTIFACT_KINDS.map((kind) => ({ $ref: `#/definitions/${kind}` }));
  return { title: 'AnyArtifact', oneOf: roots, definitions };
}

function localRefs<T>(part: T, kind: ArtifactKind): T {
  const text = JSON.stringify(part).replaceAll(
    /"(?:([a-z-]+)\.schema\.json)?(?:#\/definitions\/([A-Za-z]+))?"/g,
    (whole, of: string = kind, name?: string) => {
      if (whole === '""') return whole;
      return name === undefined ? `"#/definitions/${of}"` : `"#/definitions/${of}.${name}"`;
    },
  );
  // A list that may not be empty is still a list in TypeScript, not a tuple.
  return JSON.parse(text, (key, value) => (key === 'minItems' && value === 1 ? undefined : value)) as T;
}

/**
 * comparison writes a program that compiles only if the types that the formats room exports are those of
 * the schemas with the same titles.
 */
function comparison(generated: string): string {
  const room = ts.createSourceFile(
    'index.ts',
    ts.sys.readFile(join(project, 'src/formats/index.ts')) ?? '',
    99,
  );
  const exported = new Set<string>();
  room.forEachChild((node) => {
    if (ts.isExportDeclaration(node) && node.exportClause && ts.isNamedExports(node.exportClause)) {
      for (const element of node.exportClause.elements) exported.add(element.name.text);
    }
  });
  const titles = [...generated.matchAll(/^export (?:interface|type) (\w+)/gm)].map((match) => match[1] ?? '');
  const shared = titles.filter((title) => exported.has(title));
  if (shared.length < 10) throw new Error(`only ${shared.length} types to compare: ${shared.join(', ')}`);
  return [
    "import type * as schema from './generated.js';",
    `import type * as room from '${join(project, 'src/formats/index.js')}';`,
    'type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;',
    // A document may be read-only here, which says nothing about its JSON.
    'type Writable<T> = T extends object ? { -readonly [K in keyof T]: Writable<T[K]> } : T;',
    'type Alike<A, B> = true extends Same<A, B> ? true : Same<Writable<A>, Writable<B>>;',
    ...shared.map((title) => `export const ${title}: Alike<schema.${title}, room.${title}> = true;`),
  ].join('\n');
}

const folder = mkdtempSync(join(project, 'dist/schema-drift-'));
try {
  const generated = await compile(bundleSchemas() as JSONSchema, 'AnyArtifact', {
    additionalProperties: false,
    bannerComment: '',
    format: false,
    maxItems: 2,
    ignoreMinAndMaxItems: false,
    unreachableDefinitions: true,
  });
  writeFileSync(join(folder, 'generated.ts'), generated);
  writeFileSync(join(folder, 'compare.ts'), comparison(generated));
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(project, 'tsconfig.json'), ts.sys.readFile).config,
    ts.sys,
    project,
  );
  const program = ts.createProgram([join(folder, 'compare.ts')], { ...options, noEmit: true });
  const faults = ts.getPreEmitDiagnostics(program);
  for (const fault of faults) {
    const line = fault.file?.text.slice(0, fault.start).split('\n').length ?? 0;
    const source = fault.file?.text.split('\n')[line - 1] ?? '';
    process.stderr.write(`${source.trim()}\n  ${ts.flattenDiagnosticMessageText(fault.messageText, '\n')}\n`);
  }
  if (process.argv.includes('--show')) process.stdout.write(generated);
  if (faults.length > 0) process.exitCode = 1;
  else process.stdout.write('schemas and types agree\n');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
