import { largestOf } from '../../collections/index.js';
import { DEFAULT_QUANTILE, type Fault, fault, type GearPlan, isOfBestSingle } from '../../formats/index.js';
import { differ, faultOf, isShare } from '../figures.js';
import { rowBytes, tensorFaults } from '../stages/index.js';
import { intervalFaults } from './interval-faults.js';

/** Load shares are written to this many parts of 1. */
const WRITTEN_PARTS = 10_000;
/** Shares of time may be written with six digits. */
const SHARE_ROUNDING = 1e-6;
/** The certainties that measures give: logits have no bound. */
const MOST_CERTAINTY: { readonly [M in GearPlan['certainty']]: number } = {
  logits: Number.POSITIVE_INFINITY,
  'top-2': 1,
  entropy: 1,
};

/**
 * gearFigureFaults finds figures of a gear plan that contradict others of it: shares that are not all of the time or of a
 * step's requests, visits that do not fall along a cascade, thresholds that no certainty has, and an accuracy, a latency, a
 * value or a number of bytes that is not what those of its gears and stages give.
 * @param plan with gears whose stages the plan has
 */
export function gearFigureFaults(plan: GearPlan): Fault[] {
  return [
    ...plan.gears.flatMap((gear, i) => gearFaults(plan, gear, `/gears/${i}`)),
    ...plan.stages.flatMap((stage, i) => stageFaults(stage, `/stages/${i}`)),
    ...overallFaults(plan),
    ...samplesFaults(plan),
    ...bestSingleFaults(plan),
  ];
}

function gearFaults(
  plan: GearPlan,
  { cascade, accuracy, accuracyInterval, limitedBy, share, utilization, p95Ms }: GearPlan['gears'][number],
  at: string,
): Fault[] {
  const [only, second] = cascade;
  const alone = plan.stages.find(({ name }) => name === only?.stage)?.accuracy;
  const { latencyMs, quantile = 0 } = plan.promise ?? {};
  return [
    ...faultOf(isShare(share), `is ${share}, which is no share`, `${at}/share`),
    ...faultOf(isShare(utilization), `is ${utilization}, which is no share`, `${at}/utilization`),
    ...cascade.flatMap((step, k) => stepFaults(plan, step, cascade[k - 1], `${at}/cascade/${k}`)),
    ...(second === undefined && alone !== undefined && differ(accuracy, alone)
      ? [fault(`is ${accuracy}; its only model has ${alone}`, `${at}/accuracy`)]
      : []),
    ...intervalFaults(accuracy, accuracyInterval, `${at}/accuracyInterval`),
    ...(limitedBy === undefined || limitedBy.accuracy >= accuracy
      ? []
      : [fault(`is ${limitedBy.accuracy}, below that of the gear, ${accuracy}`, `${at}/limitedBy/accuracy`)]),
    ...(latencyMs !== undefined && quantile >= 0.95 && p95Ms > latencyMs && differ(p95Ms, latencyMs)
      ? [fault(`is ${p95Ms}; ${latencyMs} ms are promised to ${quantile} of all requests`, `${at}/p95Ms`)]
      : []),
  ];
}

type Step = GearPlan['gears'][number]['cascade'][number];

function stepFaults(
  { certainty, stages }: GearPlan,
  step: Step,
  before: Step | undefined,
  at: string,
): Fault[] {
  const { stage, threshold, visits, minQueue, loadShares } = step;
  const most = MOST_CERTAINTY[certainty];
  const batch = stages.find(({ name }) => name === stage)?.batch ?? Number.POSITIVE_INFINITY;
  const sum = loadShares.reduce((all, one) => all + one, 0);
  const rounding = loadShares.length / WRITTEN_PARTS;
  const isDivided =
    loadShares.length === 0 || sum === 0
      ? visits === 0 || loadShares.length === 0
      : Math.abs(sum - 1) <= rounding;
  return [
    ...(threshold === undefined || (threshold > Number.NEGATIVE_INFINITY && threshold <= most)
      ? []
      : [fault(`is ${threshold}; a certainty by ${certainty} is at most ${most}`, `${at}/threshold`)]),
    ...(before === undefined
      ? faultOf(visits === 1, `is ${visits}; every request comes to the first step`, `${at}/visits`)
      : faultOf(
          visits >= 0 && visits <= before.visits,
          `is ${visits}; ${before.visits} come to the step before`,
          `${at}/visits`,
        )),
    ...faultOf(
      minQueue <= batch,
      `is ${minQueue}; ${stage} has batches of at most ${batch}`,
      `${at}/minQueue`,
    ),
    ...loadShares.flatMap((one, k) =>
      faultOf(isShare(one), `is ${one}, which is no share`, `${at}/loadShares/${k}`),
    ),
    ...faultOf(isDivided, `sum to ${Number(sum.toFixed(9))}, and not to 1`, `${at}/loadShares`),
  ];
}

function stageFaults(
  { accuracy, accuracyInterval, inputs, output, outputs, transferBytes }: GearPlan['stages'][number],
  at: string,
): Fault[] {
  const names = outputs?.map(({ name }) => name);
  return [
    ...faultOf(isShare(accuracy), `is ${accuracy}, which is no share`, `${at}/accuracy`),
    ...intervalFaults(accuracy, accuracyInterval, `${at}/accuracyInterval`),
    ...(output === undefined || names === undefined || names.includes(output)
      ? []
      : [fault(`is ${output}; the model gives ${names.join(', ')}`, `${at}/output`)]),
    ...same(
      `${at}/transferBytes`,
      transferBytes,
      sumOf((inputs ?? []).map((input) => rowBytes(input) ?? 0)),
      'its inputs',
    ),
    ...tensorFaults(inputs, `${at}/inputs`),
    ...tensorFaults(outputs, `${at}/outputs`),
    ...(inputs ?? []).flatMap(({ name, from }, k) =>
      faultOf(
        from.length === 1 && from[0] === `request.${name}`,
        `comes from ${from.join(', ')}; a model of a cascade takes request.${name}`,
        `${at}/inputs/${k}/from`,
      ),
    ),
  ];
}

