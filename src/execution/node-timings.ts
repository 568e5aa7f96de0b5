import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession } from 'onnxruntime-node';
import type { NodeTiming, Request } from './protocol.js';

const PREFIX = 'profile';
const KERNEL_TIME = '_kernel_time';
const WITH_SUBGRAPHS = new Set(['If', 'Loop', 'Scan']);

interface TraceEvent {
  readonly cat: string;
  readonly name: string;
  readonly ts: number;
  readonly dur: number;
  readonly args: { readonly op_name?: string; readonly node_index?: string };
}

interface Timings {
  readonly runUs: number[];
  readonly nodes: NodeTiming[];
}

/**
 * profiledTimings calls `run`, which runs the model once, `warmupRuns` times and then `runs` times. It gives ONNX
 * Runtime's own times of the latter: of every whole run (`runUs`) and of every node (µs; see `readTrace` for what counts
 * as a node). It also gives the optimized graph of the same session, whose node names the times carry, since names that
 * the optimizer makes differ from session to session. Providers that compile the graph give no optimized one.
 * `request.folder` takes the files, and must be empty.
 * @throws Error when ONNX Runtime did not record every run (it keeps at most a million events), and what it throws
 */
export async function profiledTimings(
  request: Extract<Request, { op: 'nodeTimings' }>,
  options: InferenceSession.SessionOptions,
  run: (session: InferenceSession) => Promise<void>,
): Promise<Timings & { optimizedModelPath?: string }> {
  const optimizedModelPath = join(request.folder, 'optimized.onnx');
  const profiled = { ...options, enableProfiling: true, profileFilePrefix: join(request.folder, PREFIX) };
  const session = await createDumping(request.path, profiled, optimizedModelPath);
  try {
    for (let i = 0; i < request.warmupRuns + request.runs; i++) await run(session);
    session.endProfiling();
  } finally {
    await session.release();
  }
  const timings = readTrace(parseTrace(request.folder), request.warmupRuns);
  if (timings.runUs.length !== request.runs) {
    throw new Error(`ONNX Runtime recorded ${timings.runUs.length} of ${request.runs} runs; ask for fewer`);
  }
  return { ...timings, ...(existsSync(optimizedModelPath) ? { optimizedModelPath } : {}) };
}

async function createDumping(
  path: string,
  options: InferenceSession.SessionOptions,
  optimizedModelFilePath: string,
): Promise<InferenceSession> {
  try {
    const dumping = holdsSubgraphs(path)
      ? { optimizedModelFilePath }
      : dumpingTo(optimizedModelFilePath, options);
    return await InferenceSession.create(path, { ...options, ...dumping });
  } catch (error) {
    if (!(error instanceof Error && /compiled nodes/i.test(error.message))) throw error;
    return await InferenceSession.create(path, options);
  }
}

/**
 * holdsSubgraphs says whether a file may hold nodes with subgraphs: ONNX Runtime writes the large weights of a subgraph
 * twice where it writes weights to a file of their own.
 */
function holdsSubgraphs(path: string): boolean {
  const bytes = readFileSync(path);
  // A node's field 4 is its operator.
  return [...WITH_SUBGRAPHS].some((op) => bytes.includes(Buffer.from([0x22, op.length, ...Buffer.from(op)])));
}

/** dumpingTo gives the options that write the optimized graph, with its large weights in a file that nobody reads. */
function dumpingTo(
  optimizedModelFilePath: string,
  { extra }: InferenceSession.SessionOptions,
): InferenceSession.SessionOptions {
  const { session, ...others } = (extra ?? {}) as { session?: Record<string, unknown> };
  return {
    optimizedModelFilePath,
    extra: {
      ...others,
      session: {
        ...session,
        optimized_model_external_initializers_file_name: 'optimized.data',
        optimized_model_external_initializers_min_size_in_bytes: '1024',
      },
    },
  };
}

/**
 * parseTrace reads the one profile in the folder with events: a session that did not start may have left an empty
 * one.
 */
function parseTrace(folder: string): TraceEvent[] {
  const files = readdirSync(folder).filter((file) => file.startsWith(PREFIX) && file.endsWith('.json'));
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8')).filter((text) => text !== '');
  if (texts.length !== 1) throw new Error(`ONNX Runtime wrote ${texts.length} profiles, one was expected`);
  return parseEvents(texts[0]!);
}

