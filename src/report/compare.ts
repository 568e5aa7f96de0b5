import type { CompareRow, ComparisonDocument } from '../artifacts/index.js';
import { type AccuracyInterval, counted } from '../artifacts/index.js';
import { accuracyCell, overlap } from './interval.js';
import { figure, orDash, percent, plain, type Table } from './table.js';

/** For a table with more rows than fit on a screen, a line sums up the results. */
const LONG_TABLE = 20;

/** The reasons of at most this many rows without a plan are shown. */
const MOST_REASONS = 10;

/**
 * compareTable has one row per case and marks the frontier. It leaves out the columns for which no row has a figure
 * (SLO, margin, costs, frontier), and the value per weight where there is one model or the objective is not throughput.
 * Cascades have accuracy, p95 and devices in place of throughput and utilisation.
 */
export function compareTable({ rows }: ComparisonDocument): Table {
  const columns = COLUMNS.filter(({ wanted }) => wanted(rows));
  return {
    columns: columns.map(({ head }) => head),
    rows: rows.map((row) => columns.map(({ cell }) => cell(row))),
  };
}

interface Column {
  readonly head: string;
  readonly wanted: (rows: readonly CompareRow[]) => boolean;
  readonly cell: (row: CompareRow) => string;
}

const always = (): boolean => true;

const COLUMNS: readonly Column[] = [
  { head: 'mix', wanted: always, cell: mixWords },
  {
    head: 'SLO',
    wanted: (rows) => rows.some(({ slo }) => slo !== undefined),
    cell: ({ slo = '' }) => sweptWords(slo),
  },
  {
    head: 'promised accuracy',
    wanted: (rows) => new Set(rows.map(({ sloAccuracy }) => sloAccuracy)).size > 1,
    cell: ({ sloAccuracy }) => accuracyText(sloAccuracy),
  },
  {
    head: 'margin',
    wanted: (rows) => rows.some(({ margin }) => margin !== undefined),
    cell: ({ margin }) => orDash(margin, percent),
  },
  { head: 'plan', wanted: always, cell: ({ status }) => status },
  {
    head: 'accuracy',
    wanted: isOfCascades,
    cell: ({ accuracy }) => accuracyText(accuracy),
  },
  {
    head: 'with 95 % confidence',
    wanted: isOfCascades,
    cell: ({ accuracyInterval }) => orDash(accuracyInterval, intervalWords),
  },
  { head: 'p95 ms', wanted: isOfCascades, cell: ({ p95Ms }) => shown(p95Ms) },
  { head: 'devices', wanted: isOfCascades, cell: ({ used }) => orDash(used, (mix) => mixWords({ mix })) },
  {
    head: 'requests/s',
    wanted: (rows) => !isOfCascades(rows),
    cell: ({ throughputRps }) => shown(throughputRps),
  },
  {
    head: 'per weight',
    wanted: (rows) =>
      rows.some(({ models = [], objective }) => models.length > 1 && objective?.kind === 'throughput'),
    cell: ({ objective }) => shown(objective?.value),
  },
  { head: 'holds', wanted: holds, cell: ({ heldRps }) => shown(heldRps) },
  { head: 'cost/h', wanted: hasCost, cell: ({ hourlyCost }) => shown(hourlyCost) },
  {
    head: 'cost/million',
    wanted: hasCost,
    cell: ({ costPerMillionRequests }) => shown(costPerMillionRequests),
  },
  {
    head: 'cost/million held',
    wanted: (rows) => rows.some(({ costPerMillionHeld }) => costPerMillionHeld !== undefined),
    cell: ({ costPerMillionHeld }) => shown(costPerMillionHeld),
  },
  {
    head: 'in time',
    wanted: isOfPipelines,
    cell: ({ attainment }) => orDash(attainment, (share) => percent(share, 2)),
  },
  { head: 'p99 ms', wanted: isOfPipelines, cell: ({ p99Ms }) => shown(p99Ms) },
  {
    head: 'least SLO ms',
    wanted: (rows) => rows.some(({ smallestFeasibleSloMs }) => smallestFeasibleSloMs !== undefined),
    cell: ({ smallestFeasibleSloMs }) => shown(smallestFeasibleSloMs),
  },
  {
    head: 'utilisation',
    wanted: (rows) => !isOfPipelines(rows) && !isOfCascades(rows),
    cell: ({ utilisation }) => orDash(utilisation, percent),
  },
  {
    head: 'gap',
    wanted: always,
    cell: ({ objective }) => orDash(objective?.gap, (gap) => percent(gap, 2)),
  },
  {
    head: 'frontier',
    wanted: (rows) => rows.some(({ frontier }) => frontier !== undefined),
    cell: ({ frontier }) => (frontier === true ? '*' : ''),
  },
];

function holds(rows: readonly CompareRow[]): boolean {
  return rows.some(({ heldRps }) => heldRps !== undefined);
}

function isOfPipelines(rows: readonly CompareRow[]): boolean {
  return rows.some(({ attainment }) => attainment !== undefined);
}

function isOfCascades(rows: readonly CompareRow[]): boolean {
  return rows.some(({ accuracy }) => accuracy !== undefined);
}

function hasCost(rows: readonly CompareRow[]): boolean {
  return rows.some(({ hourlyCost }) => hourlyCost !== undefined);
}

