import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { verifyLoad } from '../../src/api/index.js';
import type { CauseParts, LoadDocument, VerifiedExecutions } from '../../src/formats/index.js';
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

/** Compared is a load beside its simulation, without and with what was measured of the engine. */
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
    attainment,
    p95Ms: latencyMs?.p95 ?? Number.NaN,
    goodputRps: (attainment * sent) / durationS,
    report,
    busy: all(),
  };
}

/** Deployed is what is served: its bundle, the arrivals that it got, and what was measured of its engine, all as files. */
export interface Deployed {
  readonly bundle: string;
  readonly trace: string;
  readonly engine: string;
  /** A folder for what `plan verify` reads. */
  readonly folder: string;
}

/** compared simulates a load as Ray Serve serves it. */
export async function compared({ report }: Served, deployed: Deployed): Promise<Compared> {
  const { folder, bundle } = deployed;
  const path = join(folder, 'load.json');
  await writeFile(path, JSON.stringify(report));
  const { causes, executions } = await verifyLoad(path, { plan: bundle });
  return {
    simulated: await simulated(deployed, undefined),
    withEngine: await simulated(deployed, deployed.engine),
    p95Parts: causes?.p95LatencyMs,
    executions,
  };
}

async function simulated({ bundle, trace }: Deployed, engine: string | undefined): Promise<Figures> {
  const { setup } = await prepareSimulation(
    bundle,
    { traces: [trace], scheduler: 'ray-serve', exact: true, engine },
    { transfers: 'none' },
  );
  const pool = new SimulationPool(setup, { threads: 1 });
  try {
    const run = await pool.runOne({});
    const { overall, workload } = simulationReport(setup, run, { windowS: undefined, inputs: [] });
    const { attainment = 0, arrived, latencyMs } = overall;
    return {
      attainment,
      goodputRps: (attainment * arrived) / workload.durationS,
      p95Ms: latencyMs?.p95 ?? Number.NaN,
    };
  } finally {
    await pool.close();
  }
}
