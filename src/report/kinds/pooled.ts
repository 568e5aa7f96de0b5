import { itemAt } from '../../collections/index.js';
import { counted, type PlanDifference, type PlannedPartition, type PooledPlan } from '../../formats/index.js';
import { type NotHeld, notHeldReason, type TimingRound } from '../../specs/index.js';
import { boundWords } from '../bound-words.js';
import { always, MOST_THROUGHPUT, THROUGHPUT, USED, usedWords } from '../compare-cells.js';
import {
  atLeast,
  figure,
  gpusText,
  leastPercent,
  milliseconds,
  orDash,
  percent,
  perHour,
  type Table,
} from '../table.js';
import { bindingText, classExplanationTable, sloExplanationTable } from './explain.js';
import type { KindReport } from './kind-report.js';

/** POOLED says how pooled plans are shown. */
export const POOLED: KindReport<'pooled-plan'> = {
  remarks: ({ document }) => [timesText(document.solver)],
  solved: ({ plan, explanation }) => [
    ...[planHeadline(plan), ...holdLines(plan), '', pipelineTable(plan)],
    ...(explanation === undefined
      ? [classUseTable(plan)]
      : [
          ...['', bindingText(explanation), ''],
          ...[classExplanationTable(explanation), sloExplanationTable(explanation)],
        ]),
  ],
  differences: [pipelineDiffTable],
  simulated: { lines: () => [], tables: [], windows: [] },
  compared: {
    merit: [USED, THROUGHPUT],
    service: [],
    use: [
      {
        head: 'utilisation',
        wanted: always,
        cell: ({ utilisation }) => orDash(utilisation, percent),
        spare: 1,
      },
    ],
    best: [MOST_THROUGHPUT],
  },
};

/**
 * planHeadline states in one line what a plan reaches, the bound that is proved of it, and on which GPUs: the figure that it
 * holds in simulation, where that was searched, beside the planned one. The bound and gap are the objective's, as in JSON.
 */
export function planHeadline(plan: PooledPlan): string {
  const { objective, hold, classes, cluster } = plan;
  const { kind } = objective;
  const single = plan.models.length === 1 && plan.models[0]?.weight === 1;
  const reached = (value: number): string => {
    if (kind === 'cost') return perHour(value, cluster);
    return `${figure(value)} ${kind === 'power' ? 'W' : single ? 'requests/s' : 'requests/s per unit of weight'}`;
  };
  const planned = `${reached(objective.value)} (${boundWords(objective)})`;
  const cost = kind === 'cost' ? undefined : hourlyCostOf(plan);
  const priced = cost === undefined ? '' : `, ${perHour(cost, cluster)}`;
  const baseline = plan.baseline === undefined ? '' : `, by the baseline ${plan.baseline}`;
  const on = `on ${usedWords(classes)}${priced}${baseline}`;
  if (hold === undefined) return `${planned} ${on}`;
  const shares = [...new Set(hold.models.map(({ attainment }) => percent(attainment, 2)))];
  const inTime = `with ${shares.join(', ')} in time`;
  return kind === 'throughput'
    ? `${reached(atLeast(hold.value))} held ${inTime} ${on}; ${planned} planned`
    : `${planned} to hold the rates ${inTime} ${on}`;
}

/** hourlyCostOf gives what the GPUs in use cost; it is undefined where one of them has no price. */
function hourlyCostOf({ classes, cluster }: PooledPlan): number | undefined {
  const used = Object.entries(classes).filter(([, { used: gpus }]) => gpus > 0);
  const costs = used.map(
    ([name, { used: gpus }]) => gpus * (cluster.devices[name]?.hourlyCost ?? Number.NaN),
  );
  const sum = costs.reduce((all, cost) => all + cost, 0);
  return Number.isNaN(sum) ? undefined : sum;
}

/** holdLines says what each model holds in simulation, and how that is known. */
export function holdLines({ hold, models, objective }: PooledPlan): string[] {
  if (hold === undefined) return [];
  const isThroughput = objective.kind === 'throughput';
  const held = models.map(({ name, heldRps = 0 }, m) => {
    const { attainment, simulated, sloMargin, headroom, mostBatch } = itemAt(hold.models, m);
    const least = simulated === undefined ? '' : ` (${leastPercent(simulated.low, 2)} at least)`;
    const batch = mostBatch === undefined ? '' : `, batches to ${mostBatch}`;
    const more = headroom === 1 ? '' : `, ${figure(headroom)} × its ${isThroughput ? 'share' : 'rate'}`;
    return `${name} holds ${figure(atLeast(heldRps))} requests/s with ${percent(attainment, 2)} in time${least}; planned with a margin of ${percent(sloMargin, 1)}${batch}${more}`;
  });
  const { seeds, arrivals, durationS, warmUp, confidence } = hold.runs;
  const { trials, variants = 0, moved = 0 } = hold;
  const others = variants === 0 ? '' : ` and ${counted(variants, 'other')} with devices moved between pools`;
  const kept = moved === 0 ? '' : `, of which ${moved} ${moved === 1 ? 'is' : 'are'} kept`;
  const begun = warmUp === undefined ? '' : ' that began with full queues';
  return [
    ...held,
    `${counted(trials, 'plan')}${others} simulated${kept}; confirmed by ${counted(seeds.length, 'run')} of ${figure(durationS)} s with other seeds${begun}, ${arrivals} arrivals, ${percent(confidence, 0)} confidence`,
  ];
}

