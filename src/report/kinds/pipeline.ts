import type { PipelinePlan, PlanDifference, PlannedStage, PlanSet } from '../../formats/index.js';
import type { NamedOption, PipelineExplanation } from '../../inferline/index.js';
import { boundWords } from '../bound-words.js';
import { always, figureOrDash, MOST_THROUGHPUT, THROUGHPUT, USED, usedWords } from '../compare-cells.js';
import {
  atMost,
  count,
  figure,
  milliseconds,
  orDash,
  type Part,
  percent,
  perHour,
  type Table,
} from '../table.js';
import type { KindReport } from './kind-report.js';

/** PIPELINE says how plans of pipelines are shown. */
export const PIPELINE: KindReport<'pipeline-plan'> = {
  remarks: () => [],
  solved: ({ plan, explanation }) => [
    ...[pipelineHeadline(plan), ...sampleLines(plan), ...standbyLines(plan), ''],
    ...applicationTables(plan),
    ...[stageTable(plan), stageClassTable(plan)],
    ...(explanation === undefined ? [] : [stageChangeTable(explanation), ...pathParts(explanation)]),
  ],
  differences: [stageDiffTable],
  simulated: { lines: () => [], tables: [], windows: [] },
  compared: {
    merit: [USED, THROUGHPUT],
    service: [
      {
        head: 'in time',
        wanted: always,
        cell: ({ attainment }) => orDash(attainment, (share) => percent(share, 2)),
      },
      { head: 'p99 ms', wanted: always, cell: ({ p99Ms }) => figureOrDash(p99Ms), spare: 6 },
    ],
    use: [],
    best: [MOST_THROUGHPUT],
  },
};

/** planSetParts show the plans of several pipelines that share a cluster. */
export function planSetParts(set: PlanSet, plans: readonly PipelinePlan[]): Part[] {
  return [
    planSetLine(set, plans[0]?.cluster),
    ...plans.flatMap((one) => standbyLines(one).map((line) => `${one.name}: ${line}`)),
    ...['', planSetTable(set), setClassTable(set)],
    ...set.plans.flatMap(({ name, file }) => (file === undefined ? [] : [`plan of ${name}: ${file}`])),
  ];
}

/**
 * pipelineHeadline states in one line what a pipeline's plan can serve, what it holds on its sample where it was searched, what it
 * costs, and how long it takes at most.
 */
export function pipelineHeadline({
  throughputRps,
  hourlyCost,
  longestPath,
  sloMs,
  applications,
  rps,
  sample,
  classes,
  cluster,
}: PipelinePlan): string {
  const held =
    sample === undefined ? '' : `, held on its sample with ${percent(sample.attainment, 2)} in time`;
  const load = rps === undefined ? '' : ` (the load has ${figure(rps)}${held})`;
  const cost = hourlyCost === undefined ? '' : `, ${perHour(hourlyCost, cluster)}`;
  const path = longestPath.stages.join(' → ');
  const slo = applications === undefined ? 'the SLO' : 'the least SLO';
  return `at most ${figure(atMost(throughputRps))} requests/s${load} on ${usedWords(classes)}${cost}; ${path} takes ${milliseconds(longestPath.latencyUs)} ms of ${slo} of ${figure(sloMs)} ms with full batches`;
}

/** applicationTables list the applications that share a pipeline, with what the sample holds of each. */
function applicationTables({ applications }: PipelinePlan): Table[] {
  if (applications === undefined) return [];
  const rows = applications.map(({ name, sloMs, share, weight = 1, sample }) => [
    ...[name, figure(sloMs), percent(share, 2), figure(weight)],
    ...[
      orDash(sample?.attainment, (one) => percent(one, 2)),
      orDash(sample?.leastAttainment, (one) => percent(one, 2)),
    ],
    ...[orDash(sample?.p50Ms, figure), orDash(sample?.p99Ms, figure)],
  ]);
  return [
    {
      columns: [
        'application',
        'SLO ms',
        'of the load',
        'weight',
        'in time',
        'worst draw',
        'p50 ms',
        'p99 ms',
      ],
      rows,
      spare: ['p50 ms', 'weight', 'worst draw', 'of the load', 'p99 ms'],
    },
  ];
}

