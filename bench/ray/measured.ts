import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { verifyLoad } from '../../src/api/index.js';
import type { CauseParts, LoadDocument, VerifiedExecutions } from '../../src/artifacts/index.js';
import { planOf } from '../../src/plans/index.js';
import { prepareSimulation, SimulationPool, simulationReport } from '../../src/simulation/index.js';
import type { Client } from '../live/client.js';
import { otherWork } from '../live/other-work.js';
import type { ExecutorKind } from './plan.js';
import type { SystemName } from './systems.js';

/** Figures are what became of a load. */
export interface Figures {
  readonly attainment: number;
  readonly p95Ms: number;
  readonly goodputRps: number;
}

/** Served is a load that a server got. */
export interface Served extends Figures {
  readonly report: LoadDocument;
  /** The share of the time of all cores that anything took, the client included. */
  readonly busy: number;
}

/** EngineTimes is what an engine adds to a request besides its waits for devices and its executions. */
export interface EngineTimes {
  /** From the client to the ingress and back. */
  readonly frontMs: number;
  /** From the ingress to a replica and back, each time. */
  readonly hopMs: number;
  readonly hops: number;
}

/** Compared is a load beside its simulation, without and with the times of the engine. */
export interface Compared {
  readonly simulated: Figures;
  readonly withEngine: Figures;
  /** What the difference of p95 comes from, in ms (`plan verify`). */
  readonly p95Parts: CauseParts | undefined;
  /** The batches of each size of each stage. */
  readonly executions: readonly VerifiedExecutions[];
}

/** Row is a load of a system. */
export interface Row extends Served {
  readonly executor: ExecutorKind;
  readonly system: SystemName;
  readonly load: number;
  readonly compared?: Compared;
}

/** SentLoad says what is sent to a server, and what it is compared with. */
export interface SentLoad {
  readonly url: string;
  readonly trace: string;
  readonly sloMs: number;
}

/** served sends a load and reports what came of it. Its goodput is over the time during which requests were sent. */
export async function served(client: Client, load: SentLoad): Promise<Served> {
  const all = otherWork(() => []);
  const { report: ended } = await client.send({ ...load, timeoutS: 120 });
  const report = await ended;
  const { attainment = 0, sent, durationS, latencyMs } = report;
  return {
    ...{ attainment, p95Ms: latencyMs?.p95 ?? Number.NaN, goodputRps: (attainment * sent) / durationS },
    ...{ report, busy: all() },
  };
}

/** compared simulates a load as Ray Serve serves it. */
export async function compared(
  { report }: Served,
  { bundle, trace, folder }: { readonly bundle: string; readonly trace: string; readonly folder: string },
  engine: EngineTimes,
): Promise<Compared> {
  const { causes, executions } = await verified(report, bundle, folder);
  return {
    simulated: await simulatedWith({ bundle, trace }, { frontMs: 0, hopMs: 0, hops: 0 }),
    withEngine: await simulatedWith({ bundle, trace }, engine),
    p95Parts: causes?.p95LatencyMs,
    executions,
  };
}

/**
 * simulatedWith simulates a load with the times that an engine adds. THIS IS THE PLACE for an engine profile: until a simulation
 * takes one, the times are a constant that each latency is longer by and each SLO shorter. (The app drops by the whole SLO, and
 * so a little later than this.)
 */
async function simulatedWith(
  { bundle, trace }: { readonly bundle: string; readonly trace: string },
  { frontMs, hopMs, hops }: EngineTimes,
): Promise<Figures> {
  const addedMs = frontMs + hops * hopMs;
  const { setup } = await prepareSimulation(
    bundle,
    { traces: [trace], scheduler: 'ray-serve', exact: true },
    { transfers: 'none' },
  );
  const plan = planOf(setup.plan).withSlos(setup.plan, (sloMs) => sloMs - addedMs);
  const pool = new SimulationPool({ ...setup, plan }, { threads: 1 });
  try {
    const run = await pool.runOne({});
    const { overall, workload } = simulationReport(setup, run, { windowS: undefined, inputs: [] });
    const { attainment = 0, arrived, latencyMs } = overall;
    return {
      ...{ attainment, goodputRps: (attainment * arrived) / workload.durationS },
      p95Ms: (latencyMs?.p95 ?? Number.NaN) + addedMs,
    };
  } finally {
    await pool.close();
  }
}

/**
 * engineTimes takes from a load that hardly waits what the engine adds to each request: the front is what `plan verify` calls so,
 * and the rest of what the simulation lacks are the hops.
 */
export async function engineTimes(
  { report }: Served,
  { bundle, hops, folder }: { readonly bundle: string; readonly hops: number; readonly folder: string },
): Promise<EngineTimes> {
  const { causes } = await verified(report, bundle, folder);
  if (causes === undefined) throw new Error('the engine does not tell how long requests took');
  return { frontMs: causes.frontMs, hopMs: Math.max(0, causes.meanLatencyMs.queueing / hops), hops };
}

async function verified(report: LoadDocument, plan: string, folder: string) {
  const path = join(folder, 'load.json');
  await writeFile(path, JSON.stringify(report));
  return verifyLoad(path, { plan });
}
