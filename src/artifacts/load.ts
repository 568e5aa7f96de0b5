import type { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { sha256Of } from './digest.js';
import { type Fault, fault, InputError, MissingError } from './errors.js';
import { schemaFaults } from './faults.js';
import { ARTIFACT_KINDS, type ArtifactKind, type ArtifactTypes, validatorOf } from './schemas.js';
import { decodedText } from './text.js';

/** Loaded is a file of one of the wanted kinds, with its path and the digest of its bytes. */
export type Loaded<K extends ArtifactKind> = {
  [Kind in K]: { kind: Kind; value: ArtifactTypes[Kind]; path: string; sha256: string };
}[K];

/** No larger file is read as an artifact, because V8 could not hold its text as one string. */
const MOST_BYTES = 512 * 1024 * 1024;

const SUPPORTED_MAJOR = 1;

/**
 * loadArtifact reads and validates an artifact or a spec.
 * @param path the file, in UTF-8; JSON, or YAML when it ends in .yaml or .yml
 * @throws MissingError when there is no such file, InputError with every fault of the file
 */
export async function loadArtifact<K extends ArtifactKind>(
  path: string,
  kinds: readonly K[],
): Promise<Loaded<K>> {
  const bytes = await readBytes(path);
  const { kind, value } = parseArtifact(decodedText(bytes, path), path, kinds);
  return { kind, value, path, sha256: sha256Of(bytes) } as Loaded<K>;
}

/**
 * parseArtifact parses and validates the text of an artifact.
 * @param path quoted in faults; it decides between JSON and YAML
 */
export function parseArtifact<K extends ArtifactKind>(
  text: string,
  path: string,
  kinds: readonly K[],
): { kind: K; value: ArtifactTypes[K] } {
  const task = `read ${path}`;
  const value = parseText(text, path);
  const kind = kindOf(value, kinds, task);
  const versionFaults = checkVersion(value as { version?: unknown });
  if (versionFaults.length > 0) throw new InputError(task, versionFaults);
  const validate = validatorOf(kind);
  if (!validate(value)) throw new InputError(task, schemaFaults(validate.errors ?? []));
  const numbers = notFinite(value);
  if (numbers.length > 0) throw new InputError(task, numbers);
  return { kind, value: value as ArtifactTypes[K] };
}

async function readBytes(path: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw unreadable(path, error);
  }
  if (bytes.length > MOST_BYTES) {
    throw new InputError(`read ${path}`, [
      fault(`it has ${bytes.length} bytes; at most ${MOST_BYTES} are read`),
    ]);
  }
  return bytes;
}

/** unreadable turns the system's error about a file that a person named into one with advice; others pass through. */
export function unreadable(path: string, error: unknown): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return new MissingError(`read ${path}`, [fault('there is no such file')]);
    case 'EISDIR':
      return new InputError(`read ${path}`, [fault('it is a folder, not a file')]);
    case 'ELOOP':
      return new InputError(`read ${path}`, [fault('it is a symbolic link that leads back to itself')]);
    case 'EACCES':
      return new InputError(`read ${path}`, [fault('permission denied')]);
    case 'ERR_FS_FILE_TOO_LARGE':
      return new InputError(`read ${path}`, [fault('the file is larger than 2 GiB')]);
    default:
      return error;
  }
}

function parseText(text: string, path: string): unknown {
  if (text.trim() === '') throw new InputError(`read ${path}`, [fault('the file is empty')]);
  return /\.ya?ml$/i.test(path) ? parseYaml(text, path) : parseJson(text, path);
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InputError(`read ${path}`, [fault(`it is not JSON: ${(error as Error).message}`)]);
  }
}

function parseYaml(text: string, path: string): unknown {
  const { parseDocument } = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  const document = parseDocument(text, { prettyErrors: true });
  if (document.errors.length > 0) {
    const faults = document.errors.map((error) => fault(error.message.split('\n')[0] ?? error.message));
    throw new InputError(`read ${path}`, faults);
  }
  return document.toJS({ maxAliasCount: 100 });
}

function kindOf<K extends ArtifactKind>(value: unknown, kinds: readonly K[], task: string): K {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InputError(task, [
      fault(`it holds ${Array.isArray(value) ? 'a list' : typeof value}, not an object`),
    ]);
  }
  const kind = (value as { kind?: unknown }).kind;
  const only = kinds.length === 1 ? kinds[0] : undefined;
  if (kind === undefined && only === 'cluster') return only;
  const found = kinds.find((wanted) => wanted === kind);
  if (found !== undefined) return found;
  const wanted = kinds.map((k) => JSON.stringify(k)).join(' or ');
  const known = (ARTIFACT_KINDS as readonly unknown[]).includes(kind);
  const said = kind === undefined ? 'it has no "kind"' : `its kind is ${JSON.stringify(kind)}`;
  throw new InputError(task, [
    fault(`${said}; ${known ? 'here' : 'valid here'} ${wanted} is needed`, '/kind'),
  ]);
}

function checkVersion(value: { version?: unknown }): Fault[] {
  if (typeof value.version !== 'string') return [];
  const major = Number(value.version.split('.')[0]);
  if (Number.isNaN(major) || major === SUPPORTED_MAJOR) return [];
  return [
    fault(
      `format version ${value.version} is not known; this program reads ${SUPPORTED_MAJOR}.x`,
      '/version',
    ),
  ];
}

/**
 * notFinite finds infinite numbers and .nan: YAML can say .nan and .inf, JSON 1e999, and no field of ours means them.
 */
function notFinite(value: unknown, path = ''): Fault[] {
  if (typeof value === 'number')
    return Number.isFinite(value) ? [] : [fault(`is ${value}, not a finite number`, path)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => notFinite(part, `${path}/${key}`));
}