/** notHeldText says that no plan was found that holds the rates, how near the best came, and what to do. */
export function notHeldText(notHeld: NotHeld): string {
  return `${notHeldReason(notHeld)}. Ask for lower rates, a longer SLO or a smaller share in time, or give more devices.`;
}

/** PHASES lists the phases of a solve in order. Other phases that a solver reports are parts of these. */
const PHASES = ['tables', 'columns', 'start', 'bound', 'search'] as const;

/**
 * timingLines says what a round of timing a plan's partitions found: how many figures, which one the plan had furthest
 * off, and which devices are slower or faster than when they were profiled.
 */
export function timingLines({ timed, furthest, notes }: TimingRound): string[] {
  const far = furthest === undefined ? '' : `; the plan was furthest off by ${furthestText(furthest)}`;
  const first = `timed ${counted(timed, 'figure')} of the plan's partitions${far}`;
  return timed === 0 ? [...notes] : [first, ...notes];
}

function furthestText({
  model,
  partition,
  batch,
  plannedUs,
  measuredUs,
}: NonNullable<TimingRound['furthest']>): string {
  const what = `${model} ${range(partition)} on 1/${partition.virtual} ${partition.device} at batch ${batch}`;
  const took = `planned ${milliseconds(plannedUs)} ms, took ${milliseconds(measuredUs)} ms`;
  return `${percent(plannedUs / measuredUs - 1)} (${what}: ${took})`;
}

/** timesText says in milliseconds how long a solve took, and which phases took at least half of one. */
export function timesText({ ms, phases }: { ms: number; phases: Readonly<Record<string, number>> }): string {
  const parts = PHASES.flatMap((phase) => {
    const took = Math.round(phases[phase] ?? 0);
    return took > 0 ? [`${phase} ${took}`] : [];
  });
  return `solved in ${Math.round(ms)} ms${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`;
}

/**
 * pipelineTable has one row per partition of every pipeline. A figure of a model or pipeline is in its first
 * row.
 */
export function pipelineTable(plan: PooledPlan): Table {
  const rows: string[][] = [];
  for (const model of plan.models) {
    model.pipelines.forEach((pipeline, p) => {
      pipeline.partitions.forEach((partition, d) => {
        rows.push([
          d === 0 && p === 0 ? model.name : '',
          d === 0 ? `${p}` : '',
          d === 0 ? figure(pipeline.throughputRps) : '',
          d === 0 ? `${milliseconds(pipeline.latencyUs)} of ${figure(model.sloMs - model.sloMarginMs)}` : '',
          range(partition),
          `${partition.virtualGpus} × 1/${partition.virtual} ${className(plan, partition.device)}`,
          String(partition.batch),
          milliseconds(partition.latencyUsByBatch.at(-1) ?? Number.NaN),
          figure(partition.throughputRps),
        ]);
      });
    });
  }
  return {
    columns: [
      'model',
      'pipeline',
      'requests/s',
      'ms of budget',
      'part',
      'on',
      'batch',
      'ms',
      'pool requests/s',
    ],
    rows,
    spare: ['pool requests/s', 'pipeline', 'ms', 'ms of budget', 'batch'],
  };
}

/**
 * classUseTable has one row per device class: how many of its free GPUs the plan occupies, its shadow price, and what
 * one more gives, where that was solved.
 */
export function classUseTable(plan: PooledPlan): Table {
  const more = plan.objective.kind === 'throughput' ? 'requests/s' : 'objective';
  const rows = Object.entries(plan.classes).map(([name, use]) => [
    className(plan, name),
    `${use.used} of ${use.count}`,
    orDash(use.shadowPrice, figure),
    orDash(use.oneMore, figure),
  ]);
  return { columns: ['class', 'used', `${more} per device (bound)`, 'one more gives'], rows };
}

/** className gives a class's name, marked when the class is emulated. */
function className(plan: PooledPlan, name: string): string {
  return plan.classes[name]?.emulated ? `${name} (emulated)` : name;
}

function range({ blocks, layers }: PlannedPartition): string {
  if (blocks) return `block${span(blocks)}`;
  return layers ? `layer${span(layers)}` : '';
}

/** span writes a half-open range as people count: ` 3`, or `s 0–2`. */
function span([first, end]: readonly [number, number]): string {
  return end - first === 1 ? ` ${first}` : `s ${first}–${end - 1}`;
}

/** pipelineDiffTable lists the pipelines that come, go or change their rate. */
export function pipelineDiffTable({ models }: Pick<PlanDifference, 'models'>): Table {
  const rows = models.flatMap(({ name, pipelines }) =>
    pipelines.map(({ pipeline, throughputRps, gpus }) => [
      name,
      pipeline,
      `${figure(throughputRps.before)} → ${figure(throughputRps.after)}`,
      `${gpusText(gpus.before)} → ${gpusText(gpus.after)}`,
    ]),
  );
  return { columns: ['model', 'pipeline', 'requests/s', 'devices'], rows };
}
