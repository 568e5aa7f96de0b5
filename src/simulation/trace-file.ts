import { createHash } from 'node:crypto';
import { StringDecoder } from 'node:string_decoder';
import { hashed, heard, readInPieces, refuseForeign, unpacked } from '../artifacts/index.js';
import { fault, InputError, type ToldFaults } from '../formats/index.js';
import { type CountTrace, slicedTrace, type Trace, TraceReader, type TraceSpan } from '../workload/index.js';

/** Longer traces are taken for a mistake. */
const MOST_BYTES = 2 ** 31;

/** TraceFileOptions says how a trace file is read, and which window of it. */
export interface TraceFileOptions extends TraceSpan {
  /** The format of a trace that does not name its own. */
  readonly traceFormat?: 'perf-analyzer-intervals' | undefined;
  /** The most bytes that are read, of a pipe too; by default 2 GiB. */
  readonly mostBytes?: number | undefined;
  /** Ends the reading when aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Into how many groups the functions of a trace that counts each are dealt, in turn. */
  readonly groups?: number | undefined;
}

/**
 * TraceRead is a trace that was read, and by group what comes of it, where groups were asked for and the trace counts
 * functions.
 */
export interface TraceRead {
  readonly trace: Trace;
  readonly grouped?: readonly Trace[];
}

/** TraceFile is a file that the load was read from. */
export interface TraceFile {
  readonly path: string;
  readonly sha256: string;
}

/**
 * namedTrace splits `model=file` or takes `file` alone. A path may hold "=" after its first folder. Before
 * that, the "=" ends a model's name.
 * @param names the models that are known, which may hold "=" themselves
 */
export function namedTrace(names: readonly string[], text: string): { name?: string; path: string } {
  const known = names.filter((name) => text.startsWith(`${name}=`)).sort((a, b) => b.length - a.length)[0];
  const cut = known === undefined ? text.indexOf('=') : known.length;
  const named = known !== undefined || (cut > 0 && !/[\\/]/.test(text.slice(0, cut)));
  return named ? { name: text.slice(0, cut), path: text.slice(cut + 1) } : { path: text };
}

/**
 * readTraceFile reads a trace from a plain file or a pipe, of at most 2 GiB by default.
 * @param told where every fault of the file is added, also where it is missing
 * @returns undefined after a fault
 * @throws the signal's reason on abort
 */
export async function readTraceFile(
  path: string,
  options: TraceFileOptions,
  told: ToldFaults,
): Promise<(TraceRead & { file: TraceFile }) | undefined> {
  try {
    const { sha256, ...read } = await readTrace(path, options);
    return { ...read, file: { path, sha256 } };
  } catch (error) {
    told.addOfFile(path, error);
    return undefined;
  }
}

/** readTrace reads the file once, so that it may be a pipe. The digest is that of its bytes, packed where they are. */
async function readTrace(
  path: string,
  { traceFormat: format, mostBytes = MOST_BYTES, signal, fromS, toS, groups }: TraceFileOptions,
): Promise<TraceRead & { sha256: string }> {
  const reader = new TraceReader({
    name: path,
    ...(format === undefined ? {} : { format }),
    ...(groups === undefined ? {} : { groups }),
  });
  const hash = createHash('sha256');
  const decoder = new StringDecoder('utf8');
  let read = 0;
  const packed = hashed(readInPieces(path, signal), hash);
  for await (const bytes of unpacked(packed, path)) {
    if (read === 0) refuseForeign(bytes, path);
    read += bytes.length;
    if (read > mostBytes)
      throw new InputError(`read ${path}`, [fault(`it holds more than ${mostBytes} bytes; cut the trace`)]);
    reader.push(decoder.write(bytes));
  }
  reader.push(decoder.end());
  const trace = slicedTrace(await heard(reader.ending()), { fromS, toS });
  const grouped = reader.grouped()?.map((group) => slicedGroup(group, { fromS, toS }));
  return { trace, ...(grouped === undefined ? {} : { grouped }), sha256: hash.digest('hex') };
}

/** slicedGroup gives the window of what comes of a group, which may be nothing. */
function slicedGroup(group: CountTrace, span: TraceSpan): Trace {
  try {
    return slicedTrace(group, span);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { ...group, intervalS: new Float64Array(0), counts: new Float64Array(0) };
  }
}
