import { Buffer, isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { type Fault, fault, InputError, type Run, ToldFaults } from '../formats/index.js';
import { hashed } from './file-digest.js';
import { parseJsonLine } from './load.js';
import { readInPieces } from './read-file.js';
import { pause } from './run-files.js';
import { refuseForeign } from './text.js';
import { unpacked } from './unpacked.js';

const NEWLINE = '\n'.charCodeAt(0);
/** A line of this many bytes holds more tasks than a run may have. */
const MOST_LINE_BYTES = 1024 * 1024;
/** Larger files are taken for a mistake, as traces are. */
const MOST_BYTES = 2 ** 31;
/** The tasks of runs that are held at once; each takes some 230 bytes. */
const MOST_TASKS_HELD = 3_000_000;

/**
 * RunsFile is a file of recorded runs that was read: its path, the digest of its bytes as they are packed, and how many
 * runs it has.
 */
export interface RunsFile {
  readonly path: string;
  readonly sha256: string;
  readonly count: number;
}

/** RunsOptions says how a file of runs is read. */
export interface RunsOptions {
  /** Ends the reading when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** The most bytes that are read, unpacked; by default 2 GiB. */
  readonly mostBytes?: number | undefined;
}

/** LoadedRuns are the runs of a file, in the order of its lines. */
export interface LoadedRuns extends RunsFile {
  readonly runs: readonly Run[];
  /** The line of each run, from 1 on. */
  readonly lines: readonly number[];
}

/**
 * loadRuns reads a file of recorded runs, as `eachRun` does, and holds them all without the keys that it does not know.
 * They may have 3,000,000 tasks together, each of which takes some 230 bytes.
 * @throws as `eachRun` does
 */
export async function loadRuns(path: string, options: RunsOptions = {}): Promise<LoadedRuns> {
  const runs: Run[] = [];
  const lines: number[] = [];
  const names = new Map<string, string>();
  /** Each name is held once, where a parser makes one for each line. */
  const held = (name: string): string => {
    const known = names.get(name);
    if (known === undefined) names.set(name, name);
    return known ?? name;
  };
  let tasksHeld = 0;
  const keep = (run: Run, line: number): readonly Fault[] => {
    const { kind, version, application, requestBytes, tasks } = run;
    lines.push(line);
    tasksHeld += tasks.length;
    if (tasksHeld > MOST_TASKS_HELD)
      throw new InputError(`read ${path}`, [
        fault(
          `its runs have more than ${MOST_TASKS_HELD} tasks, the most that are held (docs/limits.md); leave runs out`,
        ),
      ]);
    for (const task of tasks) task.component = held(task.component);
    runs.push({ kind, version: held(version), application: held(application), requestBytes, tasks });
    return [];
  };
  return { ...(await eachRun(path, keep, options)), runs, lines };
}

/**
 * eachRun reads a file of recorded runs, one on each line as JSON, from a plain file or a pipe. It may be packed with gzip.
 * Lines may end in CRLF, and the last may lack its end; blank ones are skipped. It holds one line at a time.
 * @param use is handed each run that is right, also behind one that is not, and says what else is wrong with it: the paths of its
 *   faults are JSON pointers in the run
 * @throws MissingError where there is no such file; InputError with the faults of all lines, each with its line (`runs.jsonl:17`):
 *   the first 20, and how many more there are; what `use` throws; the signal's reason on abort
 */
export async function eachRun(
  path: string,
  use: (run: Run, line: number) => readonly Fault[],
  { signal, mostBytes = MOST_BYTES }: RunsOptions = {},
): Promise<RunsFile> {
  const hash = createHash('sha256');
  const lines = new Lines();
  const reader = new RunReader(path, use);
  let read = 0;
  for await (const piece of unpacked(hashed(readInPieces(path, signal), hash), path)) {
    if (read === 0) refuseForeign(piece, path);
    read += piece.length;
    if (read > mostBytes)
      throw new InputError(`read ${path}`, [
        fault(`it holds more than ${mostBytes} bytes; leave runs out, or split it`),
      ]);
    for (const line of lines.of(piece)) reader.read(line);
    await pause();
  }
  for (const line of lines.rest()) reader.read(line);
  return { path, sha256: hash.digest('hex'), count: reader.end() };
}

/** RunReader reads lines as runs, and gathers what is wrong with them. */
class RunReader {
  private readonly told = new ToldFaults();
  private line = 0;
  private count = 0;
  private isBegun = false;

  constructor(
    private readonly path: string,
    private readonly use: (run: Run, line: number) => readonly Fault[],
  ) {}

  /** read reads a line, which is undefined where it is too long. @throws InputError where the first shows that no line is a run */
  read(bytes: Buffer | undefined): void {
    this.line += 1;
    if (bytes === undefined) {
      this.add(fault(`the line has more than ${MOST_LINE_BYTES} bytes (docs/limits.md)`));
      return;
    }
    if (!isUtf8(bytes)) {
      this.add(fault('the line is not text in UTF-8'));
      return;
    }
    const text = bytes.toString('utf8');
    if (text.trim() === '') return;
    if (!this.isBegun) refuseDocument(text.trim(), this.path);
    this.isBegun = true;
    this.readText(text);
  }

  /** end gives how many runs there are. @throws InputError where a line is wrong, or there are none */
  end(): number {
    const task = `read ${this.path}`;
    if (this.told.count > 0) throw this.told.error(task);
    if (this.count === 0) throw new InputError(task, [fault('the file is empty')]);
    return this.count;
  }

  private readText(text: string): void {
    const { path, line } = this;
    let run: Run;
    try {
      run = parseJsonLine(text, { path, line, kinds: ['run'] });
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      for (const one of error.faults) this.add(one);
      return;
    }
    this.count += 1;
    for (const one of this.use(run, line)) this.add(one);
  }

  /** add tells a fault of this line at its place. A place in the text, such as that of a key, goes behind the words. */
  private add(one: Fault): void {
    const at = `${this.path}:${this.line}`;
    const isPointer = one.path.startsWith('/');
    const place = one.path === '' || one.path === '/' || !isPointer ? at : `${at} ${one.path}`;
    const words = one.path === '' || isPointer ? one.message : `${one.message} (${one.path})`;
    this.told.add({ ...one, path: place, message: words });
  }
}

/**
 * refuseDocument refuses JSON of several lines, or a list of runs, of which each line would be reported as
 * wrong.
 */
function refuseDocument(text: string, path: string): void {
  const isList = text.startsWith('[');
  if (!isList && text !== '{') return;
  const found = isList
    ? 'it begins a list of JSON'
    : 'it begins an object of JSON that goes on behind its line';
  throw new InputError(`read ${path}`, [
    fault(
      `${found}, and each line is read as a run: write every run on a line of its own, as \`jq -c ${isList ? '".[]"' : '.'}\` does`,
    ),
  ]);
}

/** Lines splits bytes into lines. Of one that is too long it holds nothing. */
class Lines {
  private held: Buffer[] = [];
  private heldBytes = 0;

  /** of gives the lines that end in a piece, without their ends; undefined for each that is too long. */
  *of(piece: Buffer): Generator<Buffer | undefined> {
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, from)) {
      this.hold(piece.subarray(from, end));
      yield this.taken();
      from = end + 1;
    }
    if (from < piece.length) this.hold(piece.subarray(from));
  }

  /** rest gives the last line, where it lacks its end. */
  *rest(): Generator<Buffer | undefined> {
    if (this.heldBytes > 0) yield this.taken();
  }

  private hold(bytes: Buffer): void {
    this.heldBytes += bytes.length;
    if (this.heldBytes > MOST_LINE_BYTES) this.held = [];
    else this.held.push(bytes);
  }

  private taken(): Buffer | undefined {
    const { held, heldBytes } = this;
    this.held = [];
    this.heldBytes = 0;
    if (heldBytes > MOST_LINE_BYTES) return undefined;
    return held.length === 1 ? held[0] : Buffer.concat(held);
  }
}