/**
 * parseEvents reads the events of a profile. ONNX Runtime writes the names of nodes as they are, so that one with a quotation
 * mark, a backslash or a line break makes no JSON; names are then read as what stands between their neighbours.
 */
export function parseEvents(text: string): TraceEvent[] {
  try {
    return JSON.parse(text) as TraceEvent[];
  } catch {
    const escaped = text.replaceAll(
      /("name" ?: ?)"(.*?)"(, ?"args" ?: ?\{)/gs,
      (_, before: string, name: string, after: string) => `${before}${JSON.stringify(name)}${after}`,
    );
    return JSON.parse(escaped) as TraceEvent[];
  }
}

/** Run is one run of the model: its own event, and those of its nodes. */
interface Run {
  readonly whole: TraceEvent;
  readonly nodes: readonly TraceEvent[];
}

/**
 * readTrace gives µs per run, and per node and run, from a trace, without the first `warmupRuns` runs. A node's time is
 * the host's. Where the provider timed a node's kernels on the device (as WebGPU does), the device's time counts
 * instead, since the host only hands the kernels over. Nodes inside an If, Loop or Scan are part of it.
 */
export function readTrace(events: readonly TraceEvent[], warmupRuns: number): Timings {
  const runs = runsOf(events);
  const device = deviceTimes(events, runs);
  const nodes = new Map<string, NodeTiming>();
  runs.slice(warmupRuns).forEach((run, i) => {
    run.nodes.forEach((event, position) => {
      const name = event.name.slice(0, -KERNEL_TIME.length);
      const op = event.args.op_name ?? '';
      const key = `${event.args.node_index} ${op} ${name}`;
      const onDevice = device.get(name)?.[warmupRuns + i];
      const node = nodes.get(key) ?? { name, op, us: [], ...(onDevice === undefined ? { gapUs: [] } : {}) };
      nodes.set(key, node);
      node.us.push(onDevice ?? event.dur);
      node.gapUs?.push(gapAfter(run, position));
    });
  });
  return { runUs: runs.slice(warmupRuns).map(({ whole }) => whole.dur), nodes: [...nodes.values()] };
}

/** gapAfter gives the time to the next node's start, or to the run's end. */
function gapAfter({ whole, nodes }: Run, position: number): number {
  const event = nodes[position]!;
  const next = nodes[position + 1]?.ts ?? whole.ts + whole.dur;
  return Math.max(0, next - event.ts - event.dur);
}

/** runsOf groups events into runs. Node and run events come in the order in which they ended. */
function runsOf(events: readonly TraceEvent[]): Run[] {
  const runs: Run[] = [];
  let nodes: TraceEvent[] = [];
  for (const event of events) {
    if (event.cat === 'Node' && event.name.endsWith(KERNEL_TIME)) {
      if (WITH_SUBGRAPHS.has(event.args.op_name ?? '')) nodes = withoutInner(nodes, event);
      nodes.push(event);
    } else if (event.name === 'model_run') {
      runs.push({ whole: event, nodes });
      nodes = [];
    }
  }
  return runs;
}

/** withoutInner drops the nodes inside an If, Loop or Scan, which ends after them and contains their times. */
function withoutInner(events: readonly TraceEvent[], outer: TraceEvent): TraceEvent[] {
  let kept = events.length;
  while (kept > 0 && events[kept - 1]!.ts >= outer.ts) kept--;
  return events.slice(0, kept);
}

/** deviceTimes gives kernels' µs on the device by node and run. Their events come last, as `node&operator&program`. */
function deviceTimes(events: readonly TraceEvent[], runs: readonly Run[]): Map<string, number[]> {
  const times = new Map<string, number[]>();
  for (const { cat, name, ts, dur } of events) {
    const node = cat === 'Api' ? /^(.*)&[^&]*&[^&]*$/s.exec(name)?.[1] : undefined;
    const run = runs.findLastIndex(({ whole }) => whole.ts <= ts);
    if (node === undefined || run === -1) continue;
    const us = times.get(node) ?? new Array<number>(runs.length).fill(0);
    us[run]! += dur;
    times.set(node, us);
  }
  return times;
}
