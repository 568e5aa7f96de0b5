import { createRequire } from 'node:module';
import type { Document, LineCounter, Node, YAMLParseError } from 'yaml';
import { atOnce, pushAll, type Steps } from '../collections/index.js';
import { sha256Of } from './digest.js';
import { type Fault, fault, firstFaults, InputError } from './errors.js';
import { type PointedFault, pointedFaults } from './faults.js';
import { policyFileFaults } from './policy-choices.js';
import type { Profile } from './profile.js';
import { readProfileFaults } from './profile-contradictions.js';
import { profileSizeFaults } from './profile-sizes.js';
import { readWhole } from './read-file.js';
import { heard, noteNamed } from './run-files.js';
import { restOf, SchemaError } from './schema-error.js';
import { ARTIFACT_KINDS, type ArtifactKind, type ArtifactTypes, validatorOf } from './schemas.js';
import { shown } from './shown.js';
import { didYouMean } from './similar.js';
import { isYamlPath } from './stdin.js';
import { decodedText } from './text.js';
import { MOST_TEXT_LEVELS, refuseLargeJson, refuseLargeYaml, TOO_DEEP } from './text-bounds.js';
import { placedFaults } from './text-places.js';
import { ToldFaults } from './told-faults.js';
import { yamlWords } from './yaml-words.js';

/** Loaded is a file of one of the wanted kinds, with its path and the digest of its bytes. */
export type Loaded<K extends ArtifactKind> = {
  [Kind in K]: { kind: Kind; value: ArtifactTypes[Kind]; path: string; sha256: string };
}[K];

/** A file of as many values as are read, with names and spaces between them, is smaller. */
export const MOST_BYTES = 64 * 1024 * 1024;
/** A file of so few bytes is parsed in one piece, also by a run that was interrupted and tells what it has. */
const AT_ONCE_BYTES = 1024 * 1024;

const SUPPORTED_MAJOR = 1;

const BYTE_ORDER_MARK = '\uFEFF';
const NO_NUMBER = 'is not a number';
const NOT_FINITE = 'is not a finite number; the largest is about 1.8e308';

/** A short YAML text with anchors can stand for more values than memory holds. */
const MOST_ALIASES = 100;

/**
 * loadArtifact reads and validates an artifact or a spec.
 * @param path the file, in UTF-8, of at most 64 MiB; JSON, or YAML when it ends in .yaml or .yml
 * @param kinds the kinds that are allowed; a cluster needs no `kind` where it is the only one
 * @throws MissingError when there is no such file; InputError with the faults of the file (the first 20), also where it
 *   is of another kind
 */
export async function loadArtifact<K extends ArtifactKind>(
  path: string,
  kinds: readonly K[],
): Promise<Loaded<K>> {
  const bytes = await readWhole(path, MOST_BYTES);
  const steps = parsing(decodedText(bytes, path), path, kinds);
  const { kind, value } = bytes.length <= AT_ONCE_BYTES ? atOnce(steps) : await heard(steps);
  await noteNamed(path, value);
  return { kind, value, path, sha256: sha256Of(bytes) } as Loaded<K>;
}

/**
 * parseArtifact parses and validates the text of an artifact, as `loadArtifact` does.
 * @param path quoted in faults; the text is YAML where it ends in .yaml or .yml, and JSON otherwise
 * @throws InputError with the faults of the text (the first 20): of its syntax, else of its kind, else of its version,
 *   else of its schema
 */
export function parseArtifact<K extends ArtifactKind>(
  text: string,
  path: string,
  kinds: readonly K[],
): { kind: K; value: ArtifactTypes[K] } {
  return atOnce(parsing(text, path, kinds));
}

/** parsing does what `parseArtifact` does. A file of as many values as are read takes some hundred milliseconds for a piece. */
function* parsing<K extends ArtifactKind>(
  text: string,
  path: string,
  kinds: readonly K[],
): Steps<{ kind: K; value: ArtifactTypes[K] }> {
  const task = `read ${path}`;
  yield;
  const value = yield* parseText(text, path);
  yield;
  const wrong = valueFaults(value);
  yield;
  if (wrong.length > 0) throw new InputError(task, placedFaults(wrong, text, isYamlPath(path)));
  const kind = kindOf(value, kinds, task);
  const versionFaults = checkVersion(value as { version?: unknown });
  if (versionFaults.length > 0) throw new InputError(task, versionFaults);
  const faults = yield* kindFaults(kind, value);
  if (faults.length > 0)
    throw new SchemaError(task, placedFaults(faults, text, isYamlPath(path)), {
      kind,
      rest: restOf(kind, value, faults),
    });
  yield;
  return { kind, value: value as ArtifactTypes[K] };
}

function* kindFaults(kind: ArtifactKind, value: unknown): Steps<PointedFault[]> {
  if (kind === 'policy') return policyFileFaults(value as Record<string, unknown>);
  const validate = validatorOf(kind);
  if (!validate(value)) return pointedFaults(validate);
  if (kind !== 'profile') return [];
  yield;
  const sizes = firstFaults(profileSizeFaults(value as Profile));
  yield;
  return sizes.length > 0 ? sizes : readProfileFaults(value as Profile);
}

