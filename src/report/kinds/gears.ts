import {
  counted,
  type Gear,
  type GearPlan,
  type GearStep,
  type PlanDifference,
  type RecordedFamily,
  type SimulationReport,
  scopeText,
} from '../../formats/index.js';
import type { GearExplanation } from '../../gearplan/index.js';
import { boundWords } from '../bound-words.js';
import { accuracyText, always, figureOrDash, intervalWords, USED, usedWords } from '../compare-cells.js';
import { accuracyCell, intervalText, overlap } from '../interval.js';
import { count, figure, orDash, percent, perHour, type Table } from '../table.js';
import type { KindReport } from './kind-report.js';
import { stageDiffTable } from './pipeline.js';

/** GEARS says how plans of cascades are shown. */
export const GEARS: KindReport<'gear-plan'> = {
  remarks: () => [],
  solved: ({ plan, explanation = {} }) => [
    ...[...gearHeadlines(plan), '', gearTable(plan), heldTable(plan)],
    ...oneMoreLine(explanation, plan),
    ...(explanation.frontier === undefined ? [] : [frontierTable(explanation)]),
  ],
  differences: [gearDiffTable, stageDiffTable],
  simulated: {
    lines: cascadeLines,
    tables: [answeredTable, gearUseTable],
    windows: [cascadeWindowTable],
  },
  compared: {
    merit: [
      { head: 'accuracy', wanted: always, cell: ({ accuracy }) => accuracyText(accuracy) },
      {
        head: 'with 95 % confidence',
        wanted: always,
        cell: ({ accuracyInterval }) => orDash(accuracyInterval, intervalWords),
        spare: 2,
      },
      { head: 'p95 ms', wanted: always, cell: ({ p95Ms }) => figureOrDash(p95Ms) },
      { ...USED, wanted: always },
    ],
    service: [],
    use: [],
    best: [
      {
        words: 'most accurate on these records',
        figureOf: ({ accuracy }) => accuracy,
        text: (accuracy, { accuracyInterval }) => accuracyCell(accuracy, accuracyInterval),
      },
      { words: 'least p95 ms', figureOf: ({ p95Ms }) => p95Ms, isLeast: true },
    ],
  },
};

/** gearHeadlines state what a gear plan reaches, and how near that is to the proved bound. */
export function gearHeadlines(plan: GearPlan): string[] {
  const { accuracy, accuracyInterval, requestAccuracy, maxRps, hourlyCost, cluster, classes } = plan;
  const cost = hourlyCost === undefined ? '' : `, ${perHour(hourlyCost, cluster)}`;
  const interval = accuracyInterval === undefined ? '' : `${intervalText(accuracyInterval)}; `;
  return [
    `${percent(accuracy, 2)} right over the distribution of loads (${interval}${percent(requestAccuracy, 2)} of requests), up to ${figure(maxRps)} requests/s, on ${usedWords(classes)}${cost}`,
    ...bestSingleLine(plan),
    proofText(plan),
    promiseText(plan),
  ];
}

/** Shares of right answers that are this close are equal: one is a sum over gears. */
const ROUNDING = 1e-9;

/** bestSingleLine says how right the best single model is, beside which the cascades stand. */
function bestSingleLine({ bestSingle, accuracy: own }: GearPlan): string[] {
  if (bestSingle === undefined) return [];
  const { model, accuracy } = bestSingle;
  const points = figure(Math.abs(100 * (own - accuracy)));
  const beside =
    Math.abs(own - accuracy) <= ROUNDING
      ? 'as this plan is'
      : `${points} points ${accuracy > own ? 'more' : 'less'} than this plan`;
  return [
    `the best single model, ${model}, is right about ${percent(accuracy, 2)} of the records, ${beside}, whatever time that takes`,
  ];
}

/** promiseText says which latency is promised, and what shows that it is held. */
function promiseText({ promise, p95Ms }: GearPlan): string {
  if (promise === undefined) return 'no latency is promised';
  const { quantile, latencyMs, runs, rates } = promise;
  const at = rates.length === 1 ? 'at one rate' : `at each of ${rates.length} rates`;
  return `${percent(quantile)} within ${figure(latencyMs)} ms at every steady load, as ${counted(runs, 'simulation')} of the whole plan ${at} ${runs === 1 ? 'confirms' : 'confirm'}; the largest p95 is ${figure(p95Ms)} ms`;
}