/** sampleLines say what a plan that was searched holds on its sample, and how near its cost is to the proved bound. */
export function sampleLines({
  sample,
  objective,
  objectives = [],
  hourlyCost,
  cluster,
}: PipelinePlan): string[] {
  const lines: string[] = [];
  if (sample !== undefined)
    lines.push(
      `${percent(sample.attainment, 2)} of the sample's ${count(sample.requests)} requests in time, p99 ${figure(sample.p99Ms)} ms${sample.draws === 1 ? '' : `; ${percent(sample.leastAttainment, 2)} in the worst of its ${sample.draws} draws`}`,
    );
  if (sample?.missesByStage !== undefined && sample.missesByStage.length > 0)
    lines.push(
      `the others missed at ${sample.missesByStage.map(({ stage, requests }) => `${stage} (${count(requests)})`).join(', ')}`,
    );
  for (const { sloMs, attainment, sampleAttainment } of objectives)
    lines.push(
      `${percent(sampleAttainment, 2)} of them within ${figure(sloMs)} ms, of ${percent(attainment, 2)} that must be`,
    );
  if (objective !== undefined)
    lines.push(
      `${perHour(hourlyCost ?? objective.value, cluster)} (${boundWords(objective)}) among plans that keep up with the load and hold the sample`,
    );
  return lines;
}

/** standbyLines say which standby devices a tuner may activate, for which load, and what that costs at most. */
export function standbyLines({
  stages,
  shared = [],
  standby,
  mostHourlyCost,
  serving,
  cluster,
}: PipelinePlan): string[] {
  const { tuner = { kind: 'none' } } = serving;
  const counted = stages.filter(({ name, standby: count = 0 }) => {
    const mates = shared.find((set) => set.stages.includes(name))?.stages ?? [name];
    return count > 0 && stages.find((stage) => mates.includes(stage.name))?.name === name;
  });
  if (tuner.kind === 'none') return [];
  if (counted.length === 0) return [`the tuner ${tuner.kind} has no standby device to activate`];
  const devices = counted.map((one) => `${one.standby} ${one.device} for ${one.name}`).join(', ');
  const load =
    standby === undefined
      ? ''
      : `, the most that it has in use at ${standby.loadFactor} times the load, as far as the cluster has them`;
  const price =
    mostHourlyCost === undefined
      ? ''
      : `: paid for while in use, ${perHour(atMost(mostHourlyCost), cluster)} in all at most`;
  return [`the tuner ${tuner.kind} may activate ${devices}${load}${price}`];
}

/** The head of columns and rows that count standby replicas, of which a device may hold several. */
const STANDBY = 'replicas on standby';

/** stageTable lists how each stage of a pipeline is served. */
export function stageTable({ stages, shared = [] }: PipelinePlan): Table {
  const rows = stages.map((stage) => {
    const { name, standby = 0, batch, others = [] } = stage;
    const classes = [stage, ...others];
    const mates = shared.find((set) => set.stages.includes(name))?.stages.filter((one) => one !== name);
    return [
      name,
      `${classes.map(replicasText).join(' + ')}${mates?.length ? ` with ${mates.join(', ')}` : ''}`,
      String(standby),
      String(batch),
      classes.map(({ latencyUsByBatch }) => orDash(latencyUsByBatch[batch - 1], milliseconds)).join(', '),
      figure(stage.scaleFactor),
      classes.map(({ throughputRps }) => figure(throughputRps)).join(', '),
      orDash(stage.maxProvisioningRatio, percent),
    ];
  });
  return {
    columns: ['stage', 'replicas', STANDBY, 'batch', 'ms', 'visits', 'requests/s each', 'busy'],
    rows,
    spare: ['visits', STANDBY, 'requests/s each', 'busy', 'ms'],
  };
}

function replicasText({
  device,
  virtual,
  replicas,
}: Pick<PlannedStage, 'device' | 'virtual' | 'replicas'>): string {
  return `${replicas} × ${device}${virtual > 1 ? ` 1/${virtual}` : ''}`;
}

