import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

/** Overlay holds files with the text that they are to have, by their paths in the project. */
export type Overlay = ReadonlyMap<string, string>;

/** Compiled is a program of the sources of a project, and what reads its files. */
export interface Compiled {
  readonly program: ts.Program;
  readonly project: string;
}

/**
 * compiled type-checks nothing yet: it makes the program of the sources below `src`, as the project's own configuration has
 * it, with some files replaced.
 * @param before a program of the same project, of which unchanged files are taken over
 */
export function compiled(project: string, overlay: Overlay = new Map(), before?: Compiled): Compiled {
  const { config } = ts.readConfigFile(join(project, 'tsconfig.json'), ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, project);
  const roots = fileNames.filter((name) => relative(project, name).startsWith('src/'));
  const host = ts.createCompilerHost({ ...options, noEmit: true });
  const parse = host.getSourceFile;
  host.getSourceFile = (name, target, ...rest) => {
    const text = overlay.get(relative(project, name));
    if (text !== undefined) return ts.createSourceFile(name, text, target, true);
    return before?.program.getSourceFile(name) ?? parse(name, target, ...rest);
  };
  return {
    program: ts.createProgram(roots, { ...options, noEmit: true, incremental: false }, host),
    project,
  };
}

/**
 * faultyFiles lists the files in which a program has errors of types, by their paths in the project, each with the first.
 * @throws Error where a file cannot even be read as TypeScript, which says nothing of its types
 */
export function faultyFiles({ program, project }: Compiled): Map<string, string> {
  const files = new Map<string, string>();
  const [broken] = program.getSyntacticDiagnostics();
  if (broken !== undefined)
    throw new Error(
      `Cannot read ${broken.file.fileName}: ${ts.flattenDiagnosticMessageText(broken.messageText, ' ')}`,
    );
  for (const { file, start = 0, messageText } of program.getSemanticDiagnostics()) {
    if (file === undefined) continue;
    const path = relative(project, file.fileName);
    const line = file.getLineAndCharacterOfPosition(start).line + 1;
    if (!files.has(path)) files.set(path, `${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
  }
  return files;
}

/** textOf reads a file of a project. */
export function textOf(project: string, path: string): string {
  return readFileSync(join(project, path), 'utf8');
}
