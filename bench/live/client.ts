import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { loadServer } from '../../src/api/index.js';
import type { LoadDocument } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { DrawnArrivals, phasedLoad, traceText } from '../../src/workload/index.js';

/**
 * Order is what a client is to send at the times of a trace: samples in turn, with their labels where they have some, or random
 * inputs where there are none.
 */
export interface Order {
  readonly url: string;
  readonly trace: string;
  readonly samples?: string;
  readonly labels?: string | undefined;
  /** What counts as in time; by default what the server tells. */
  readonly sloMs?: number;
  /** How long an answer may take, and how many requests may be open at once; by default as in `plan load`. */
  readonly timeoutS?: number;
  readonly connections?: number;
}

/** Sending is a client at work, in a process of its own: it has begun, and will report. */
export interface Sending {
  readonly report: Promise<LoadDocument>;
}

/** Client is a process that sends one load after another, and so is warm from the second on. */
export interface Client {
  readonly pid: number;
  /** send begins to send, and gives the load back as it does. Await its report before the next. */
  send(order: Order): Promise<Sending>;
  close(): void;
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url))
  process.on('message', (order: Order) => void send(order));

async function send({ url, trace, samples, ...options }: Order): Promise<void> {
  process.send?.('begins');
  const sent = samples === undefined ? {} : { samples: [samples] };
  process.send?.(await loadServer(url, { traces: [trace], ...sent, ...options }));
}

/** openClient starts a client that waits for orders. */
export function openClient(): Client {
  const child = fork(fileURLToPath(import.meta.url));
  const close = () => {
    if (child.connected) child.disconnect();
  };
  return { pid: child.pid ?? -1, send: (order) => ordered(child, order), close };
}

async function ordered(child: ChildProcess, order: Order): Promise<Sending> {
  child.send(order);
  await told(child);
  return { report: told(child).then((report) => report as LoadDocument) };
}

/** told waits for what the client tells next. @throws Error where it ends instead */
async function told(child: ChildProcess): Promise<unknown> {
  if (child.exitCode !== null || child.signalCode !== null)
    throw new Error('The client that sends the load has ended.');
  const waiting = new AbortController();
  const { signal } = waiting;
  const ended = once(child, 'exit', { signal }).then(([code, by]) => {
    throw new Error(`The client that sends the load ended with ${code ?? by}.`);
  });
  try {
    const [said] = (await Promise.race([once(child, 'message', { signal }), ended])) as unknown[];
    return said;
  } finally {
    ended.catch(() => {});
    waiting.abort();
  }
}

/** arrivalsText draws Poisson arrivals over phases, as a trace. */
export function arrivalsText(phases: Parameters<typeof phasedLoad>[0], seed: number): string {
  const stream = streamOf(seed, 'arrivals/doubled');
  const drawn = new DrawnArrivals({ process: 'poisson', load: phasedLoad(phases), stream });
  const times: number[] = [];
  while (drawn.next()) times.push(drawn.atNs);
  return [...traceText({ kind: 'arrivals', format: 'arrivals', timesNs: Float64Array.from(times) })].join('');
}