function overallFaults(plan: GearPlan): Fault[] {
  const { gears, slo, sloMs, objective, promise, accuracy, requestAccuracy, p95Ms, classes } = plan;
  const time = sumOf(gears.map(({ share }) => share));
  const requests = gears.map(({ fromRps, toRps, share }) => (share * (fromRps + toRps)) / 2);
  const byTime = sumOf(gears.map((gear) => gear.share * gear.accuracy));
  const byRequest = sumOf(
    gears.map((gear, i) => (gear.accuracy * (requests[i] as number)) / sumOf(requests)),
  );
  const slowest = largestOf(gears.map((gear) => gear.p95Ms));
  const used = sumOf(Object.values(classes).map((use) => use.used));
  const promised = slo.latencyMs ?? promise?.latencyMs;
  return [
    ...faultOf(
      Math.abs(time - 1) <= SHARE_ROUNDING,
      `have shares of the time that sum to ${Number(time.toFixed(9))}, and not to 1`,
      '/gears',
    ),
    ...same('/accuracy', accuracy, byTime, 'the gears'),
    ...same('/requestAccuracy', requestAccuracy, byRequest, 'the gears'),
    ...same('/p95Ms', p95Ms, slowest, 'the gears'),
    ...intervalFaults(accuracy, plan.accuracyInterval, '/accuracyInterval'),
    ...(promised === undefined || !differ(sloMs, promised)
      ? []
      : [fault(`is ${sloMs}; ${promised} are promised`, '/sloMs')]),
    ...(slo.accuracy === undefined || accuracy >= slo.accuracy || !differ(accuracy, slo.accuracy)
      ? []
      : [fault(`is ${accuracy}; the SLO is ${slo.accuracy}`, '/accuracy')]),
    ...(slo.latencyMs !== undefined &&
    promise === undefined &&
    (slo.quantile ?? DEFAULT_QUANTILE) >= 1 &&
    slowest > sloMs
      ? [fault(`is ${p95Ms}; the SLO is ${sloMs}`, '/p95Ms')]
      : []),
    ...(objective.kind === 'accuracy' ? same('/objective/value', objective.value, accuracy, 'the plan') : []),
    // A latency that simulations confirmed is promised; without them, the slowest gear gives it.
    ...(objective.kind === 'latency' && differ(objective.value, slowest)
      ? same('/objective/value', objective.value, sloMs, 'the plan')
      : []),
    ...(objective.kind === 'devices' && objective.value < used
      ? [fault(`is ${objective.value}; the plan uses ${used} GPUs`, '/objective/value')]
      : []),
  ];
}

/** samplesFaults finds figures that were counted over other numbers of samples than those of the plan. */
function samplesFaults({ accuracyInterval, gears, stages }: GearPlan): Fault[] {
  if (accuracyInterval === undefined) return [];
  const { samples } = accuracyInterval;
  const others = [
    ...gears.map((one, i) => [one, `/gears/${i}`] as const),
    ...stages.map((one, i) => [one, `/stages/${i}`] as const),
  ];
  return others.flatMap(([one, at]) =>
    one.accuracyInterval === undefined
      ? [fault('is missing: the plan was made from records', `${at}/accuracyInterval`)]
      : faultOf(
          one.accuracyInterval.samples === samples,
          `is ${one.accuracyInterval.samples}; the plan has ${samples}`,
          `${at}/accuracyInterval/samples`,
        ),
  );
}

/**
 * bestSingleFaults finds a best single model that is no best, that has not the accuracy of its stage, or whose right answers are
 * no whole number of the samples; and that a plan which was made from records lacks one.
 */
function bestSingleFaults(plan: GearPlan): Fault[] {
  const { bestSingle, accuracyInterval, stages } = plan;
  if (bestSingle === undefined)
    return accuracyInterval !== undefined && isOfBestSingle(plan)
      ? [fault('is missing: the plan was made from records', '/bestSingle')]
      : [];
  const { model, accuracy } = bestSingle;
  const own = stages.find(({ name }) => name === model);
  const better = stages.find((stage) => stage.accuracy > accuracy && differ(stage.accuracy, accuracy));
  const right = accuracy * (accuracyInterval?.samples ?? 0);
  const at = '/bestSingle/accuracy';
  return [
    ...faultOf(isShare(accuracy), `is ${accuracy}, which is no share`, at),
    ...(own === undefined ? [] : same(at, accuracy, own.accuracy, 'the stages')),
    ...(better === undefined || better === own
      ? []
      : [fault(`is ${accuracy}; ${better.name} has ${better.accuracy}`, at)]),
    ...faultOf(
      !differ(right, Math.round(right)),
      `is ${accuracy}, which is no whole number of ${accuracyInterval?.samples} samples`,
      at,
    ),
  ];
}

function same(at: string, is: number, should: number, by: string): Fault[] {
  return differ(is, should) ? [fault(`is ${is}; ${by} give ${should}`, at)] : [];
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
