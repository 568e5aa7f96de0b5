import {
  counted,
  type HeldModel,
  type PlanDifference,
  type PlannedPartition,
  type PooledPlan,
} from '../../artifacts/index.js';
import { type NotHeld, notHeldReason, type TimingRound } from '../../specs/index.js';
import { always, MOST_THROUGHPUT, THROUGHPUT } from '../compare-cells.js';
import { figure, gpusText, milliseconds, orDash, percent, type Table } from '../table.js';
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
          ...[bindingText(explanation), ''],
          ...[classExplanationTable(explanation), sloExplanationTable(explanation)],
        ]),
  ],
  differences: [pipelineDiffTable],
  simulated: { lines: () => [], tables: [], windows: [] },
  compared: {
    merit: [THROUGHPUT],
    service: [],
    use: [
      {
        head: 'utilisation',
        wanted: always,
        cell: ({ utilisation }) => orDash(utilisation, percent),
      },
    ],
    best: [MOST_THROUGHPUT],
  },
};

/** planHeadline states in one line the value of the plan's objective, with its unit, and its proven gap. */
export function planHeadline(plan: PooledPlan): string {
  const { kind, value, bound, gap } = plan.objective;
  const unit = { throughput: 'requests/s per unit of weight', cost: 'per hour', power: 'W' }[kind];
  const single = kind === 'throughput' && plan.models.length === 1 && plan.models[0]?.weight === 1;
  const reached = `${figure(value)} ${single ? 'requests/s' : unit}`;
  const proven =
    plan.status === 'optimal'
      ? `optimal (gap ${percent(gap, 2)})`
      : `within ${percent(gap, 2)} of the bound ${figure(bound)}`;
  const baseline = plan.baseline === undefined ? '' : ` of the baseline ${plan.baseline}`;
  return `${reached}, ${proven}${baseline}`;
}

/** holdLines says what a plan holds in simulation, what no plan can, and how that is known; nothing of other plans. */
export function holdLines({ hold, models, objective }: PooledPlan): string[] {
  if (hold === undefined) return [];
  const isThroughput = objective.kind === 'throughput';
  const held = models.map(({ name, heldRps = 0 }, m) => {
    const { attainment, simulated, sloMargin, headroom, mostBatch } = hold.models[m] as HeldModel;
    const least = simulated === undefined ? '' : ` (${percent(simulated.low, 2)} at least)`;
    const batch = mostBatch === undefined ? '' : `, batches to ${mostBatch}`;
    const more = headroom === 1 ? '' : `, ${figure(headroom)} × its ${isThroughput ? 'share' : 'rate'}`;
    return `${name} holds ${figure(heldRps)} requests/s with ${percent(attainment, 2)} in time${least}; planned with a margin of ${percent(sloMargin, 1)}${batch}${more}`;
  });
  const { seeds, arrivals, durationS, warmUp, confidence } = hold.runs;
  const most = isThroughput
    ? `holds ${figure(hold.value)} per unit of weight; no plan holds more than ${figure(hold.bound)}`
    : objective.kind === 'power'
      ? `takes ${figure(hold.value)} W; no plan that holds the rates takes less than ${figure(hold.bound)} W`
      : `costs ${figure(hold.value)} per hour; no plan that holds the rates costs less than ${figure(hold.bound)}`;
  const { trials, variants = 0, moved = 0 } = hold;
  const others = variants === 0 ? '' : ` and ${counted(variants, 'other')} with GPUs moved between pools`;
  const kept = moved === 0 ? '' : `, of which ${moved} ${moved === 1 ? 'is' : 'are'} kept`;
  const begun = warmUp === undefined ? '' : ' that began with full queues';
  const how = `${counted(trials, 'plan')}${others} simulated${kept}; confirmed by ${counted(seeds.length, 'run')} of ${figure(durationS)} s with other seeds${begun}, ${arrivals} arrivals, ${percent(confidence, 0)} confidence`;
  return [...held, `${most} (${how})`];
}

/** notHeldText says that no plan was found that holds the rates, how near the best came, and what to do. */
export function notHeldText(notHeld: NotHeld): string {
  return `${notHeldReason(notHeld)}. Ask for lower rates, a longer SLO or a smaller share in time, or give more GPUs.`;
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
 * pipelineTable has one row per partition of every pipeline. What belongs to a model or pipeline stands in its first
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
  return { columns: ['class', 'used', `${more} per GPU (bound)`, 'one GPU more gives'], rows };
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
  return { columns: ['model', 'pipeline', 'requests/s', 'GPUs'], rows };
}