/**
 * proofText says how near a plan is to the bound that is proved, among which plans, and that it is said of
 * the records. The proof holds for these records, and says nothing of other samples.
 */
function proofText({ status, objective, cluster, reproducible }: GearPlan): string {
  const { kind, value, bound, gap = null, scope } = objective;
  const written = {
    accuracy: (one: number) => percent(one, 2),
    latency: (one: number) => `${figure(one)} ms`,
    devices: (one: number) => counted(one, 'device'),
    cost: (one: number) => perHour(one, cluster),
  }[kind];
  const proof = boundWords({ value, bound, gap, isShare: kind === 'accuracy' }, written);
  const waiting = kind === 'latency' && gap === null ? ' as the bound knows no waiting' : '';
  const among = `among plans with ${scope === undefined ? 'such cascades' : scopeText(scope)}, on these records`;
  const uncounted = `; longer cascades were not counted, as ${reproducible === false ? 'the search was ended before' : 'there are too many samples'}, so that one of them may be better`;
  const isUncounted = status !== 'optimal' && gap === null && value === bound && scope !== undefined;
  const open =
    status === 'optimal' ? '; which is best on other samples is open' : isUncounted ? uncounted : '';
  return `${written(value)} (${proof}${waiting}) ${among}${open}`;
}

/** gearTable lists the gears, from the lowest loads to the highest. */
export function gearTable({ gears }: GearPlan): Table {
  const rows = gears.map((gear) => [
    `${figure(gear.fromRps)} – ${figure(gear.toRps)}`,
    percent(gear.share),
    gear.cascade.map(stepText).join(' → '),
    gear.cascade.map(({ minQueue }) => String(minQueue)).join(', '),
    accuracyCell(gear.accuracy, gear.accuracyInterval),
    figure(gear.p95Ms),
    percent(gear.utilization),
    orDash(gear.limitedBy, limitText),
  ]);
  return {
    columns: [
      ...['requests/s', 'of time', 'cascade', 'queues'],
      rightHead(gears.some(({ accuracyInterval }) => accuracyInterval !== undefined)),
      ...['p95 ms', 'busy', 'next one fails by'],
    ],
    rows,
    spare: ['next one fails by', 'busy', 'queues', 'of time', 'p95 ms'],
  };
}

/** rightHead heads a column of shares of right answers, which have intervals but in plans before version 1.2. */
function rightHead(hasIntervals: boolean): string {
  return hasIntervals ? 'right (95 % confidence)' : 'right';
}

function stepText({ stage, threshold, visits }: GearStep, i: number): string {
  const share = i === 0 ? '' : ` (${percent(visits)})`;
  return threshold === undefined ? `${stage}${share}` : `${stage}${share} < ${figure(threshold)}`;
}

function limitText({ by, stage }: NonNullable<Gear['limitedBy']>): string {
  return `${by}: ${stage}`;
}

/** heldTable lists which models the devices hold. */
export function heldTable({ placement, stages }: GearPlan): Table {
  const rows = placement.map(({ server, gpu, count: many = 1, stages: held }) => [
    many === 1 ? `${server}/gpu${gpu}` : `${many} from ${server}/gpu${gpu} on`,
    stages.flatMap(({ name }) => (held.includes(name) ? [name] : [])).join(', '),
  ]);
  return { columns: ['device', 'models'], rows };
}

/** oneMoreLine says what a device more would bring, and whether these records show that it would for other samples. */
export function oneMoreLine(
  { oneMoreDevice }: GearExplanation,
  { accuracy: now, accuracyInterval: interval }: Pick<GearPlan, 'accuracy' | 'accuracyInterval'>,
): string[] {
  if (oneMoreDevice === undefined) return [];
  const { devices, accuracy, accuracyInterval } = oneMoreDevice;
  const isOpen = accuracy > now && overlap(accuracyInterval, interval);
  const open = isOpen ? '; the intervals overlap, so for other samples it is open whether that is more' : '';
  return [
    `with ${devices} devices, ${percent(accuracy, 2)} of these records would be answered rightly within the same latency (${intervalText(accuracyInterval)})${open}`,
  ];
}

