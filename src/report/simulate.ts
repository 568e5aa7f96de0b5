import { pushAll } from '../collections/index.js';
import type {
  LargestLoad,
  SimulatedModel,
  SimulatedPool,
  SimulatedRequests,
  SimulatedWorkload,
  SimulationReport,
  SimulationSweep,
} from '../formats/index.js';
import { counted, stageMark } from '../formats/index.js';
import { engineText } from './engine.js';
import { EVERY_KIND, simulatedTables } from './kinds/kinds.js';
import {
  apart,
  count,
  decimals,
  figure,
  orDash,
  type Part,
  percent,
  perHour,
  plain,
  type Table,
} from './table.js';

/** simulationParts show the report of a simulation. */
export function simulationParts(report: SimulationReport): Part[] {
  const general = [runsTable, outcomeTable, priorityTable, splitTable, dropTable, poolTable, busyTable];
  return [
    ...simulationHeadlines(report),
    ...EVERY_KIND.flatMap(({ simulated }) => simulated.lines(report)),
    ...apart([
      ...general.map((table) => table(report)),
      ...simulatedTables(report, 'tables'),
      windowTable(report),
      ...simulatedTables(report, 'windows'),
    ]),
  ];
}

/** simulationHeadlines states the outcome of a run in one sentence, and the choices that decided it in another. */
export function simulationHeadlines(report: SimulationReport): string[] {
  const { complete, overall, workload, scheduler, transfers, seed, execution, verdicts } = report;
  const machine = transfers === 'none' ? ', on one machine' : '';
  const fates = verdicts === undefined ? '' : `; verdicts of ${verdicts.recordedRequests} recorded requests`;
  const preset = scheduler.preset === undefined ? '' : `, preset ${scheduler.preset}`;
  const slow = execution.slow === 1 ? '' : `, executions × ${execution.slow}`;
  const jitter = { none: '', profile: ", the profile's spread", cv: `, spread of cv ${execution.cv}` }[
    execution.jitter
  ];
  const engine = report.engine === undefined ? '' : `; ${engineText(report.engine)}`;
  const reachedS = overall.offeredRps === 0 ? 0 : overall.arrived / overall.offeredRps;
  const tuner = scheduler.tuner === undefined ? '' : `, tuner ${scheduler.tuner.kind}`;
  const interrupted = complete ? '' : `, interrupted after ${figure(reachedS)} s of it`;
  return [
    `${attainmentText(overall)} of ${count(overall.arrived)} ${overall.arrived === 1 ? 'request' : 'requests'} in time; ${figure(overall.goodputRps)} requests/s in time of ${figure(overall.offeredRps)}`,
    ...costLine(report),
    `${workloadText(workload)}${interrupted}, seed ${seed}; scheduler ${scheduler.name}${preset}${tuner}${machine}${slow}${jitter}${engine}${fates}`,
  ];
}

/** workloadText says which requests arrive, at which rate and for how long. */
export function workloadText({ models, arrivals, phases, durationS, warmUpS }: SimulatedWorkload): string {
  const rate = models.reduce((sum, { rps }) => sum + rps, 0);
  const asked = models.filter(({ rps }) => rps > 0);
  const loads = [...new Set(asked.map(({ loadFactor }) => factor(loadFactor)))];
  const load = loads.length === 1 ? ` (${loads[0]} of the plan's rate)` : '';
  const inPhases = phases === undefined ? '' : ` in ${counted(phases.length, 'phase')}`;
  const warmed = warmUpS === undefined ? '' : ` after ${figure(warmUpS)} s that fill the queues`;
  return `${arrivals} arrivals${inPhases}, ${figure(rate)} requests/s${load} for ${plain(durationS, 6)} s${warmed}`;
}

/** costLine says what devices cost that come and go. The cost of other devices follows from the plan. */
function costLine({ cost, pools, workload }: SimulationReport): string[] {
  if (cost === undefined || pools.every(({ inUse }) => inUse === undefined)) return [];
  const loadS = workload.durationS + (workload.warmUpS ?? 0);
  const over = cost.overS === loadS ? '' : ' until the last request ended';
  return [
    `the devices in use cost ${perHour(cost.perHour, cost)} on average, ${figure(cost.total)} over the ${plain(cost.overS, 4)} s${over}`,
  ];
}

/**
 * runsTable shows the means over several runs with their confidence intervals, by model and for all of several models.
 * It has no rows for a single run.
 */
export function runsTable({ runs, models }: SimulationReport): Table {
  if (runs === undefined) return { columns: [], rows: [] };
  const interval = `${percent(runs.confidence, 0)} interval`;
  const columns = [`${runs.count} runs`, 'attainment', interval, 'least', 'in time/s', 'p99 ms'];
  const all = models.length > 1 ? [{ name: 'all', ...runs.overall }] : [];
  const rows = [...runs.models, ...all].map(({ name, attainment, goodputRps, p99Ms }) => [
    name,
    orDash(attainment?.mean, finely),
    attainment === undefined ? '—' : `${finely(attainment.low)} to ${finely(attainment.high)}`,
    orDash(attainment?.least, finely),
    figure(goodputRps.mean),
    ms(p99Ms?.mean),
  ]);
  return { columns, rows, spare: ['least', interval, 'in time/s'] };
}

