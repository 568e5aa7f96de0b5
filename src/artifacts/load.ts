import { createRequire } from 'node:module';
import type { Document, LineCounter, Node, YAMLParseError } from 'yaml';
import { sha256Of } from './digest.js';
import { type Fault, fault, InputError } from './errors.js';
import { firstFaults, schemaFaults } from './faults.js';
import { shown } from './kind-faults.js';
import { policyFileFaults } from './policy-choices.js';
import { readWhole } from './read-file.js';
import { ARTIFACT_KINDS, type ArtifactKind, type ArtifactTypes, validatorOf } from './schemas.js';
import { didYouMean } from './similar.js';
import { decodedText } from './text.js';

/** Loaded is a file of one of the wanted kinds, with its path and the digest of its bytes. */
export type Loaded<K extends ArtifactKind> = {
  [Kind in K]: { kind: Kind; value: ArtifactTypes[Kind]; path: string; sha256: string };
}[K];

/** No larger file is read as an artifact, because V8 could not hold its text as one string. */
const MOST_BYTES = 512 * 1024 * 1024;

const SUPPORTED_MAJOR = 1;

/** This is far deeper than any field of the schemas. */
const MOST_LEVELS = 64;
const TOO_DEEP = `it is nested more than ${MOST_LEVELS} levels deep`;
/** A short YAML text with anchors can stand for more values than memory holds. */
const MOST_ALIASES = 100;

/**
 * loadArtifact reads and validates an artifact or a spec.
 * @param path the file, in UTF-8, of at most 512 MiB; JSON, or YAML when it ends in .yaml or .yml
 * @param kinds the kinds that are allowed; a cluster needs no `kind` where it is the only one
 * @throws MissingError when there is no such file; InputError with the faults of the file (the first 50), also where it
 *   is of another kind
 */
export async function loadArtifact<K extends ArtifactKind>(
  path: string,
  kinds: readonly K[],
): Promise<Loaded<K>> {
  const bytes = await readWhole(path, MOST_BYTES);
  const { kind, value } = parseArtifact(decodedText(bytes, path), path, kinds);
  return { kind, value, path, sha256: sha256Of(bytes) } as Loaded<K>;
}

/**
 * parseArtifact parses and validates the text of an artifact, as `loadArtifact` does.
 * @param path quoted in faults; the text is YAML where it ends in .yaml or .yml, and JSON otherwise
 * @throws InputError with the faults of the text (the first 50): of its syntax, else of its kind, else of its version,
 *   else of its schema
 */
export function parseArtifact<K extends ArtifactKind>(
  text: string,
  path: string,
  kinds: readonly K[],
): { kind: K; value: ArtifactTypes[K] } {
  const task = `read ${path}`;
  const value = parseText(text, path);
  const wrong = valueFaults(value);
  if (wrong.length > 0) throw new InputError(task, firstFaults(wrong));
  const kind = kindOf(value, kinds, task);
  const versionFaults = checkVersion(value as { version?: unknown });
  if (versionFaults.length > 0) throw new InputError(task, versionFaults);
  const faults = kindFaults(kind, value);
  if (faults.length > 0) throw new InputError(task, faults);
  return { kind, value: value as ArtifactTypes[K] };
}

function kindFaults(kind: ArtifactKind, value: unknown): Fault[] {
  if (kind === 'policy') return policyFileFaults(value as Record<string, unknown>);
  const validate = validatorOf(kind);
  return validate(value) ? [] : schemaFaults(validate);
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
  const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  try {
    // The library compares each key with all others of its map; contentFaults does it in one pass. It also writes out
    // the line of every error, which takes seconds where thousands are on one long line.
    const lineCounter = new yaml.LineCounter();
    const document = yaml.parseDocument(text, { prettyErrors: false, uniqueKeys: false, lineCounter });
    const faults = document.errors.map((error) => yamlFault(error, lineCounter));
    faults.push(...contentFaults(document, lineCounter, yaml));
    if (faults.length > 0) throw new InputError(`read ${path}`, firstFaults(faults));
    return document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (error) {
    const why = yamlRefusal(error);
    if (why === undefined) throw error;
    throw new InputError(`read ${path}`, [fault(why)]);
  }
}

function yamlFault({ message, pos: [from] }: YAMLParseError, lines: LineCounter): Fault {
  if (message.startsWith('Maximum call stack')) return fault(TOO_DEEP);
  const words = message.split('\n')[0]!;
  if (from < 0) return fault(words);
  const { line, col } = lines.linePos(from);
  return fault(`${words} at line ${line}, column ${col}`);
}

/** yamlRefusal says why the library could not make a value of a text: too many aliases, or too deep for its stack. */
function yamlRefusal(error: unknown): string | undefined {
  if (error instanceof RangeError) return TOO_DEEP;
  if (error instanceof ReferenceError) return `its anchors cannot be followed: ${error.message}`;
  return undefined;
}

/**
 * contentFaults finds keys that are given twice in one map, and refuses many aliases: the library looks through the
 * whole text for each.
 */
function contentFaults(document: Document.Parsed, lines: LineCounter, yaml: typeof import('yaml')): Fault[] {
  const faults: Fault[] = [];
  let aliases = 0;
  yaml.visit(document, {
    Alias() {
      aliases += 1;
    },
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const name = yaml.isScalar(key) ? key.value : key;
        if (seen.has(name)) {
          const { line } = lines.linePos((key as Node).range?.[0] ?? 0);
          faults.push(fault(`the key ${JSON.stringify(name)} is given twice in one map`, `line ${line}`));
        }
        seen.add(name);
      }
    },
  });
  if (aliases > MOST_ALIASES)
    faults.push(fault(`it has ${aliases} aliases; give at most ${MOST_ALIASES}, or write out the values`));
  return faults;
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
  const unknown = known ? '' : ', which is no kind of file';
  const said = kind === undefined ? 'it has no "kind"' : `its kind is ${shown(kind)}${unknown}`;
  const near = known || typeof kind !== 'string' ? '' : didYouMean(kind, kinds);
  throw new InputError(task, [fault(`${said}; ${wanted} is needed here${near}`, '/kind')]);
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
 * valueFaults finds values that no file may hold: numbers that are not finite (YAML can write .nan and .inf, JSON
 * 1e999), and nesting without end (a YAML anchor may hold itself).
 */
function valueFaults(value: unknown): Fault[] {
  const faults: Fault[] = [];
  const left: { value: unknown; path: string; levels: number }[] = [{ value, path: '', levels: 0 }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { value, path, levels } = next;
    if (typeof value === 'number' && !Number.isFinite(value))
      faults.push(fault(`is ${value}, not a finite number`, path));
    if (typeof value !== 'object' || value === null) continue;
    if (levels === MOST_LEVELS) return [fault(TOO_DEEP)];
    for (const [key, part] of Object.entries(value))
      left.push({ value: part, path: `${path}/${key}`, levels: levels + 1 });
  }
  return faults.reverse();
}
