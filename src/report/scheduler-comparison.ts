import type { ComparedFigure, ComparedScheduler, SchedulerComparison } from '../formats/index.js';
import { counted } from '../formats/index.js';
import { workloadText } from './simulate.js';
import { apart, figure, orDash, type Part, percent, type Table } from './table.js';

/** Names of places up to this width stand in one row. */
const MOST_WIDE = 60;
/** Of a scheduler, this many places have a row of their own. */
const MOST_PLACES = 8;

/** schedulersParts show a comparison of schedulers: every figure is the mean over the runs. */
export function schedulersParts(comparison: SchedulerComparison): Part[] {
  const { seed, runs, workload } = comparison;
  const seeds = runs > 1 ? `${counted(runs, 'run')} each from seed ${seed} on` : `seed ${seed}`;
  return [
    `${workloadText(workload)}, the same for all; ${seeds}`,
    ...choiceLines(comparison),
    ...apart([
      comparedTable(comparison),
      applicationsTable(comparison),
      worstTable(comparison),
      dropsTable(comparison),
      overTimeTable(comparison),
    ]),
    ...skippedLines(comparison),
  ];
}

/** choiceLines say which of the given choices did not apply to all. */
export function choiceLines({ choices = [] }: SchedulerComparison): string[] {
  return choices.flatMap(({ choice, notApplied }) =>
    notApplied.length === 0
      ? []
      : [`${choice} does not exist in ${notApplied.join(', ')}, and did not apply`],
  );
}

function skippedLines({ skipped, complete }: SchedulerComparison): string[] {
  const lines = skipped.map(({ scheduler, reason }) => `not compared: ${scheduler}, because ${reason}`);
  return [
    ...(lines.length === 0 ? [] : ['', ...lines]),
    ...(complete ? [] : ['interrupted: not every run was done']),
  ];
}

/** The columns that only comparisons of workflows have. */
const OF_WORKFLOWS = ['loads', 'evictions', 'as expected', 'schedules'];

function workflowCells({ loads, evictions, rightGuesses, schedules }: ComparedScheduler): string[] {
  return [amount(loads), amount(evictions), share(rightGuesses), amount(schedules)];
}

/** comparedTable has one row per scheduler. Several runs add the confidence interval of the attainment. */
export function comparedTable(comparison: SchedulerComparison): Table {
  const { rows, confidence } = comparison;
  const interval = confidence === undefined ? [] : [`${percent(confidence, 0)} interval`];
  const isWeighed = rows.some(({ weightedDropRate }) => weightedDropRate !== undefined);
  const isOfWorkflows = rows.some(({ loads }) => loads !== undefined);
  return {
    columns: [
      ...['scheduler', 'attainment', ...interval, 'dropped'],
      ...(isWeighed ? ['lost, by weight', ...interval] : []),
      ...(isOfWorkflows ? [] : ['invalid']),
      ...['in time/s', 'mean ms', 'p50 ms', 'p95 ms', 'p99 ms'],
      ...(isOfWorkflows ? OF_WORKFLOWS : []),
    ],
    spare: [
      ...(isOfWorkflows ? OF_WORKFLOWS.toReversed() : []),
      ...['p50 ms', 'mean ms', 'p95 ms', 'invalid', 'in time/s', 'dropped', ...interval, 'p99 ms'],
    ],
    rows: rows.map((row) => [
      named(row, comparison),
      share(row.attainment),
      ...(confidence === undefined ? [] : [intervalText(row.attainment)]),
      share(row.dropRate),
      ...(isWeighed
        ? [
            share(row.weightedDropRate),
            ...(confidence === undefined ? [] : [intervalText(row.weightedDropRate)]),
          ]
        : []),
      ...(isOfWorkflows ? [] : [share(row.invalidRate)]),
      ...[row.goodputRps, row.meanMs, row.p50Ms, row.p95Ms, row.p99Ms].map(amount),
      ...(isOfWorkflows ? workflowCells(row) : []),
    ]),
  };
}

/**
 * applicationsTable has the figures of each application, where several share their stages: a row for each scheduler and
 * application.
 */