/**
 * outcomeTable has one row per model, and one of all models when there are several. Its column `dropped` counts failed
 * requests too, and `of plan` is the offered rate over the planned one.
 */
export function outcomeTable({ models, overall }: SimulationReport): Table {
  const rows = models.map(outcomeRow);
  if (models.length > 1) rows.push(outcomeCells('all', overall, '', ''));
  return {
    columns: [
      'model',
      'offered/s',
      'of plan',
      'in time',
      'late',
      'dropped',
      'attainment',
      'p50 ms',
      'p99 ms',
      'SLO ms',
    ],
    rows,
    spare: ['of plan', 'p50 ms', 'in time', 'SLO ms', 'late', 'dropped', 'offered/s'],
  };
}

/**
 * splitTable shows, by model and for all of several, the mean latency of answered requests in ms with its parts, and
 * the invalid rate.
 */
export function splitTable({ models, overall, workflows }: SimulationReport): Table {
  // Where the time of workflows went is not reported.
  if (workflows !== undefined) return { columns: [], rows: [] };
  const parts = [...models.map(({ name, requests }) => ({ name, requests }))];
  if (models.length > 1) parts.push({ name: 'all', requests: overall });
  const rows = parts.map(({ name, requests: { latencyMs, splitMs, invalidRate } }) => [
    name,
    ms(latencyMs?.mean),
    ms(splitMs?.queueing.mean),
    ms(splitMs?.transfer.mean),
    ms(splitMs?.compute.mean),
    orDash(invalidRate, finely),
  ]);
  const split = ['queueing', 'transfer', 'compute'];
  return { columns: ['model', 'mean ms', ...split, 'invalid'], rows, spare: ['invalid', ...split] };
}

/** busyTable has one row per device class: how busy its virtual GPUs were. Links have rows where any was in use. */
export function busyTable({ classes, links }: SimulationReport): Table {
  const rows = Object.entries(classes).map(([name, use]) => [
    use.emulated ? `${name} (emulated)` : name,
    `${use.virtualGpus}`,
    figure(use.gpus),
    percent(use.utilisation),
  ]);
  const none = { mean: 0, busiest: 0 };
  const { uplink = none, downlink = none } = links ?? {};
  if (uplink.busiest > 0)
    rows.push(
      ['uplinks, mean', '', '', percent(uplink.mean)],
      ['uplinks, busiest', '', '', percent(uplink.busiest)],
    );
  if (downlink.busiest > 0)
    rows.push(
      ['downlinks, mean', '', '', percent(downlink.mean)],
      ['downlinks, busiest', '', '', percent(downlink.busiest)],
    );
  return { columns: ['class', 'virtual devices', 'devices', 'busy'], rows };
}

/** poolTable has one row per pool with its executions. */
export function poolTable({ pools }: SimulationReport): Table {
  const isScaled = pools.some(({ inUse }) => inUse !== undefined);
  const rows = pools.map((pool) => [
    pool.model,
    stageMark(pool),
    [pool, ...(pool.others ?? [])]
      .map((one) => `${one.virtualGpus} × 1/${one.virtual} ${one.class}`)
      .join(' + '),
    String(pool.batch),
    orDash(pool.meanBatch, figure),
    count(pool.batches),
    percent(pool.utilisation),
    ...(isScaled ? [inUseText(pool)] : []),
  ]);
  const columns = ['model', 'part', 'on', 'batch', 'mean batch', 'batches', 'busy'];
  return {
    columns: isScaled ? [...columns, 'replicas in use'] : columns,
    rows,
    spare: ['batches', 'batch', 'mean batch', 'model'],
  };
}

function inUseText({ inUse }: SimulatedPool): string {
  if (inUse === undefined) return '—';
  return inUse.least === inUse.most
    ? `${inUse.most}`
    : `${inUse.least} to ${inUse.most}, mean ${figure(inUse.mean)}`;
}

/** priorityTable gives what became of requests by their priorities. It is empty where they have none. */
export function priorityTable({ priorities }: SimulationReport): Table {
  const levels = priorities?.levels ?? [];
  const rows = levels.map((level) => [
    level.priority === 0 ? 'none' : `${level.priority}`,
    plain(level.weight, 6),
    ...[level.arrived, level.inTime, level.late, level.dropped, level.failed].map((each) => count(each)),
    orDash(level.attainment, percent),
  ]);
  const lost = priorities?.weightedDropRate;
  if (lost !== undefined) rows.push(['all, by weight', '', '', '', '', '', '', percent(1 - lost)]);
  return {
    columns: ['priority', 'weight', 'requests', 'in time', 'late', 'dropped', 'failed', 'attainment'],
    rows,
    spare: ['weight', 'failed', 'late', 'in time', 'dropped'],
  };
}

