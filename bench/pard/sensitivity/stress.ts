import { planTopologyOf } from '../../../src/plans/index.js';
import type { Topology } from '../../../src/serving/index.js';
import { traceWorkload } from '../../../src/simulation/index.js';
import { watchedRun } from '../watched-run.js';
import { type ApplicationName, applicationPlan, countTrace, type PardWorkload } from '../workloads.js';
import { meanOf, type Section, type Settings } from './section.js';

const SCHEDULERS = ['pard', 'nexus', 'clipper++', 'naive'] as const;
const APPLICATIONS: readonly ApplicationName[] = ['tm', 'lv', 'ga', 'da'];
/** Rates in multiples of what the workers can serve in full batches. */
const FACTORS = [0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3];

interface Stressed {
  readonly application: ApplicationName;
  readonly rps: number;
  /** The least of the rate and of what the workers can serve. */
  readonly bestRps: number;
  /** By scheduler. */
  readonly goodputRps: readonly number[];
}

/** stress raises the rate of each application over fixed workers (Fig. 14a). Requests are Poisson's at one rate all the time. */
export async function stress(settings: Settings): Promise<Section> {
  const tables: Section['tables'][number][] = [];
  for (const application of APPLICATIONS) {
    const plan = await applicationPlan(application);
    const capacityRps = capacityOf(planTopologyOf(plan, { transfers: 'links', rules: 'own' }));
    const rows = FACTORS.map((factor): Stressed => {
      const rps = factor * capacityRps;
      const goodputRps = SCHEDULERS.map((scheduler) => goodput({ plan, rps }, scheduler, settings));
      return { application, rps, bestRps: Math.min(rps, capacityRps), goodputRps };
    });
    tables.push({
      said: `Goodput of ${application} (requests/s) with fixed workers, which can serve ${capacityRps.toFixed(0)}. ${told(rows)}`,
      lines: [
        ['rate', 'min(rate, capacity)', ...SCHEDULERS],
        ...rows.map(({ rps, bestRps, goodputRps }) =>
          [rps, bestRps, ...goodputRps].map((one) => one.toFixed(0)),
        ),
      ],
    });
  }
  return { tables };
}

function goodput(
  { plan, rps }: { readonly plan: PardWorkload['plan']; readonly rps: number },
  scheduler: string,
  { seconds, seeds }: Settings,
): number {
  const workload = traceWorkload(countTrace(new Float64Array(seconds).fill(1), rps));
  const inTime = Array.from({ length: seeds }, (_, seed) => {
    return watchedRun({ plan, workload, seed }, { scheduler, tuner: 'none' }).inTime;
  });
  return meanOf(inTime) / seconds;
}

/** capacityOf is the rate that the devices in use can serve in planned batches, at the stage that can serve least. */
function capacityOf({ pools, devices }: Topology): number {
  return Math.min(
    ...pools.map(({ batch, latencyNs, devices: of }) => {
      const inUse = of.filter((device) => devices[device]?.standby !== true).length;
      return (1e9 * inUse * batch) / (latencyNs[batch - 1] as number);
    }),
  );
}

/** told says how far schedulers are from what the workers can serve, and from PARD, where more comes than that. */
function told(rows: readonly Stressed[]): string {
  const over = rows.filter(({ rps, bestRps }) => rps > bestRps);
  const gaps = SCHEDULERS.map((name, i) => {
    const all = over.map(({ bestRps, goodputRps }) => 100 * (1 - (goodputRps[i] as number) / bestRps));
    return `${name} ${span(all)}`;
  });
  const more = SCHEDULERS.slice(1).map((name, i) => {
    const all = over.map(({ goodputRps: [pard = 0, ...rest] }) => 100 * (pard / (rest[i] as number) - 1));
    return `${name} ${span(all)}`;
  });
  return `Over capacity, the gap to it (%): ${gaps.join('; ')}. PARD has more (%) than: ${more.join('; ')}.`;
}

function span(numbers: readonly number[]): string {
  return `${Math.min(...numbers).toFixed(1)} to ${Math.max(...numbers).toFixed(1)}`;
}
