import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import ts from 'typescript';
import { type FunctionFacts, functionsOf } from './functions.js';

/** Source is a TypeScript file of the project, read into a syntax tree. */
export interface Source {
  /** The path from the project's root, with slashes. */
  readonly path: string;
  readonly tree: ts.SourceFile;
  readonly functions: readonly FunctionFacts[];
}

/** sourcesIn reads all TypeScript files of folders of the project, in the order of their paths. */
export function sourcesIn(project: string, folders: readonly string[]): Source[] {
  return folders
    .flatMap((folder) => readdirSync(join(project, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(project, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
    .map((path) => sourceOf(path, readFileSync(join(project, path), 'utf8')));
}

/** sourceOf makes a source of a text. */
export function sourceOf(path: string, text: string): Source {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return { path, tree, functions: functionsOf(tree) };
}
