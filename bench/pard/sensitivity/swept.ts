import type { TraceName } from '../made-traces.js';
import type { ApplicationName } from '../workloads.js';
import { dropRates, meanOf, percent, type Section, type Settings } from './section.js';

const TRACES: readonly TraceName[] = ['wiki', 'tweet', 'azure'];
const SCHEDULERS = ['pard', 'nexus', 'clipper++', 'naive'];
const SLOS_MS = [200, 300, 400, 500, 600];
const QUANTILES = [0, 0.025, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.3, 0.5, 0.75, 1];
const QUANTILES_OF: readonly ApplicationName[] = ['tm', 'lv', 'ga', 'da'];
const ORDERS = ['pard-hbf', 'pard-lbf'];
const QUANTILES_OF_ORDERS = [0.1, 0.5, 1];
const WINDOWS_S = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/** slos serves lv with workers for each SLO (Fig. 14b). */
export async function slos(settings: Settings): Promise<Section> {
  const tables: Section['tables'][number][] = [];
  for (const trace of TRACES) {
    const rows: string[][] = [];
    for (const sloMs of SLOS_MS) {
      const rates: number[] = [];
      for (const scheduler of SCHEDULERS)
        rates.push(meanOf(await dropRates({ application: 'lv', trace, sloMs }, { scheduler }, settings)));
      const [pard = 0, ...others] = rates;
      rows.push([`${sloMs}`, ...rates.map(percent), (Math.min(...others) / pard).toFixed(2)]);
    }
    tables.push({
      said: `Drop rates of lv-${trace} (%) by SLO, and the least of the others over PARD's.`,
      lines: [['SLO, ms', ...SCHEDULERS, 'least other/pard'], ...rows],
    });
  }
  return { tables };
}

/** quantiles serves the applications under tweet with each λ (Fig. 14c). */
export async function quantiles(settings: Settings): Promise<Section> {
  const columns: number[][] = [];
  for (const application of QUANTILES_OF) {
    const column: number[] = [];
    for (const quantile of QUANTILES)
      column.push(await withPolicy(application, 'tweet', `drop.quantile=${quantile}`, settings));
    columns.push(column);
  }
  return {
    tables: [
      {
        said: `Drop rates under tweet (%) by λ. ${columns
          .map((column, i) => `${QUANTILES_OF[i]} has its least with ${bestOf(QUANTILES, column)}`)
          .join(', ')}.`,
        lines: [['λ', ...QUANTILES_OF], ...linesOf(QUANTILES, columns)],
      },
    ],
  };
}

/** orders serves lv-tweet by one order of queues throughout, with some λ: where the least budget is first, λ matters. */
export async function orders(settings: Settings): Promise<Section> {
  const columns: number[][] = [];
  for (const scheduler of ORDERS) {
    const column: number[] = [];
    for (const quantile of QUANTILES_OF_ORDERS) {
      const by = { scheduler, policy: [`drop.quantile=${quantile}`] };
      column.push(meanOf(await dropRates({ application: 'lv', trace: 'tweet' }, by, settings)));
    }
    columns.push(column);
  }
  const said = 'Drop rates of lv-tweet (%) by λ.';
  return { tables: [{ said, lines: [['λ', ...ORDERS], ...linesOf(QUANTILES_OF_ORDERS, columns)] }] };
}

/** windows serves lv under the three traces with each length of the sliding window (Fig. 14d). */
export async function windows(settings: Settings): Promise<Section> {
  const columns: number[][] = [];
  for (const trace of TRACES) {
    const column: number[] = [];
    for (const windowS of WINDOWS_S)
      column.push(await withPolicy('lv', trace, `stateWindowNs=${1e9 * windowS}`, settings));
    columns.push(column);
  }
  const gaps = columns.map((column, i) => {
    const gap = 100 * ((column[WINDOWS_S.indexOf(5)] as number) / Math.min(...column) - 1);
    return `${TRACES[i]} has its least with ${bestOf(WINDOWS_S, column)} s, and 5 s has ${gap.toFixed(1)} % more`;
  });
  return {
    tables: [
      {
        said: `Drop rates of lv (%) by the length of the window in seconds. ${gaps.join('; ')}.`,
        lines: [['window, s', ...TRACES], ...linesOf(WINDOWS_S, columns)],
      },
    ],
  };
}

async function withPolicy(
  application: ApplicationName,
  trace: TraceName,
  choice: string,
  settings: Settings,
): Promise<number> {
  const by = { scheduler: 'pard', policy: [choice] };
  return meanOf(await dropRates({ application, trace }, by, settings));
}

function bestOf(values: readonly number[], rates: readonly number[]): number {
  return values[rates.indexOf(Math.min(...rates))] as number;
}

function linesOf(values: readonly number[], columns: readonly (readonly number[])[]): string[][] {
  return values.map((value, i) => [`${value}`, ...columns.map((column) => percent(column[i] as number))]);
}