/** dropTable gives the reasons and places of drops. It is empty when there were none. */
export function dropTable({ drops }: SimulationReport): Table {
  const rows = drops.map(({ model, reason, place, count: requests }) => [
    model,
    reason,
    place,
    count(requests),
  ]);
  return { columns: ['dropped', 'reason', 'at', 'requests'], rows };
}

/** windowTable has one row per window, and none where the report has no windows. */
export function windowTable({ windows, classes, pools }: SimulationReport): Table {
  const rows = (windows?.rows ?? []).map((row) => [
    String(row.fromS),
    figure(row.offeredRps),
    orDash(row.attainment, finely),
    figure(row.goodputRps),
    ms(row.latencyMs?.p99),
    orDash(row.meanBatch, figure),
    ...row.utilisation.map((share) => percent(share)),
    ...(row.inUse ?? []).map(figure),
  ]);
  const busy = Object.keys(classes).map((name) => `${name} busy`);
  const isScaled = windows?.rows.some(({ inUse }) => inUse !== undefined) === true;
  const inUse = isScaled ? pools.map((pool) => `replicas of ${stageMark(pool)}`) : [];
  return {
    columns: ['from s', 'offered/s', 'attainment', 'goodput/s', 'p99 ms', 'mean batch', ...busy, ...inUse],
    rows,
    spare: ['mean batch', ...busy.toReversed(), 'goodput/s', ...inUse.toReversed()],
  };
}

/**
 * sweepTable has one row per load factor that was simulated, with the attainment of each model where there are several.
 */
export function sweepTable({ points, models }: SimulationSweep): Table {
  const several = models.length > 1;
  const rows = points.map((point) => [
    factor(point.loadFactor),
    figure(point.offeredRps),
    figure(point.goodputRps),
    orDash(point.late, count),
    orDash(point.attainment, finely),
    ...(several ? point.attainments.map((share) => orDash(share, finely)) : []),
    ms(point.p99Ms),
    orDash(point.invalidRate, finely),
  ]);
  const names = several ? models.map(({ name }) => name) : [];
  return {
    columns: ['load', 'offered/s', 'goodput/s', 'late', 'attainment', ...names, 'p99 ms', 'invalid'],
    rows,
    spare: ['invalid', 'late', 'goodput/s', ...names.toReversed(), 'p99 ms', 'offered/s'],
  };
}

/**
 * largestLoads states the largest loads that meet the target, one per line: of all requests, then of each of several
 * models. A last line says where the sweep was interrupted.
 */
export function largestLoads({ complete, largest, models, target, points }: SimulationSweep): string[] {
  const said = (found: LargestLoad | undefined, model?: number): string => {
    const silent = model !== undefined && points.every(({ attainments }) => attainments[model] === null);
    if (found === undefined) return silent ? 'it had no requests' : `none of ${points.length} tried`;
    return `${factor(found.loadFactor)}${found.atLeast ? ' or more (the largest tried)' : ''} of the plan's rate`;
  };
  const lines = [`largest load with ${percent(target, 0)} in time: ${said(largest)}`];
  if (models.length > 1)
    pushAll(
      lines,
      models.map(({ name, largest: own }, m) => `  ${name}: ${said(own, m)}`),
    );
  if (!complete) lines.push('interrupted: not every load was tried');
  return lines;
}

function outcomeRow({ name, sloMs, plannedRps, requests }: SimulatedModel): string[] {
  const load = plannedRps === 0 ? '—' : decimals(requests.offeredRps / plannedRps, 2);
  return outcomeCells(name, requests, load, orDash(sloMs, figure));
}

function outcomeCells(name: string, requests: SimulatedRequests, load: string, slo: string): string[] {
  return [
    name,
    figure(requests.offeredRps),
    load,
    count(requests.inTime),
    count(requests.late),
    count(requests.dropped + requests.failed),
    attainmentText(requests),
    ms(requests.latencyMs?.p50),
    ms(requests.latencyMs?.p99),
    slo,
  ];
}

/**
 * factor writes a load factor with two decimals where these are exact, else with three significant digits.
 */
function factor(load: number): string {
  const whole = Math.abs(load * 100 - Math.round(load * 100)) < 1e-6 && load >= 0.005;
  return whole ? decimals(load, 2) : plain(load, 3);
}

function attainmentText({ attainment }: SimulatedRequests): string {
  return orDash(attainment, finely);
}

function ms(value: number | undefined): string {
  return orDash(value, figure);
}

function finely(share: number): string {
  return percent(share, 2);
}
