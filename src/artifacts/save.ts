import { Buffer } from 'node:buffer';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { access, appendFile, constants, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import stringify from 'json-stringify-pretty-compact';
import {
  type ArtifactKind,
  type ArtifactTypes,
  errorFields,
  FORMAT_VERSION,
  fault,
  InputError,
  type InputFile,
  schemaId,
  type Tool,
} from '../formats/index.js';
import { removeLeftovers, temporaryBeside } from './leftovers.js';
import { wordsOf } from './read-file.js';
import { noteWritten, refuseReplacingRead } from './run-files.js';

/** thisTool gives name and version of this program, as emitted files carry them. */
export function thisTool(): Tool {
  const { name, version } = createRequire(import.meta.url)('#package') as Tool;
  return { name, version };
}

/** The versions of kinds that have gained fields since the first. */
const NEWER_VERSIONS: Partial<Record<ArtifactKind, string>> = {
  bundle: '1.3',
  comparison: '1.5',
  'gear-plan': '1.5',
  error: '1.1',
  'load-report': '1.8',
  'no-plan': '1.4',
  'pipeline-plan': '1.1',
  'plan-diff': '1.10',
  'pooled-plan': '1.2',
  profile: '1.4',
  run: '1.1',
  'scheduler-comparison': '1.1',
  'simulation-report': '1.5',
  validation: '1.2',
  verification: '1.4',
};

/**
 * emittedHead makes the head with which every emitted file begins: schema, kind, version, this program and `inputs`.
 */
export function emittedHead<K extends ArtifactKind>(
  kind: K,
  inputs: InputFile[],
): { $schema: string; kind: K; version: string; tool: Tool; inputs: InputFile[] } {
  return {
    $schema: schemaId(kind),
    kind,
    version: NEWER_VERSIONS[kind] ?? FORMAT_VERSION,
    tool: thisTool(),
    inputs,
  };
}

/** artifactText gives an artifact as the text of its file. */
export function artifactText<K extends ArtifactKind>(value: ArtifactTypes[K]): string {
  return jsonText(value);
}

/** jsonText writes JSON as our files have it: two spaces, short lists on one line, keys in the order they were made. */
export function jsonText(value: object): string {
  return `${stringify(value, { maxLength: 120 })}\n`;
}

/**
 * appendText adds text at the end of a file, which is made where there is none.
 * @throws InputError where it cannot be written; the disk's own error (ENOSPC, …) otherwise
 */
export async function appendText(path: string, text: string): Promise<void> {
  try {
    await appendFile(path, text);
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** WriteOptions says what else is meant by writing a file. */
export interface WriteOptions {
  /** isUpdate says whether the file was read in this run to be written again with more in it. */
  readonly isUpdate?: boolean;
}

/** saveArtifact writes an artifact as JSON, whole or not at all, without validating it. @throws as `writeWhole` does */
export async function saveArtifact<K extends ArtifactKind>(
  path: string,
  value: ArtifactTypes[K],
  options: WriteOptions = {},
): Promise<void> {
  await writeWhole(path, artifactText<K>(value), options);
}

/**
 * writeWhole writes a file whole or not at all: a temporary file beside it is flushed, then renamed. A link stays a
 * link, and the file that it leads to is written. Leftovers of a killed process are removed.
 * @throws InputError where the folder cannot be written, the path is a folder, a device or a pipe, or it leads to a file
 *   that was read in this run (`asOneRun`) and is not updated; the disk's own error (ENOSPC, …) otherwise
 */
export async function writeWhole(
  path: string,
  content: string | Uint8Array,
  { isUpdate = false }: WriteOptions = {},
): Promise<void> {
  const target = await targetOf(path);
  if (!isUpdate) await refuseReplacingRead(path, target);
  const temporary = temporaryBeside(target);
  try {
    await removeLeftovers(target);
    const file = await open(temporary, 'w');
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, target);
    noteWritten(target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw unwritable(path, error);
  }
}

/**
 * checkWritable checks whether `writeWhole` could write there, before long work whose result goes there. It writes
 * nothing, and an existing file is no fault.
 * @throws InputError where the folder is missing or cannot be written, or the path is a folder, a device or a pipe
 */
export async function checkWritable(path: string, { isUpdate = false }: WriteOptions = {}): Promise<void> {
  try {
    const target = await targetOf(path);
    if (!isUpdate) await refuseReplacingRead(path, target);
    await access(dirname(target), constants.W_OK);
  } catch (error) {
    throw unwritable(path, error);
  }
}

/** A path may lead to its file through at most this many links. */
const MOST_LINKS = 40;

/** A link of the system's, such as that of a terminal, leads to an open file; a file would take the link's place. */
const SYSTEM_LINK = /^\/(dev|proc)(\/|$)/;

/** targetOf finds the file to write, behind links. A file could replace a device or a pipe, but nobody means that. */
async function targetOf(path: string): Promise<string> {
  let target = path;
  for (let i = 0; i < MOST_LINKS; i++) {
    const link = await readlink(target).catch(() => undefined);
    if (link === undefined) break;
    const folder = await realpath(dirname(target));
    if (SYSTEM_LINK.test(folder)) throw notPlain(path);
    target = resolve(folder, link);
  }
  const found = await stat(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw unwritable(path, error);
  });
  if (found?.isDirectory() || /[/\\]$/.test(path))
    throw new InputError(`write ${path}`, [fault('it is a folder; name a file')]);
  if (found !== undefined && !found.isFile()) throw notPlain(path);
  return target;
}

function notPlain(path: string): InputError {
  return new InputError(`write ${path}`, [fault('it is no plain file, and would be replaced by one')]);
}

/**
 * unwritable turns the system's error about a path to be written into an InputError for the person who named it. It
 * returns other errors as they are, with `path` set where the disk is full, and throws none.
 */
export function unwritable(path: string, error: unknown): unknown {
  const { code } = errorFields(error);
  switch (code) {
    case 'ENOENT':
      return new InputError(`write ${path}`, [
        fault(
          existsSync(dirname(path))
            ? `no file can be made in ${dirname(path)}`
            : `there is no folder ${dirname(path)}`,
        ),
      ]);
    case 'EISDIR':
      return new InputError(`write ${path}`, [fault('it is a folder')]);
    case 'ENOTDIR':
      return new InputError(`write ${path}`, [fault(`${dirname(path)} is not a folder`)]);
    case 'EACCES':
    case 'EPERM':
      return new InputError(`write ${path}`, [fault('permission denied')]);
    case 'EROFS':
      return new InputError(`write ${path}`, [fault('the file system is read-only')]);
    case 'ENAMETOOLONG':
    case 'ELOOP':
    case 'ERR_INVALID_ARG_VALUE':
      return new InputError(`write ${path}`, [fault(wordsOf(code) as string)]);
    case 'ENOSPC':
    case 'EDQUOT':
      // Only the call that opens a file names it, and it names the temporary one.
      return Object.assign(error as Error, { path });
    default:
      return error;
  }
}

/**
 * StreamedFile is a file written piece by piece that appears whole or not at all. Pieces go to a temporary file beside
 * it, and `finish` renames that. It is synchronous, for threads of their own.
 */
export class StreamedFile {
  /** The bytes of UTF-8 written so far. */
  bytes = 0;
  private readonly temporary: string;
  private descriptor: number | undefined;

  private constructor(private readonly path: string) {
    this.temporary = temporaryBeside(path);
    try {
      this.descriptor = openSync(this.temporary, 'w');
    } catch (error) {
      throw unwritable(path, error);
    }
  }

  /**
   * open begins the temporary file, after removing leftovers of killed processes.
   * @throws InputError where the folder cannot be written, or the path is a folder, a device or a pipe, or leads to a file
   *   that was read in this run
   */
  static async open(path: string): Promise<StreamedFile> {
    const target = await targetOf(path);
    await refuseReplacingRead(path, target);
    noteWritten(target);
    await removeLeftovers(target);
    return new StreamedFile(target);
  }

  /** @throws the disk's own error (ENOSPC, …); the caller then calls `discard` */
  write(text: string): void {
    const bytes = Buffer.from(text, 'utf8');
    try {
      for (let at = 0; at < bytes.length; )
        at += writeSync(this.descriptor as number, bytes, at, bytes.length - at);
    } catch (error) {
      throw unwritable(this.path, error);
    }
    this.bytes += bytes.length;
  }

  /**
   * finish flushes the pieces and puts the file in its place.
   * @throws the disk's own error (ENOSPC, …); the file is then as it was before, and the pieces are gone
   */
  finish(): void {
    try {
      fsyncSync(this.descriptor as number);
      this.close();
      renameSync(this.temporary, this.path);
    } catch (error) {
      this.discard();
      throw unwritable(this.path, error);
    }
  }

  /** Drops the pieces and leaves the earlier file as it was. */
  discard(): void {
    this.close();
    rmSync(this.temporary, { force: true });
  }

  private close(): void {
    if (this.descriptor !== undefined) closeSync(this.descriptor);
    this.descriptor = undefined;
  }
}
