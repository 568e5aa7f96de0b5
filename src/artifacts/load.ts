import { atOnce, type Steps } from '../collections/index.js';
import {
  ARTIFACT_KINDS,
  type ArtifactKind,
  type ArtifactTypes,
  didYouMean,
  type Fault,
  fault,
  firstFaults,
  InputError,
  type Loaded,
  MOST_TEXT_LEVELS,
  type Profile,
  profileSizeFaults,
  type Run,
  readProfileFaults,
  selfAliasFaults,
  sha256Of,
  shown,
  TOO_DEEP,
  ToldFaults,
  taskOrderFaults,
} from '../formats/index.js';
import { bareFaults, type PointedFault, pointedFaults } from './faults.js';
import { listLimitFaults } from './list-limits.js';
import { parseJsonText } from './parse-json.js';
import { type ParsedText, parseYamlText } from './parse-yaml.js';
import { policyFileFaults } from './policy-choices.js';
import { readWhole } from './read-file.js';
import { heard, noteNamed } from './run-files.js';
import { SchemaError } from './schema-error.js';
import { validatorOf } from './schemas.js';
import { restsOf } from './stand-ins.js';
import { isYamlPath } from './stdin.js';
import { decodedText } from './text.js';
import { placedFaults } from './text-places.js';

/** A file of as many values as are read, with names and spaces between them, is smaller. */
export const MOST_BYTES = 64 * 1024 * 1024;
/** A file of so few bytes is parsed in one piece, also by a run that was interrupted and reports what it has. */
const AT_ONCE_BYTES = 1024 * 1024;

const SUPPORTED_MAJOR = 1;

const NO_NUMBER = 'is not a number';
const NOT_FINITE = 'is not a finite number; the largest is about 1.8e308';

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
 *   else of lists that are too long, else of its schema
 */
export function parseArtifact<K extends ArtifactKind>(
  text: string,
  path: string,
  kinds: readonly K[],
): { kind: K; value: ArtifactTypes[K] } {
  return atOnce(parsing(text, path, kinds));
}

/**
 * parseJsonLine parses and validates a line of a file that has one artifact on each, as `parseArtifact` does.
 * @param line the number of the line, for faults of its syntax
 * @throws InputError with the faults of the line alone, as `parseArtifact` does
 */
export function parseJsonLine<K extends ArtifactKind>(
  text: string,
  { path, line, kinds }: { readonly path: string; readonly line: number; readonly kinds: readonly K[] },
): ArtifactTypes[K] {
  const steps = validated(parseJsonText(text, path, line), {
    task: `read ${path}`,
    kinds,
    place: bareFaults,
  });
  return atOnce(steps).value;
}

/** parsing does what `parseArtifact` does. A file of as many values as are read takes some hundred milliseconds for a piece. */
function* parsing<K extends ArtifactKind>(
  text: string,
  path: string,
  kinds: readonly K[],
): Steps<{ kind: K; value: ArtifactTypes[K] }> {
  yield;
  return yield* validated(parseText(text, path), {
    task: `read ${path}`,
    kinds,
    place: (all) => (isYamlPath(path) ? placedFaults(all, text) : bareFaults(all)),
  });
}

/** Wanted says what a text may hold, and how its faults are reported. */
interface Wanted<K extends ArtifactKind> {
  readonly task: string;
  readonly kinds: readonly K[];
  readonly place: (faults: readonly PointedFault[]) => Fault[];
}

function* validated<K extends ArtifactKind>(
  reading: Steps<ParsedText>,
  { task, kinds, place }: Wanted<K>,
): Steps<{ kind: K; value: ArtifactTypes[K] }> {
  const { value, faults: read } = yield* reading;
  yield;
  const { wrong, tooDeep } = valueFaults(value);
  yield;
  if (tooDeep) throw new InputError(task, [fault(TOO_DEEP)]);
  const own = [...read, ...wrong];
  const kind = kindOf(value, kinds);
  const unknown = typeof kind === 'string' ? checkVersion(value as { version?: unknown }) : [kind];
  if (typeof kind !== 'string' || unknown.length > 0) throw new InputError(task, [...place(own), ...unknown]);
  const tooLong = listLimitFaults(kind, value as object);
  if (tooLong.length > 0) throw new InputError(task, place(tooLong));
  const told = new Set(own.map((one) => one.path));
  const faults = [...own, ...(yield* kindFaults(kind, value)).filter((one) => !told.has(one.path))];
  if (faults.length > 0)
    throw new SchemaError(task, place(faults), { kind, rests: () => restsOf(kind, value, faults) });
  yield;
  return { kind, value: value as ArtifactTypes[K] };
}

function* kindFaults(kind: ArtifactKind, value: unknown): Steps<PointedFault[]> {
  if (kind === 'policy') return policyFileFaults(value as Record<string, unknown>);
  const validate = validatorOf(kind);
  if (!validate(value)) return [...pointedFaults(validate), ...classFaults(kind, value)];
  if (kind === 'run') return firstFaults(taskOrderFaults(value as Run));
  if (kind !== 'profile') return classFaults(kind, value);
  yield;
  const sizes = firstFaults(profileSizeFaults(value as Profile));
  yield;
  return sizes.length > 0 ? sizes : readProfileFaults(value as Profile);
}

/** classFaults finds what is wrong with the classes of a cluster, or of that in a spec or plan, which no schema can say. */
function classFaults(kind: ArtifactKind, value: unknown): Fault[] {
  if (kind === 'cluster') return selfAliasFaults(value, '');
  return selfAliasFaults((value as { readonly cluster?: unknown }).cluster, '/cluster');
}

function* parseText(text: string, path: string): Steps<ParsedText> {
  if (text.trim() === '') throw new InputError(`read ${path}`, [fault('the file is empty')]);
  return yield* isYamlPath(path) ? parseYamlText(text, path) : parseJsonText(text, path);
}

/** kindOf gives the kind of a file's value, or says why it is none of those that are wanted. */
function kindOf<K extends ArtifactKind>(value: unknown, kinds: readonly K[]): K | Fault {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return fault(
      `it holds ${value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value}, not an object`,
    );
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
  const isPlan = kinds.some((one) => one.endsWith('-plan'));
  const made = known && isPlan ? ', which plan solve makes of a spec' : '';
  return fault(`${said}; ${wanted} is needed here${made}${near}`, '/kind');
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
function valueFaults(value: unknown): { readonly wrong: readonly Fault[]; readonly tooDeep: boolean } {
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
  return { wrong: told.all(), tooDeep };
}

function pathOf(place: Place | undefined): string {
  return place === undefined ? '' : `${pathOf(place.within)}/${place.key}`;
}