/** frontierTable has the accuracy that can be served, by devices and latency, with where it lies with a confidence of 95 %. */
export function frontierTable({ frontier = [] }: GearExplanation): Table {
  const latencies = [...new Set(frontier.map(({ latencyMs }) => latencyMs))];
  const devices = [...new Set(frontier.map((point) => point.devices))];
  const rows = devices.map((many) => [
    String(many),
    ...latencies.map((latencyMs) => {
      const point = frontier.find((one) => one.devices === many && one.latencyMs === latencyMs);
      return orDash(point?.accuracy, (accuracy) => accuracyCell(accuracy, point?.accuracyInterval));
    }),
  ]);
  const heads = latencies.map((latencyMs) => `≤ ${figure(latencyMs)} ms`);
  return { columns: ['devices', ...heads], rows, spare: heads.slice(1) };
}

/** cascadeLines say how rightly the requests of a gear plan were answered. */
export function cascadeLines({ cascade }: SimulationReport): string[] {
  if (cascade === undefined) return [];
  const { accuracy, plannedAccuracy, shifts, samples } = cascade;
  return [
    `${orDash(accuracy, (share) => percent(share, 2))} of answers right (planned ${percent(plannedAccuracy, 2)} over the distribution of loads), by records of ${count(samples)} samples; ${count(shifts)} changes of gear`,
  ];
}

/** answeredTable lists the models by what they answered. */
export function answeredTable({ cascade }: SimulationReport): Table {
  const rows = (cascade?.answeredBy ?? []).map(({ stage, share, accuracy }) => [
    stage,
    percent(share),
    orDash(accuracy, (right) => percent(right, 2)),
  ]);
  return { columns: ['model', 'answered', 'right'], rows };
}

/** gearUseTable lists the gears by the time that they were active. Gears that were not are left out. */
export function gearUseTable({ cascade }: SimulationReport): Table {
  const rows = (cascade?.gears ?? [])
    .filter(({ share }) => share > 0)
    .map(({ fromRps, toRps, share, plannedShare }) => [
      `${figure(fromRps)} – ${figure(toRps)}`,
      percent(share),
      percent(plannedShare),
    ]);
  return { columns: ['requests/s', 'of time', 'planned'], rows };
}

/** cascadeWindowTable has a row for each window. */
export function cascadeWindowTable({ cascade }: SimulationReport): Table {
  const rows = (cascade?.windows ?? []).map(({ fromS, accuracy, p95Ms, gear }) => [
    String(fromS),
    orDash(accuracy, (right) => percent(right, 2)),
    orDash(p95Ms, figure),
    String(gear + 1),
  ]);
  return { columns: ['from s', 'right', 'p95 ms', 'gear'], rows };
}

/** familyTable says how each model answers labelled samples, and how well its certainty tells its right answers. */
export function familyTable({ models, samples }: RecordedFamily): Table {
  const rows = models.map(({ name, accuracy, auroc, calibrationError }) => [
    name,
    percent(accuracy, 2),
    orDash(auroc, figure),
    orDash(calibrationError, figure),
  ]);
  return { columns: [`${count(samples)} samples`, 'right', 'AUROC', 'calibration error'], rows };
}

/** gearDiffTable lists the loads that two plans of cascades serve differently. */
export function gearDiffTable({ gears = [] }: Pick<PlanDifference, 'gears'>): Table {
  const rows = gears.flatMap(({ fromRps, toRps, cascade, batching, accuracy, p95Ms, sharesDiffer }) => {
    const loads = `${figure(fromRps)} to ${figure(toRps)}`;
    const changed = [
      ['cascade', cascade.before ?? '—', cascade.after ?? '—'],
      ['batches of', batching.before ?? '—', batching.after ?? '—'],
      ['accuracy', accuracyText(accuracy.before), accuracyText(accuracy.after)],
      ['p95 ms', orDash(p95Ms.before, figure), orDash(p95Ms.after, figure)],
    ].filter(([, before, after]) => before !== after);
    const shares = sharesDiffer ? [['shares of devices', 'one division', 'another']] : [];
    return [...changed, ...shares].map((row) => [loads, ...row]);
  });
  return { columns: ['requests/s', 'what', 'before', 'after'], rows };
}
