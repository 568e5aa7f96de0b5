import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { profileEngine } from '../../src/api/index.js';
import { arrivalsText, type Client } from '../live/client.js';
import { compared, type Figures, type Row, type Served, served } from './measured.js';
import { type ClassName, type Executed, type ExecutorKind, MODEL, type PlannedBundles } from './plan.js';
import type { System, SystemName } from './systems.js';

/** How many requests the engine is measured with: those that stages answer take most of a second each. */
const CALIBRATION = { requests: 40, refusals: 400 };
const WARM_LOAD = 0.5;
/** So long are stages asked whose cores are then slowed down by what they took. */
const CALIBRATION_S = 40;

/** AskedLoads are the loads that a system gets. */
export interface AskedLoads {
  readonly requests: number;
  /** As multiples of the planned rate. */
  readonly loads: readonly number[];
  readonly warmS: number;
  readonly seed: number;
}

/** Measured is a system, and what is sent to it. */
interface Measured extends AskedLoads {
  readonly client: Client;
  readonly bundles: PlannedBundles;
  readonly folder: string;
  readonly executor: ExecutorKind;
  readonly system: SystemName;
}

/** Measuring sends all loads to a system. */
export class Measuring {
  constructor(
    private readonly running: System,
    private readonly of: Measured,
  ) {}

  async rows(): Promise<Row[]> {
    const { executor, system, bundles, folder, loads, requests } = this.of;
    await this.warmed(WARM_LOAD);
    const engine = system === 'plan' ? await this.engine() : undefined;
    const rows: Row[] = [];
    for (const load of loads) {
      if (system !== 'plan') await this.warmed(load);
      const trace = await this.trace(load, requests);
      const row: Row = { executor, system, load, ...(await this.sent(trace)) };
      const simulated = engine && {
        compared: await compared(row, { bundle: bundles.ray, trace, folder, engine }),
      };
      rows.push({ ...row, ...simulated });
      process.stderr.write(`${executor}, ${system} at ${load}: ${rowText({ ...row, ...simulated })}\n`);
    }
    return rows;
  }

  /** executed sends a load to computing stages, and gives how long their batches took. */
  async executed(): Promise<Executed> {
    const { bundles } = this.of;
    const { report } = await this.sent(await this.trace(1, Math.round(CALIBRATION_S * bundles.plannedRps)));
    const of = (name: ClassName) =>
      [1, 2].map((rows) => {
        const executions = report.served?.flatMap((served) => served.executions) ?? [];
        const { medianUs } = executions.find((one) => one.class === name && one.batch === rows) ?? {};
        if (medianUs === undefined) throw new Error(`no batch of ${rows} was executed on the class ${name}`);
        return medianUs / 1e3;
      });
    return { slowdowns: bundles.slowdowns, ms: { fast: of('fast'), slow: of('slow') } };
  }

  /** engine measures what Ray takes beside the devices, and gives the file that says so. */
  private async engine(): Promise<string> {
    const { folder, executor } = this.of;
    const path = join(folder, `${executor}.engine.json`);
    const { ingress, hopUs } = await profileEngine(this.running.url, {
      ...CALIBRATION,
      model: MODEL,
      output: path,
    });
    const [eachMs, hopMs] = [ingress.requestUs / 1e3, hopUs / 1e3].map((ms) => ms.toFixed(1));
    process.stdout.write(
      `${executor}: the ingress has ${ingress.replicas} replicas that take ${eachMs} ms each, and a hop takes ${hopMs} ms\n`,
    );
    return path;
  }

  private async warmed(load: number): Promise<void> {
    const { bundles, warmS, seed } = this.of;
    const count = Math.round(load * bundles.plannedRps * warmS);
    if (count > 0) await this.sent(await this.trace(load, count, seed + 1));
  }

  private sent(trace: string): Promise<Served> {
    const { client, bundles } = this.of;
    return served(client, { url: this.running.url, trace, sloMs: bundles.sloMs });
  }

  /** trace writes the arrivals of so many requests. */
  private async trace(load: number, count: number, by = this.of.seed): Promise<string> {
    const { bundles, folder } = this.of;
    const rps = load * bundles.plannedRps;
    // Of twice the time, the first arrivals are taken, so that there are as many as asked for.
    const text = arrivalsText([{ rps, durationS: (2 * count) / rps + 10 / rps }], by);
    const path = join(folder, 'arrivals.csv');
    await writeFile(
      path,
      `${text
        .split('\n')
        .slice(0, count + 1)
        .join('\n')}\n`,
    );
    return path;
  }
}

function rowText({ report, compared: beside, ...live }: Row): string {
  const of = ({ attainment, p95Ms }: Figures) =>
    `${(100 * attainment).toFixed(1)} % in time, p95 ${p95Ms.toFixed(0)} ms`;
  const simulated = beside && `; simulated ${of(beside.simulated)}; with the engine ${of(beside.withEngine)}`;
  return `${report.sent} sent, ${of(live)}${simulated ?? ''}`;
}
