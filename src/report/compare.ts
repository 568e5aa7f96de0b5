import { largestOf } from '../collections/index.js';
import type { CompareRow, ComparisonDocument } from '../formats/index.js';
import type { PlanKind } from '../plans/index.js';
import {
  accuracyText,
  always,
  type BestFigure,
  buyWords,
  type CompareColumn,
  figureOrDash,
  mixWords,
} from './compare-cells.js';
import { overlap } from './interval.js';
import { KINDS } from './kinds/kinds.js';
import { atLeast, figure, orDash, percent, perHour, plain, type Table, upwards } from './table.js';
import { groupedWarnings } from './warnings.js';

/** The reasons of at most this many rows without a plan are shown. */
const MOST_REASONS = 10;

/**
 * compareTable has one row per case and marks the frontier. It leaves out the columns for which no row has a
 * figure (SLO, margin, costs, frontier), and the value per weight where there is one model or the objective
 * is not throughput. Further columns of a kind are in `KINDS`.
 */
export function compareTable({ rows }: ComparisonDocument, kind: PlanKind): Table {
  const columns = columnsOf(kind).filter(({ wanted }) => wanted(rows));
  return {
    columns: columns.map(({ head }) => head),
    rows: samePlans(rows).map(({ row, others }) =>
      columns.map(({ head, cell }) =>
        head === MIX && others > 0 ? `${cell(row)} (and ${others} more)` : cell(row),
      ),
    ),
    spare: columns
      .filter(({ spare }) => spare !== undefined)
      .toSorted((a, b) => Number(a.spare) - Number(b.spare))
      .map(({ head }) => head),
  };
}

/** columnsOf lists the columns that a comparison may have: those of all kinds, and between them those of its own. */
function columnsOf(kind: PlanKind): CompareColumn[] {
  const { merit, service, use } = KINDS[kind].compared;
  return [...ASKED, ...merit, ...COSTS, ...service, ...LEAST, ...use, ...PROOF];
}

/** SamePlan is a row, and how many other mixes have a plan that uses the same GPUs and reaches the same. */
interface SamePlan {
  readonly row: CompareRow;
  readonly others: number;
}

/** Figures are the same where this many digits are. */
const SAME_DIGITS = 9;

/**
 * samePlans puts rows together whose plans use the same GPUs for the same SLOs and reach the same: what there is besides in
 * their mixes need not be bought. The mix with the fewest GPUs stands for them, at the place of the first.
 */
