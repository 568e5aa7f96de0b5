import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { loadServer } from '../../src/api/index.js';
import type { LoadDocument } from '../../src/artifacts/index.js';
import { streamOf } from '../../src/random/index.js';
import { DrawnArrivals, phasedLoad, traceText } from '../../src/workload/index.js';

/** Order is what a client is to send: samples in turn at the times of a trace, with their labels where they have some. */
export interface Order {
  readonly url: string;
  readonly trace: string;
  readonly samples: string;
  readonly labels?: string | undefined;
}

/** Sending is a client at work, in a process of its own: it has begun, and will report. */
export interface Sending {
  readonly report: Promise<LoadDocument>;
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url))
  process.once('message', (order: Order) => void send(order));

async function send({ url, trace, samples, labels }: Order): Promise<void> {
  process.send?.('begins');
  process.send?.(await loadServer(url, { traces: [trace], samples: [samples], labels }));
  process.disconnect();
}

/** startClient starts a client, and gives it back as it begins to send. */
export async function startClient(order: Order): Promise<Sending> {
  const child = fork(fileURLToPath(import.meta.url));
  child.send(order);
  await once(child, 'message');
  return { report: once(child, 'message').then(([report]) => report as LoadDocument) };
}

/** arrivalsText draws Poisson arrivals over phases, as a trace. */
export function arrivalsText(phases: Parameters<typeof phasedLoad>[0], seed: number): string {
  const stream = streamOf(seed, 'arrivals/doubled');
  const drawn = new DrawnArrivals({ process: 'poisson', load: phasedLoad(phases), stream });
  const times: number[] = [];
  while (drawn.next()) times.push(drawn.atNs);
  return [...traceText({ kind: 'arrivals', format: 'arrivals', timesNs: Float64Array.from(times) })].join('');
}