function* parseText(text: string, path: string): Steps<unknown> {
  if (text.trim() === '') throw new InputError(`read ${path}`, [fault('the file is empty')]);
  if (isYamlPath(path)) return yield* parseYaml(text, path);
  refuseLargeJson(text, `read ${path}`);
  yield;
  return parseJson(text, path);
}

function parseJson(text: string, path: string): unknown {
  const bare = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  try {
    return JSON.parse(bare);
  } catch (error) {
    throw new InputError(`read ${path}`, [
      fault(`it is not JSON: ${(error as Error).message}${placeIn(bare, error)}`),
    ]);
  }
}

/** placeIn gives the line and the column of an error in a text of JSON, where the error tells its place by letters. */
function placeIn(text: string, error: unknown): string {
  const at = / at position (\d+)/.exec((error as Error).message)?.[1];
  if (at === undefined || /line \d+ column/.test((error as Error).message)) return '';
  const before = text.slice(0, Number(at)).split('\n');
  return ` at line ${before.length}, column ${(before.at(-1) as string).length + 1}`;
}

function* parseYaml(text: string, path: string): Steps<unknown> {
  refuseLargeYaml(text, `read ${path}`);
  yield;
  const yaml = createRequire(import.meta.url)('yaml') as typeof import('yaml');
  try {
    // The library compares each key with all others of its map; contentFaults does it in one pass. It also writes out
    // the line of every error, which takes seconds where thousands are on one long line.
    const lineCounter = new yaml.LineCounter();
    const document = yaml.parseDocument(text, {
      prettyErrors: false,
      uniqueKeys: false,
      lineCounter,
      merge: true,
    });
    yield;
    const faults = document.errors.map((error) => yamlFault(error, lineCounter));
    pushAll(faults, contentFaults(document, lineCounter, yaml));
    if (faults.length > 0) throw new InputError(`read ${path}`, faults);
    yield;
    return document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (error) {
    const why = yamlRefusal(error);
    if (why === undefined) throw error;
    throw new InputError(`read ${path}`, [fault(why)]);
  }
}

function yamlFault({ message, code, pos: [from] }: YAMLParseError, lines: LineCounter): Fault {
  if (message.startsWith('Maximum call stack')) return fault(TOO_DEEP);
  const words = yamlWords(code);
  if (from < 0) return fault(words);
  const { line, col } = lines.linePos(from);
  return fault(`${words} at line ${line}, column ${col}`);
}

/** yamlRefusal says why the library could not make a value of a text: too many aliases, or too deep for its stack. */
function yamlRefusal(error: unknown): string | undefined {
  if (error instanceof RangeError) return TOO_DEEP;
  if ((error as Error).message.startsWith('Merge sources'))
    return 'a key << merges what is no map, nor an alias of one';
  if (error instanceof ReferenceError)
    return 'its anchors cannot be followed: an alias names none, or they stand for too many values';
  return undefined;
}

/**
 * contentFaults finds keys that are given twice in one map, and refuses many aliases: the library looks through the
 * whole text for each.
 */
function contentFaults(document: Document.Parsed, lines: LineCounter, yaml: typeof import('yaml')): Fault[] {
  const faults: Fault[] = [];
  let aliases = 0;
  const at = (node: unknown): string => {
    const { line, col } = lines.linePos((node as Node).range?.[0] ?? 0);
    return `line ${line}, column ${col}`;
  };
  const anchors = new Set<string>();
  const anchored = ({ anchor }: { readonly anchor?: string }): void => {
    if (anchor !== undefined) anchors.add(anchor);
  };
  yaml.visit(document, {
    Alias(_, alias) {
      aliases += 1;
      if (!anchors.has(alias.source))
        faults.push(fault(`no anchor &${alias.source} stands before its alias`, at(alias)));
    },
    Scalar: (_, scalar) => anchored(scalar),
    Seq: (_, list) => anchored(list),
    Map(_, map) {
      anchored(map);
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (yaml.isCollection(key))
          faults.push(fault('a list or a map is given as a key; keys are texts', at(key)));
        const name = yaml.isScalar(key) ? key.value : key;
        if (seen.has(name)) faults.push(fault(`the key ${shown(name)} is given twice in one map`, at(key)));
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

/** Place is where a value is: its key in the value that holds it. */
interface Place {
  readonly key: string;
  readonly within: Place | undefined;
}

/**
 * valueFaults finds values that no file may hold: numbers that are not finite (YAML can write .nan and .inf, JSON
 * 1e999), and nesting without end (a YAML anchor may hold itself).
 */
function valueFaults(value: unknown): Fault[] {
  const told = new ToldFaults();
  let tooDeep = false;
  const look = (value: unknown, place: Place | undefined, levels: number): void => {
    if (typeof value === 'number' && !Number.isFinite(value))
      told.add(fault(Number.isNaN(value) ? NO_NUMBER : NOT_FINITE, pathOf(place)));
    if (typeof value !== 'object' || value === null || tooDeep) return;
    if (levels === MOST_TEXT_LEVELS) tooDeep = true;
    else for (const [key, part] of Object.entries(value)) look(part, { key, within: place }, levels + 1);
  };
  look(value, undefined, 0);
  return tooDeep ? [fault(TOO_DEEP)] : told.all();
}

function pathOf(place: Place | undefined): string {
  return place === undefined ? '' : `${pathOf(place.within)}/${place.key}`;
}