function samePlans(rows: readonly CompareRow[]): SamePlan[] {
  const groups = new Map<string, CompareRow[]>();
  for (const [r, row] of rows.entries()) {
    const { slo, sloMs, margin, sloAccuracy, objective, used } = row;
    const value = objective?.value.toPrecision(SAME_DIGITS);
    const key =
      used === undefined
        ? `${r}`
        : JSON.stringify([slo, sloMs, margin, sloAccuracy, objective?.kind, value, buyWords(row)]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  return [...groups.values()].map((group) => {
    const [row] = group.toSorted((a, b) => gpusIn(a) - gpusIn(b)) as [CompareRow];
    return { row, others: group.length - 1 };
  });
}

function gpusIn({ mix }: CompareRow): number {
  return Object.values(mix).reduce((sum, gpus) => sum + gpus, 0);
}

const MIX = 'mix';

const ASKED: readonly CompareColumn[] = [
  { head: MIX, wanted: always, cell: mixWords },
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
  { head: 'plan', wanted: always, cell: ({ status }) => status, spare: 9 },
];

const COSTS: readonly CompareColumn[] = [
  {
    head: 'W',
    wanted: (rows) => rows.some(({ objective }) => objective?.kind === 'power'),
    cell: ({ objective }) => figureOrDash(objective?.value),
  },
  {
    head: 'per weight',
    wanted: (rows) =>
      rows.some(({ models = [], objective }) => models.length > 1 && objective?.kind === 'throughput'),
    cell: ({ objective }) => figureOrDash(objective?.value),
    spare: 8,
  },
  { head: 'holds', wanted: holds, cell: ({ heldRps }) => orDash(heldRps, (rps) => figure(atLeast(rps))) },
  { head: 'cost/h', wanted: hasCost, cell: ({ hourlyCost }) => figureOrDash(hourlyCost) },
  {
    head: 'cost/million',
    wanted: hasCost,
    cell: ({ costPerMillionRequests }) => figureOrDash(costPerMillionRequests),
    spare: 5,
  },
  {
    head: 'cost/million held',
    wanted: (rows) => rows.some(({ costPerMillionHeld }) => costPerMillionHeld !== undefined),
    cell: ({ costPerMillionHeld }) => figureOrDash(costPerMillionHeld),
    spare: 4,
  },
];

const LEAST: readonly CompareColumn[] = [
  {
    head: 'least SLO ms',
    wanted: (rows) => rows.some(({ smallestFeasibleSloMs }) => smallestFeasibleSloMs !== undefined),
    cell: ({ smallestFeasibleSloMs }) => orDash(smallestFeasibleSloMs, upwards),
    spare: 7,
  },
];

const PROOF: readonly CompareColumn[] = [
  {
    head: 'bound',
    wanted: (rows) => rows.some(({ objective }) => objective !== undefined && objective.gap !== 0),
    cell: ({ objective }) =>
      orDash(objective, ({ kind, bound }) => (kind === 'accuracy' ? accuracyText(bound) : figure(bound))),
    spare: 3,
  },
  {
    head: 'gap',
    wanted: always,
    cell: ({ objective }) => orDash(objective?.gap, (gap) => percent(gap, 2)),
    spare: 3,
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
 * frontier, how far profiles can be trusted, and what an interruption left out.
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
    ...groupedWarnings(notes),
    ...(complete ? [] : [`interrupted: ${rows.length} of ${cases} are done`]),
    ...openLines(rows),
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
  const overlaps =
    less.length === 1
      ? 'the interval of the less accurate plan overlaps'
      : `the intervals of ${open.length} of the ${less.length} less accurate plans overlap`;
  return [
    `${caseWords(best)} is the most accurate on these records; ${overlaps} with its own, so for other samples their order is open`,
  ];
}

/**
 * compareHeadline answers a comparison in one line: how many cases have a plan, and the GPUs with which the figures are best
 * that plans of their kind have. Where plans meet rates as cheaply as they can, that is the price alone.
 */
export function compareHeadline({ rows, currency }: ComparisonDocument, kind: PlanKind): string {
  const planned = rows.filter(({ status }) => hasPlan(status));
  const priced = planned.find(({ objective }) => objective !== undefined && isPrice(objective.kind));
  const priceless = [...KINDS[kind].compared.best, cheapest(currency)];
  const best = priced?.objective === undefined ? priceless : [leastPrice(priced.objective.kind, currency)];
  return [
    `${rows.length} compared: ${planned.length} with a plan`,
    ...best.flatMap((one) => bestOf(planned, one)),
  ].join('; ');
}

/** isPrice says of an objective that plans meet what is asked for at the least of something. */
function isPrice(kind: NonNullable<CompareRow['objective']>['kind']): boolean {
  return kind === 'cost' || kind === 'power' || kind === 'devices';
}

function leastPrice(
  kind: NonNullable<CompareRow['objective']>['kind'],
  currency: string | undefined,
): BestFigure {
  const words = { cost: 'cheapest', power: 'least power', devices: 'fewest devices' }[kind as 'cost'];
  const text = (value: number): string => {
    if (kind === 'cost') return perHour(value, { currency });
    return kind === 'power' ? `${figure(value)} W` : figure(value);
  };
  return { words, figureOf: ({ objective }) => objective?.value, isLeast: true, text };
}

function cheapest(currency = ''): BestFigure {
  return {
    words: 'least cost/million',
    figureOf: ({ costPerMillionRequests }) => costPerMillionRequests,
    isLeast: true,
    text: (value) => `${figure(value)} ${currency}`.trimEnd(),
  };
}

/** Merits that differ by less than this, relatively, are equal, so that the price decides. */
const SAME = 1e-9;

/** costOf is what a plan costs; one that has no price comes last. */
function costOf({ hourlyCost = Number.MAX_VALUE }: CompareRow): number {
  return hourlyCost;
}

/** bestOf names the row whose figure is best, and of equally good ones the cheapest. */
function bestOf(
  planned: readonly CompareRow[],
  { words, figureOf, isLeast, text = figureOrDash }: BestFigure,
): string[] {
  const merit = (row: CompareRow): number => {
    const value = figureOf(row);
    if (value === undefined) return -Number.MAX_VALUE;
    return isLeast ? -value : value;
  };
  const most = largestOf(planned.map(merit));
  const [row] = planned
    .filter((one) => most - merit(one) <= SAME * Math.abs(most))
    .toSorted((a, b) => costOf(a) - costOf(b));
  const value = row && figureOf(row);
  return row === undefined || value === undefined
    ? []
    : [
        `${typeof words === 'string' ? words : words(row)}: ${text(Math.abs(value), row)} with ${caseWords(row, buyWords(row))}`,
      ];
}

function hasPlan(status: CompareRow['status']): boolean {
  return status === 'optimal' || status === 'feasible';
}

function reasonOf(row: CompareRow): string {
  const { reasons: [reason, ...others] = [] } = row;
  const more = others.length > 0 ? ` (and ${others.length} more)` : '';
  return `no plan with ${caseWords(row)}: ${reason}${more}`;
}

/** caseWords names a row by its mix, or other GPUs, and its swept values. */
function caseWords(row: CompareRow, gpus = mixWords(row)): string {
  const { slo, margin, sloAccuracy } = row;
  return [
    gpus,
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
