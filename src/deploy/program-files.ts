import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { partFault, readWhole, sha256OfFile } from '../artifacts/index.js';
import { type BundledProgram, type BundleFile, type Fault, fault, InputError } from '../formats/index.js';

/** Modules whose imports are looked at. */
const MODULES = ['.js', '.mjs', '.cjs'];
/** The files that a module imports: `from './x.js'`, `import './x.js'` or `import('./x.js')`. */
const IMPORTS = /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])(\.{1,2}\/[^'"\n]+)\1/g;
/** A program of more files is no program. */
const MOST_FILES = 256;

/** ProgramToWrite is the program of a workflow, by the path of its module. */
export interface ProgramToWrite {
  readonly workflow: string;
  readonly path: string;
}

/**
 * writeProgram copies the module of a program into a folder of a bundle, with all files of its own folder that it imports.
 * @param at the folder for its files, relative to the bundle's
 * @throws InputError with every file that it imports and that is missing or lies outside of its folder
 */
export async function writeProgram(
  folder: string,
  at: string,
  { workflow, path }: ProgramToWrite,
): Promise<BundledProgram> {
  const from = dirname(path);
  const files = await importedFiles(path);
  const written: BundleFile[] = [];
  for (const file of files) {
    const to = join(at, relative(from, file));
    await mkdir(join(folder, dirname(to)), { recursive: true });
    await copyFile(file, join(folder, to));
    written.push({ path: to, sha256: await sha256OfFile(join(folder, to)) });
  }
  const [module, ...modules] = written as [BundleFile, ...BundleFile[]];
  return { workflow, file: module.path, sha256: module.sha256, ...(modules.length === 0 ? {} : { modules }) };
}

/**
 * importedFiles lists a module and the files of its folder that it imports, itself or by others. Imports by
 * other names, such as packages, are left out.
 * @throws InputError with every file that is missing or lies outside of the module's folder
 */
export async function importedFiles(path: string): Promise<string[]> {
  const folder = dirname(path);
  const files = [resolve(path)];
  const faults: Fault[] = [];
  for (const file of files) {
    if (!MODULES.includes(extname(file))) continue;
    const text = (await readWhole(file)).toString('utf8');
    for (const [, , name] of text.matchAll(IMPORTS)) {
      const imported = resolve(dirname(file), name as string);
      if (files.includes(imported)) continue;
      const wrong = await partFault(folder, relative(folder, imported));
      if (wrong !== undefined) faults.push(fault(`imports ${name}: ${wrong.message}`, file));
      else files.push(imported);
    }
    if (files.length > MOST_FILES) faults.push(fault(`imports more than ${MOST_FILES} files`, path));
    if (faults.length > 0) break;
  }
  if (faults.length > 0)
    throw new InputError(
      `deploy the program ${path}`,
      faults,
      'A program may import files of its own folder, and of those below it.',
    );
  return files;
}
