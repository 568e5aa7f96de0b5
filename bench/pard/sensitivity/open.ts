import type { TraceName } from '../made-traces.js';
import type { WatchedBy } from '../watched-run.js';
import { dropRates, errorOf, meanOf, percent, type Section, type Settings } from './section.js';

const TRACES: readonly TraceName[] = ['wiki', 'tweet', 'azure'];

/** Variant is another reading of what the paper leaves open. */
interface Variant {
  readonly said: string;
  readonly by: WatchedBy;
}

const pard = (by: WatchedBy): WatchedBy => ({ scheduler: 'pard', ...by });

const VARIANTS: readonly Variant[] = [
  ...['pard', 'nexus', 'clipper++', 'naive'].flatMap((scheduler) =>
    ['least-work', 'two-choices'].map((dispatch) => ({
      said: `\`${scheduler}\`, dispatch: ${dispatch}`,
      by: { scheduler, policy: [`dispatch=${dispatch}`] },
    })),
  ),
  { said: '_d_k_ of the batch as it forms', by: pard({ readings: { formingBatch: true } }) },
  {
    said: 'a batch that runs is expected to take as long as the planned one',
    by: pard({ readings: { runningAsPlanned: true } }),
  },
  { said: 'an idle device waits for a planned batch', by: pard({ readings: { idleWaits: true } }) },
  ...[0.2, 0.5, 5].map((s) => ({
    said: `T_in over ${s} s`,
    by: pard({ readings: { loadIntervalNs: s * 1e9 } }),
  })),
  ...[2, 10, 30].map((smoothedIntervals) => ({
    said: `T_s and ε over ${smoothedIntervals} s`,
    by: pard({ readings: { smoothedIntervals } }),
  })),
  { said: 'waits of one request at all stages together', by: pard({ readings: { waits: 'joint' } }) },
  { said: 'uniform waits from 0 to _d_i_', by: pard({ readings: { waits: 'uniform' } }) },
  { said: '_q_ counts dropped requests too', by: pard({ readings: { countsDropped: true } }) },
  ...[0, 0.2, 5].map((s) => ({
    said: `state is shared ${s === 0 ? 'at once' : `every ${s} s`}`,
    by: pard({ policy: [`statePeriodNs=${s * 1e9}`] }),
  })),
  {
    said: '`nexus`, within the share of the SLO of each stage',
    by: { scheduler: 'nexus', policy: ['drop.within=stage'] },
  },
  { said: '`clipper++`, until the end', by: { scheduler: 'clipper++', policy: ['drop.until=end'] } },
  { said: '`pard-split`, until the start', by: { scheduler: 'pard-split', policy: ['drop.until=start'] } },
];

/** open shows by how much the drop rate of lv changes with other readings of what the paper leaves open. */
export async function open(settings: Settings): Promise<Section> {
  const schedulers = [...new Set(VARIANTS.map(({ by }) => by.scheduler as string))];
  const asRead = new Map<string, number[][]>();
  for (const scheduler of schedulers) asRead.set(scheduler, await byTrace({ scheduler }, settings));
  const changes: string[][] = [];
  for (const { said, by } of VARIANTS) {
    const before = asRead.get(by.scheduler as string) as number[][];
    const after = await byTrace(by, settings);
    changes.push([
      said,
      ...after.map((rates, t) => changed(rates.map((rate, i) => rate - (before[t]?.[i] as number)))),
    ]);
  }
  const rows = [...asRead].map(([name, rates]) => [`\`${name}\``, ...rates.map((of) => percent(meanOf(of)))]);
  return {
    tables: [
      { said: 'Drop rates of lv (%) as docs/pard.md reads the paper.', lines: [['', ...TRACES], ...rows] },
      {
        said: 'Changes of the drop rate in points (± standard error over the seeds), by what is read otherwise.',
        lines: [['read otherwise', ...TRACES], ...changes],
      },
    ],
  };
}

const THRESHOLDS_MS = [5, 10, 20, 25, 40, 80];
const SHARES = [0.2, 0.4, 0.6, 0.8];

/** overload serves lv with PARD-oc over a grid of its threshold and share. */
export async function overload(settings: Settings): Promise<Section> {
  const rows: string[][] = [];
  for (const ms of THRESHOLDS_MS)
    for (const share of SHARES) {
      const policy = [`drop.thresholdNs=${ms * 1e6}`, `drop.share=${share}`];
      const rates = await byTrace({ scheduler: 'pard-oc', policy }, settings);
      rows.push([`${ms} ms, ${share}`, ...rates.map((of) => percent(meanOf(of)))]);
    }
  return {
    tables: [
      { said: 'Drop rates of lv (%) under `pard-oc`.', lines: [['threshold, α', ...TRACES], ...rows] },
    ],
  };
}

/** byTrace gives the drop rates of lv by trace and seed. */
async function byTrace(by: WatchedBy, settings: Settings): Promise<number[][]> {
  const rates: number[][] = [];
  for (const trace of TRACES) rates.push(await dropRates({ application: 'lv', trace }, by, settings));
  return rates;
}

function changed(points: readonly number[]): string {
  const mean = 100 * meanOf(points);
  return `${mean < 0 ? '−' : '+'}${Math.abs(mean).toFixed(2)} ± ${(100 * errorOf(points)).toFixed(2)}`;
}
