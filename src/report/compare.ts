import type { CompareRow, ComparisonDocument } from '../artifacts/index.js';
import type { PlanKind } from '../plans/index.js';
import {
  accuracyText,
  always,
  type BestFigure,
  type CompareColumn,
  figureOrDash,
  mixWords,
} from './compare-cells.js';
import { overlap } from './interval.js';
import { KINDS } from './kinds/kinds.js';
import { orDash, percent, plain, type Table } from './table.js';

/** For a table with more rows than fit on a screen, a line sums up the results. */
const LONG_TABLE = 20;

/** The reasons of at most this many rows without a plan are shown. */
const MOST_REASONS = 10;

/**
 * compareTable has one row per case and marks the frontier. It leaves out the columns for which no row has a figure
 * (SLO, margin, costs, frontier), and the value per weight where there is one model or the objective is not throughput.
 * What plans of a kind have besides, `KINDS` says.
 */
export function compareTable({ rows }: ComparisonDocument, kind: PlanKind): Table {
  const columns = columnsOf(kind).filter(({ wanted }) => wanted(rows));
  return {
    columns: columns.map(({ head }) => head),
    rows: rows.map((row) => columns.map(({ cell }) => cell(row))),
  };
}

/** columnsOf lists the columns that a comparison may have: those of all kinds, and between them those of its own. */
function columnsOf(kind: PlanKind): CompareColumn[] {
  const { merit, service, use } = KINDS[kind].compared;
  return [...ASKED, ...merit, ...COSTS, ...service, ...LEAST, ...use, ...PROOF];
}

const ASKED: readonly CompareColumn[] = [
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
];

const COSTS: readonly CompareColumn[] = [
  {
    head: 'per weight',
    wanted: (rows) =>
      rows.some(({ models = [], objective }) => models.length > 1 && objective?.kind === 'throughput'),
    cell: ({ objective }) => figureOrDash(objective?.value),
  },
  { head: 'holds', wanted: holds, cell: ({ heldRps }) => figureOrDash(heldRps) },
  { head: 'cost/h', wanted: hasCost, cell: ({ hourlyCost }) => figureOrDash(hourlyCost) },
  {
    head: 'cost/million',
    wanted: hasCost,
    cell: ({ costPerMillionRequests }) => figureOrDash(costPerMillionRequests),
  },
  {
    head: 'cost/million held',
    wanted: (rows) => rows.some(({ costPerMillionHeld }) => costPerMillionHeld !== undefined),
    cell: ({ costPerMillionHeld }) => figureOrDash(costPerMillionHeld),
  },
];

const LEAST: readonly CompareColumn[] = [
  {
    head: 'least SLO ms',
    wanted: (rows) => rows.some(({ smallestFeasibleSloMs }) => smallestFeasibleSloMs !== undefined),
    cell: ({ smallestFeasibleSloMs }) => figureOrDash(smallestFeasibleSloMs),
  },
];

const PROOF: readonly CompareColumn[] = [
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

function hasCost(rows: readonly CompareRow[]): boolean {
  return rows.some(({ hourlyCost }) => hourlyCost !== undefined);
}

/**
 * compareNotes gives what the table does not show: why rows have no plan (ten at most), why plans are not on a
 * frontier, how far profiles can be trusted, what an interruption left out, and for 20 rows or more a summary.
 */
export function compareNotes(
  { rows, cases, complete, notes = [] }: ComparisonDocument,
  kind: PlanKind,
): string[] {
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
    ...(rows.length >= LONG_TABLE ? [summaryOf(rows, kind)] : []),
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

/** summaryOf counts the rows and names those with the best figures that plans of their kind have, and the cheapest per request. */
function summaryOf(rows: readonly CompareRow[], kind: PlanKind): string {
  const planned = rows.filter(({ status }) => hasPlan(status));
  return [
    `${rows.length} compared: ${planned.length} with a plan`,
    ...[...KINDS[kind].compared.best, CHEAPEST].flatMap((best) => bestOf(planned, best)),
  ].join('; ');
}

const CHEAPEST: BestFigure = {
  words: 'least cost/million',
  figureOf: ({ costPerMillionRequests }) => costPerMillionRequests,
  isLeast: true,
};

function bestOf(
  planned: readonly CompareRow[],
  { words, figureOf, isLeast, text = figureOrDash }: BestFigure,
): string[] {
  const merit = (row: CompareRow): number => {
    const value = figureOf(row);
    if (value === undefined) return -Number.MAX_VALUE;
    return isLeast ? -value : value;
  };
  const [row] = planned.toSorted((a, b) => merit(b) - merit(a));
  const value = row && figureOf(row);
  return row === undefined || value === undefined
    ? []
    : [`${words}: ${text(Math.abs(value), row)} with ${caseWords(row)}`];
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