/** stageChangeTable says, for each stage, what a replica less or more gives, and what other classes would cost. */
export function stageChangeTable({ stages }: PipelineExplanation): Table {
  const lessText = (oneLess: readonly number[], rps: number | undefined): string =>
    rps === undefined
      ? shares(oneLess)
      : `${shares(oneLess)}, but at most ${figure(atMost(rps))}/s in the long run`;
  const rows = stages.map(({ stage, oneLess, oneLessRps, oneMore, classes }) => [
    stage,
    orDash(oneLess, (less) => lessText(less, oneLessRps)),
    shares(oneMore),
    classes
      .map(({ device, option, extraCost = 0 }) =>
        option === undefined
          ? `${device}: misses`
          : `${option.replicas} × ${device} at ${option.batch}: ${extraCost < 0 ? '−' : '+'}${figure(Math.abs(extraCost))}`,
      )
      .join(', '),
  ]);
  return {
    columns: ['stage', 'in time, one less', 'one more', 'cheapest on each class, all else as it is'],
    rows,
    spare: ['one more', 'in time, one less'],
  };
}

/** shares has one figure for each objective. */
function shares(attainments: readonly number[]): string {
  return attainments.map((share) => percent(share, 2)).join(', ');
}

/** pathParts show the steps of the search, or say that there was none. */
function pathParts(explanation: PipelineExplanation): Part[] {
  return explanation.path.length > 0
    ? [pathTable(explanation)]
    : ['no step of the search lowered the cost of the configuration that it began with'];
}

/** pathTable lists the steps by which the search lowered the cost. */
export function pathTable({ path }: PipelineExplanation): Table {
  const words = ({ device, batch, replicas }: NamedOption): string => `${replicas} × ${device} at ${batch}`;
  const rows = path.map(({ stage, from, to, hourlyCost }, i) => [
    String(i + 1),
    stage,
    words(from),
    words(to),
    figure(hourlyCost),
  ]);
  return { columns: ['step', 'stage', 'from', 'to', 'per hour'], rows, spare: ['step', 'from'] };
}

/** stageClassTable lists the GPUs of each class that a pipeline's plan uses. */
export function stageClassTable({ classes }: PipelinePlan): Table {
  const rows = Object.entries(classes).map(([name, { used, standby = 0, count, emulated }]) => [
    emulated ? `${name} (emulated)` : name,
    String(used),
    String(standby),
    orDash(count, String),
  ]);
  return { columns: ['class', 'devices in use', 'devices on standby', 'devices there are'], rows };
}

/** planSetLine says what the plans of several pipelines cost together, and how near that is to the proved bound. */
export function planSetLine(
  { plans, objective, classes }: PlanSet,
  cluster: Parameters<typeof perHour>[1] = {},
): string {
  return `${plans.length} pipelines for ${perHour(objective.value, cluster)} (${boundWords(objective)}) on ${usedWords(classes)}`;
}

/** planSetTable has a row for each of several pipelines. */
export function planSetTable({ plans }: PlanSet): Table {
  const rows = plans.map(({ name, hourlyCost, attainment, used }) => [
    name,
    figure(hourlyCost),
    percent(attainment, 2),
    Object.entries(used)
      .flatMap(([device, gpus]) => (gpus > 0 ? [`${gpus} ${device}`] : []))
      .join(' + '),
  ]);
  return { columns: ['pipeline', 'per hour', 'in time', 'devices'], rows };
}

/** setClassTable lists the GPUs of each class that several pipelines use together. */
export function setClassTable({ classes }: PlanSet): Table {
  const rows = Object.entries(classes).map(([name, { used, count }]) => [
    name,
    String(used),
    orDash(count, String),
  ]);
  return { columns: ['class', 'devices in use', 'devices there are'], rows };
}

/** stageDiffTable lists the stages that two plans of pipelines or cascades serve differently. */
export function stageDiffTable({ stages = [] }: PlanDifference): Table {
  const rows = stages.flatMap((stage) => {
    const words = (['devices', 'next', 'inputs'] as const).map((what) => ({
      what,
      before: stage[what]?.before ?? '—',
      after: stage[what]?.after ?? '—',
    }));
    const figures = (['batch', 'replicas', 'standby', 'scaleFactor'] as const).map((what) => ({
      what: { batch: what, replicas: what, standby: STANDBY, scaleFactor: 'visits' }[what],
      before: orDash(stage[what]?.before, figureText),
      after: orDash(stage[what]?.after, figureText),
    }));
    const changed = [...words, ...figures].filter(({ before, after }) => before !== after);
    return changed.map(({ what, before, after }) => [stage.name, what, `${before} → ${after}`]);
  });
  return { columns: ['stage', 'what', 'change'], rows };
}

function figureText(value: number): string {
  return Number.isInteger(value) ? String(value) : figure(value);
}
