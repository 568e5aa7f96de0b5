import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadArtifact } from '../../src/artifacts/index.js';
import { BUNDLE_MANIFEST, type PooledPlan } from '../../src/formats/index.js';
import { driveLoad, type LoadReport } from '../../src/loadgen/index.js';

/** Target is the bundle and the model of a storm. */
export interface Target {
  readonly folder: string;
  readonly model: string | undefined;
  readonly seed: number;
}

/** Order tells a client process what to send. */
interface Order {
  readonly url: string;
  readonly model: string;
  readonly rps: number;
  readonly durationS: number;
  readonly seed: number;
}

/** Drive describes the load on a server: `load` is a share of the model's planned rate. */
interface Drive {
  readonly model: PooledPlan['models'][number];
  readonly load: number;
  readonly durationS: number;
  readonly seed: number;
}

/** The client waits this long for an answer, because a scheduler that drops nothing lets queues grow. */
const PATIENCE_S = 120;
const PROGRAM = fileURLToPath(new URL('../storms.js', import.meta.url));

/** isClient says whether this process was started to drive the load. */
export function isClient(): boolean {
  return process.send !== undefined;
}

/** runClient drives the load that the parent orders, and sends the report back. */
export async function runClient(): Promise<void> {
  const [{ url, ...options }] = (await once(process, 'message')) as [Order];
  process.send?.(await driveLoad(url, { ...options, timeoutS: PATIENCE_S }));
  process.disconnect();
}

/** driven drives a load from a process of its own, so that its memory and CPU time are not the server's. */
export async function driven(url: string, { model, load, ...drive }: Drive): Promise<LoadReport> {
  const order: Order = { url, model: model.name, rps: load * model.throughputRps, ...drive };
  const child = fork(PROGRAM);
  child.send(order);
  const [report] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('the load client ended without a report'))),
  ])) as [LoadReport];
  return report;
}

/** plannedModel gives the model that is served, by name or the first, with its planned rate. */
export async function plannedModel({ folder, model }: Target): Promise<PooledPlan['models'][number]> {
  const { value: manifest } = await loadArtifact(join(folder, BUNDLE_MANIFEST), ['bundle']);
  const { value: plan } = await loadArtifact(join(folder, manifest.plan.path), ['pooled-plan']);
  const found = model === undefined ? plan.models[0] : plan.models.find(({ name }) => name === model);
  if (found === undefined) throw new Error(`the bundle has no model ${model}`);
  return found;
}

/** COUNT_NAMES are the headings of the columns that countCells fills. */
export const COUNT_NAMES = ['sent', 'in time', 'late', '503', 'other'] as const;

/** countCells gives the cells of a table with the numbers of requests by outcome. */
export function countCells({ sent, inTime, late, dropped, failed, cancelled }: LoadReport): string[] {
  return [sent, inTime, late, dropped, failed + cancelled].map(String);
}

/** otherEndings gives the number of requests that got neither an answer nor 503, if there are any. */
export function otherEndings({ failed, cancelled, failures }: LoadReport): string[] {
  if (failed + cancelled === 0) return [];
  return [`${failed + cancelled} requests got neither an answer nor 503: ${JSON.stringify(failures)}`];
}