function shown(value: number | undefined): string {
  return orDash(value, figure);
}

function intervalWords({ low, high, samples }: AccuracyInterval): string {
  return `${percent(low)} – ${percent(high)} (${counted(samples, 'sample')})`;
}

function accuracyText(share: number | undefined): string {
  return orDash(share, (one) => percent(one, 2));
}

/** mixWords writes a mix as `25 L4 + 75 T4`, without the classes that have no GPUs. */
function mixWords({ mix, unlimited = [] }: Pick<CompareRow, 'mix' | 'unlimited'>): string {
  const parts = Object.entries(mix).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []));
  return [...parts, ...unlimited.map((name) => `any ${name}`)].join(' + ') || 'no GPU';
}

/**
 * compareNotes gives what the table does not show: why rows have no plan (ten at most), why plans are not on a
 * frontier, how far profiles can be trusted, what an interruption left out, and for 20 rows or more a summary.
 */
export function compareNotes({ rows, cases, complete, notes = [] }: ComparisonDocument): string[] {
  const without = rows.filter(({ reasons = [] }) => reasons.length > 0);
  const told = without.slice(0, MOST_REASONS).map(reasonOf);
  const left = without.length - told.length;
  return [
    ...told,
    ...(left > 0 ? [`… and ${left} more without a plan; --json says why`] : []),
    ...(rows.some(({ status, hourlyCost }) => hasPlan(status) && hourlyCost === undefined)
      ? ['classes without hourlyCost: no cost and no frontier for the plans that use them']
      : []),
    ...notes,
    ...(complete ? [] : [`interrupted: ${rows.length} of ${cases} are done`]),
    ...openLines(rows),
    ...(rows.length >= LONG_TABLE ? [summaryOf(rows)] : []),
  ];
}

/**
 * openLines say of how many plans of cascades these records do not show, for other samples, that they are less accurate
 * than the most accurate one, as the intervals overlap.
 */
function openLines(rows: readonly CompareRow[]): string[] {
  const accuracyOf = ({ accuracy = 0 }: CompareRow) => accuracy;
  const planned = rows.filter(({ accuracy }) => accuracy !== undefined);
  const [best, ...others] = planned.toSorted((a, b) => accuracyOf(b) - accuracyOf(a));
  const less = best === undefined ? [] : others.filter((row) => accuracyOf(row) < accuracyOf(best));
  const open = less.filter((row) => overlap(row.accuracyInterval, best?.accuracyInterval));
  if (best === undefined || open.length === 0) return [];
  return [
    `${caseWords(best)} is the most accurate on these records; the intervals of ${open.length} of the ${less.length} less accurate plans overlap with its own, so for other samples their order is open`,
  ];
}

/**
 * summaryOf counts the rows and names the one with the most throughput, or of cascades the most accurate and the fastest,
 * and the cheapest per request.
 */
function summaryOf(rows: readonly CompareRow[]): string {
  const planned = rows.filter(({ status }) => hasPlan(status));
  const best = (
    words: string,
    figureOf: (row: CompareRow) => number | undefined,
    text: (value: number, row: CompareRow) => string = shown,
  ) => {
    const merit = (row: CompareRow) => figureOf(row) ?? -Number.MAX_VALUE;
    const [row] = planned.toSorted((a, b) => merit(b) - merit(a));
    const value = row && figureOf(row);
    return row === undefined || value === undefined
      ? []
      : [`${words}: ${text(Math.abs(value), row)} with ${caseWords(row)}`];
  };
  const less = (value: number | undefined) => (value === undefined ? value : -value);
  return [
    `${rows.length} compared: ${planned.length} with a plan`,
    ...(isOfCascades(rows)
      ? [
          ...best(
            'most accurate on these records',
            ({ accuracy }) => accuracy,
            (accuracy, { accuracyInterval }) => accuracyCell(accuracy, accuracyInterval),
          ),
          ...best('least p95 ms', ({ p95Ms }) => less(p95Ms)),
        ]
      : best('most requests/s', ({ throughputRps }) => throughputRps)),
    ...best('least cost/million', ({ costPerMillionRequests }) => less(costPerMillionRequests)),
  ].join('; ');
}

function hasPlan(status: CompareRow['status']): boolean {
  return status === 'optimal' || status === 'feasible';
}

function reasonOf(row: CompareRow): string {
  const { reasons = [] } = row;
  const more = reasons.length > 1 ? ` (and ${reasons.length - 1} more)` : '';
  return `no plan with ${caseWords(row)}: ${reasons[0]}${more}`;
}

/** caseWords names a row by its mix and its swept values. */
function caseWords({ mix, unlimited = [], slo, margin, sloAccuracy }: CompareRow): string {
  return [
    mixWords({ mix, unlimited }),
    ...(slo ? [`SLO ${sweptWords(slo)}`] : []),
    ...(sloAccuracy === undefined ? [] : [`accuracy ${accuracyText(sloAccuracy)}`]),
    ...(margin === undefined ? [] : [`margin ${sweptWords(String(margin))}`]),
  ].join(', ');
}

/** sweptWords writes a swept value, such as `9.763x`, with at most four significant digits, or as a whole number. */
function sweptWords(value: string): string {
  return value.replace(/^\d+\.\d+/, (number) =>
    Number(number) >= 1000 ? String(Math.round(Number(number))) : plain(Number(number), 4),
  );
}
