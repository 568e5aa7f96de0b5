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
 * ONNX Runtime's own times of every node over several runs, and the optimized graph of the same session, whose names
 * they bear (names made by the optimizer change from session to session). Files are written to `request.folder`.
 * No optimized graph comes from providers that compile it. Throws when ONNX Runtime did not record every run: it keeps
 * at most a million events.
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
    return await InferenceSession.create(path, { ...options, optimizedModelFilePath });
  } catch (error) {
    if (!(error instanceof Error && /compiled nodes/i.test(error.message))) throw error;
    return await InferenceSession.create(path, options);
  }
}

/** The one profile in the folder that has events: a session that failed to start may have left an empty one. */
function parseTrace(folder: string): TraceEvent[] {
  const files = readdirSync(folder).filter((file) => file.startsWith(PREFIX) && file.endsWith('.json'));
  const texts = files.map((file) => readFileSync(join(folder, file), 'utf8')).filter((text) => text !== '');
  if (texts.length !== 1) throw new Error(`ONNX Runtime wrote ${texts.length} profiles, one was expected`);
  return JSON.parse(texts[0]!) as TraceEvent[];
}

/** Folds a trace into a figure per node and run. Events come in the order in which they ended. */
export function readTrace(events: readonly TraceEvent[], warmupRuns: number): Timings {
  const runUs: number[] = [];
  const nodes = new Map<string, NodeTiming>();
  let ofRun: TraceEvent[] = [];
  let runs = 0;
  for (const event of events) {
    if (event.cat === 'Node' && event.name.endsWith(KERNEL_TIME)) {
      ofRun = WITH_SUBGRAPHS.has(event.args.op_name ?? '') ? withoutInner(ofRun, event) : ofRun;
      ofRun.push(event);
    } else if (event.name === 'model_run') {
      if (runs++ >= warmupRuns) {
        runUs.push(event.dur);
        for (const node of ofRun) addTime(nodes, node);
      }
      ofRun = [];
    }
  }
  return { runUs, nodes: [...nodes.values()] };
}

/** An If, Loop or Scan ends after the nodes of its subgraphs, whose times it contains. */
function withoutInner(events: TraceEvent[], outer: TraceEvent): TraceEvent[] {
  let kept = events.length;
  while (kept > 0 && events[kept - 1]!.ts >= outer.ts) kept--;
  return events.slice(0, kept);
}

function addTime(nodes: Map<string, NodeTiming>, event: TraceEvent): void {
  const name = event.name.slice(0, -KERNEL_TIME.length);
  const op = event.args.op_name ?? '';
  const key = `${event.args.node_index} ${op} ${name}`;
  const node = nodes.get(key);
  if (node === undefined) nodes.set(key, { name, op, us: [event.dur] });
  else node.us.push(event.dur);
}