function applicationsTable(comparison: SchedulerComparison): Table {
  return {
    columns: ['scheduler', 'application', 'attainment', 'dropped', 'in time/s', 'p50 ms', 'p99 ms'],
    spare: ['p50 ms', 'in time/s', 'dropped', 'p99 ms'],
    rows: comparison.rows.flatMap((row) =>
      (row.applications ?? []).map(({ name, attainment, dropRate, goodputRps, p50Ms, p99Ms }) => [
        ...[named(row, comparison), name, share(attainment), share(dropRate)],
        ...[goodputRps, p50Ms, p99Ms].map(amount),
      ]),
    ),
  };
}

/** worstTable has the least goodput and the largest drop rate over windows of each length, by scheduler. */
function worstTable(comparison: SchedulerComparison): Table {
  const { rows } = comparison;
  const lengths = (rows[0]?.worstWindows ?? []).map(({ seconds }) => seconds);
  if (lengths.length === 0) return { columns: [], rows: [] };
  const heads = lengths.flatMap((seconds) => [`in time/s, ${seconds} s`, `dropped, ${seconds} s`]);
  return {
    columns: ['worst window', ...heads],
    spare: heads.slice(1).toReversed(),
    rows: rows.map((row) => [
      named(row, comparison),
      ...row.worstWindows.flatMap(({ leastGoodputRps, largestDropRate }) => [
        amount(leastGoodputRps),
        share(largestDropRate),
      ]),
    ]),
  };
}

/** PlaceShare is the share of arrivals that a scheduler dropped at a place. */
interface PlaceShare {
  readonly place: string;
  readonly share: number;
}

/**
 * dropsTable has the places where requests were dropped, as shares of arrivals: a column for each where these are few and
 * short, as stages are, else a row for each scheduler and place.
 */
function dropsTable(comparison: SchedulerComparison): Table {
  const rows = comparison.rows.map((row) => ({
    name: named(row, comparison),
    shares: Object.entries(row.dropsByStage ?? {}).map(([place, { mean }]) => ({ place, share: mean })),
  }));
  const places = (rows[0]?.shares ?? [])
    .map(({ place }) => place)
    .filter((_, i) => rows.some(({ shares }) => (shares[i]?.share ?? 0) > 0));
  if (places.join('  ').length > MOST_WIDE)
    return {
      columns: ['dropped', 'at', 'of arrivals'],
      rows: rows.flatMap(({ name, shares }) =>
        mostOf(shares).map(({ place, share: part }) => [name, place, finely(part)]),
      ),
    };
  return {
    columns: ['dropped at', ...places],
    spare: places.slice(1).toReversed(),
    rows:
      places.length === 0
        ? []
        : rows.map(({ name, shares }) => [
            name,
            ...shares.flatMap(({ place, share: part }) => (places.includes(place) ? [finely(part)] : [])),
          ]),
  };
}

/** mostOf gives the places with the largest shares, in their order, and the others together. */
function mostOf(shares: readonly PlaceShare[]): readonly PlaceShare[] {
  const dropped = shares.filter(({ share: part }) => part > 0);
  const least = dropped.map(({ share: part }) => part).sort((a, b) => b - a)[MOST_PLACES - 1] ?? 0;
  const most = dropped.filter(({ share: part }) => part >= least);
  const others = dropped.filter(({ share: part }) => part < least);
  if (others.length === 0) return most;
  const rest = others.reduce((sum, { share: part }) => sum + part, 0);
  return [...most, { place: `${others.length} others`, share: rest }];
}

/** overTimeTable has the attainment of each scheduler by windows of time. */
function overTimeTable({ rows }: SchedulerComparison): Table {
  const heads = rows.map(({ scheduler }) => `${scheduler}, in time`);
  return {
    columns: ['from s', 'offered/s', ...heads],
    spare: heads.slice(1).toReversed(),
    rows: (rows[0]?.windows ?? []).map(({ fromS, offeredRps }, i) => [
      String(fromS),
      amount(offeredRps),
      ...rows.map(({ windows }) => share(windows?.[i]?.attainment)),
    ]),
  };
}

function named({ scheduler }: ComparedScheduler, { planned }: SchedulerComparison): string {
  return scheduler === planned ? `${scheduler} (plan)` : scheduler;
}

function amount(one: ComparedFigure | undefined): string {
  return orDash(one?.mean, figure);
}

function share(one: ComparedFigure | undefined): string {
  return orDash(one?.mean, finely);
}

function intervalText(one: ComparedFigure | undefined): string {
  return orDash(one, ({ low, high }) => `${finely(low)} to ${finely(high)}`);
}

function finely(value: number): string {
  return percent(value, 2);
}
