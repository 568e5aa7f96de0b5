import type { FigureRow } from './figure-rows.js';
import { WINDOWS_S } from './figure-rows.js';
import { pairedSpread, percentText, pointsText, spreadOf, verdictOf } from './spread.js';

/** Table is lines of cells, the first of which has the names of the columns. */
export type Table = readonly (readonly string[])[];

/** WorkloadRows holds the rows of one workload, by the name of who served it, in the order of the seeds. */
export interface WorkloadRows {
  readonly name: string;
  readonly by: ReadonlyMap<string, readonly FigureRow[]>;
}

/** byWorkload groups rows by their workload, in the order in which workloads come first. */
export function byWorkload(rows: readonly FigureRow[]): WorkloadRows[] {
  const found = new Map<string, Map<string, FigureRow[]>>();
  for (const row of rows) {
    const name = `${row.application}-${row.trace}`;
    const by = found.get(name) ?? new Map<string, FigureRow[]>();
    found.set(name, by.set(row.server, [...(by.get(row.server) ?? []), row]));
  }
  return [...found].map(([name, by]) => ({ name, by }));
}

/** markdown shows a table as Markdown: the first column to the left, all others to the right. */
export function markdown([head = [], ...lines]: Table): string {
  const rule = head.map((_, i) => (i === 0 ? '---' : '---:'));
  return `${[head, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}

type Figure = (row: FigureRow) => number;

function valuesOf({ by }: WorkloadRows, server: string, figure: Figure): number[] {
  return (by.get(server) ?? []).map(figure);
}

function othersOf([first]: readonly WorkloadRows[]): string[] {
  return [...(first?.by.keys() ?? [])].filter((server) => server !== 'pard');
}

/** ratioText shows by how much one mean is larger than another: 1.0 is as large. */
function ratioText(mean: number, other: number): string {
  if (other === 0) return mean === 0 ? '–' : '∞';
  const ratio = mean / other;
  return `${ratio < 10 ? ratio.toPrecision(2) : ratio.toFixed(0)}×`;
}

/**
 * rateTable shows a rate of each workload that should be low: PARD's, and that of each other with its ratio to PARD's. The
 * last column says where PARD's is lower by more than two standard errors of the differences seed by seed.
 */
export function rateTable(all: readonly WorkloadRows[], figure: Figure, withLeast: boolean): Table {
  const others = othersOf(all);
  const least = withLeast ? ['least possible'] : [];
  return [
    ['workload', ...least, 'pard', ...others, 'pard is'],
    ...all.map((one) => {
      const own = valuesOf(one, 'pard', figure);
      const { mean } = spreadOf(own);
      return [
        one.name,
        ...(withLeast ? [leastText(one)] : []),
        percentText(spreadOf(own)),
        ...others.map((server) => {
          const spread = spreadOf(valuesOf(one, server, figure));
          return `${percentText(spread)} (${ratioText(spread.mean, mean)})`;
        }),
        standing(one, own, { others, figure }),
      ];
    }),
  ];
}

/** leastText is the least drop rate that is possible with the devices that PARD had. */
function leastText(one: WorkloadRows): string {
  const least = valuesOf(one, 'pard', ({ leastDropRate }) => leastDropRate ?? 0);
  return (100 * spreadOf(least).mean).toFixed(2);
}

/** standing lists the servers that a figure of PARD's is not below by more than two standard errors. */
function standing(
  one: WorkloadRows,
  own: readonly number[],
  { others, figure }: { readonly others: readonly string[]; readonly figure: Figure },
): string {
  const told = others.flatMap((server) => {
    const verdict = verdictOf(pairedSpread(own, valuesOf(one, server, figure)));
    return verdict === 'lower' ? [] : [`${verdict === 'alike' ? 'like' : 'above'} ${server}`];
  });
  return told.length === 0 ? 'lowest' : told.join(', ');
}

/** possibleTable shows how many points of requests each loses beyond what nobody can avoid with the same devices. */
export function possibleTable(all: readonly WorkloadRows[]): Table {
  const servers = ['pard', ...othersOf(all)];
  return [
    ['workload', 'least, all devices', ...servers],
    ...all.map((one) => [
      one.name,
      (100 * spreadOf(valuesOf(one, 'pard', ({ leastWithAll }) => leastWithAll ?? 0)).mean).toFixed(2),
      ...servers.map((server) =>
        percentText(
          spreadOf(valuesOf(one, server, ({ dropRate, leastDropRate }) => dropRate - (leastDropRate ?? 0))),
        ),
      ),
    ]),
  ];
}

/** goodputTable shows by how many percent PARD's goodput is above that of others, overall and in the periods that need dropping. */
export function goodputTable(all: readonly WorkloadRows[]): Table {
  const others = othersOf(all);
  const gain = (one: WorkloadRows, server: string, figure: Figure) => {
    const own = spreadOf(valuesOf(one, 'pard', figure)).mean;
    const theirs = spreadOf(valuesOf(one, server, figure)).mean;
    if (theirs === 0) return '–';
    const percent = 100 * (own / theirs - 1);
    return `${percent < 0 ? '−' : '+'}${Math.abs(percent).toFixed(1)}`;
  };
  const rps = (one: WorkloadRows, figure: Figure) => spreadOf(valuesOf(one, 'pard', figure)).mean.toFixed(0);
  return [
    ['workload', 'pard/s', ...others, 'needing, s', 'offered/s', 'pard/s', ...others],
    ...all.map((one) => [
      one.name,
      rps(one, ({ goodputRps }) => goodputRps),
      ...others.map((server) => gain(one, server, ({ goodputRps }) => goodputRps)),
      rps(one, ({ needing }) => needing.seconds),
      rps(one, ({ needing }) => needing.offeredRps),
      rps(one, ({ needing }) => needing.goodputRps),
      ...others.map((server) => gain(one, server, ({ needing }) => needing.goodputRps)),
    ]),
  ];
}

/** windowTable shows the largest drop rate of any window, by its length and by who serves. */
export function windowTable(all: readonly WorkloadRows[]): Table {
  const servers = ['pard', ...othersOf(all)];
  return [
    ['workload', ...WINDOWS_S.flatMap((seconds) => servers.map((server) => `${server}, ${seconds} s`))],
    ...all.map((one) => [
      one.name,
      ...WINDOWS_S.flatMap((_, i) =>
        servers.map((server) => {
          const worst = valuesOf(one, server, ({ worstDropRate }) => worstDropRate[i]!);
          return (100 * spreadOf(worst).mean).toFixed(1);
        }),
      ),
    ]),
  ];
}

/** ownWindowTable shows the largest drop rate of any window of one workload, with a line for each that serves it. */
export function ownWindowTable(one: WorkloadRows): Table {
  return [
    ['scheduler', ...WINDOWS_S.map((seconds) => `${seconds} s`)],
    ...[...one.by.keys()].map((server) => [
      server,
      ...WINDOWS_S.map((_, i) =>
        percentText(spreadOf(valuesOf(one, server, ({ worstDropRate }) => worstDropRate[i]!)), 1),
      ),
    ]),
  ];
}

/** stageTable shows where each drops: the share of its drops at each stage, beside the requests that ended late. */
export function stageTable(one: WorkloadRows): Table {
  const stages = [...one.by.values()][0]?.[0]?.stages ?? [];
  return [
    ['scheduler', 'dropped', ...stages, 'late, of all'],
    ...[...one.by].map(([server, rows]) => [
      server,
      (100 * spreadOf(rows.map(({ dropRate, lateRate }) => dropRate - lateRate)).mean).toFixed(2),
      ...stages.map((_, i) => (100 * spreadOf(rows.map(({ dropsAt }) => dropsAt[i]!)).mean).toFixed(1)),
      (100 * spreadOf(rows.map(({ lateRate }) => lateRate)).mean).toFixed(2),
    ]),
  ];
}

/** waitTable shows how long tasks wait before their batch begins at each stage, and how many devices are up, in the mean. */
export function waitTable(one: WorkloadRows): Table {
  const stages = [...one.by.values()][0]?.[0]?.stages ?? [];
  const meanOf = (rows: readonly FigureRow[], figure: Figure, digits: number) =>
    spreadOf(rows.map(figure)).mean.toFixed(digits);
  return [
    ['scheduler', ...stages.map((stage) => `${stage}: ms, batch, devices`)],
    ...[...one.by].map(([server, rows]) => [
      server,
      ...stages.map((_, i) =>
        [
          meanOf(rows, ({ waitMs }) => waitMs[i]!, 1),
          meanOf(rows, ({ batch }) => batch[i]!, 1),
          meanOf(rows, ({ workers }) => workers[i]!, 1),
        ].join(', '),
      ),
    ]),
  ];
}

/** ablationTable shows the drop and invalid rates of each, and how they differ from PARD's seed by seed. */
export function ablationTable(one: WorkloadRows): Table {
  const dropRate: Figure = (row) => row.dropRate;
  const invalidRate: Figure = (row) => row.invalidRate;
  return [
    ['scheduler', 'dropped', 'points more than pard', 'it is', 'invalid', 'points more than pard', 'it is'],
    ...[...one.by.keys()].map((server) => [
      server,
      ...[dropRate, invalidRate].flatMap((figure) => {
        const values = valuesOf(one, server, figure);
        const more = pairedSpread(values, valuesOf(one, 'pard', figure));
        const compared = server === 'pard' ? ['', ''] : [pointsText(more), verdictOf(more)];
        return [percentText(spreadOf(values)), ...compared];
      }),
    ]),
  ];
}

/** branchTable shows how much more PARD drops where requests take one of two branches. */
export function branchTable(all: readonly WorkloadRows[]): Table {
  const meanOf = (name: string) => {
    const found = all.find((one) => one.name === name);
    return found === undefined ? undefined : valuesOf(found, 'pard', ({ dropRate }) => dropRate);
  };
  const traces = all.flatMap(({ name }) => (/^da-(?!branch)/.test(name) ? [name.slice('da-'.length)] : []));
  return [
    ['trace', 'da', 'da-branch', 'more, times'],
    ...traces.map((trace) => {
      const [whole = [], branch = []] = [meanOf(`da-${trace}`), meanOf(`da-branch-${trace}`)];
      const more = spreadOf(branch).mean / spreadOf(whole).mean - 1;
      return [
        ...[trace, percentText(spreadOf(whole)), percentText(spreadOf(branch))],
        `${more < 0 ? '−' : ''}${Math.abs(more).toFixed(2)}×`,
      ];
    }),
  ];
}
