import { NS_PER_MS, type PipelineSpec, toldApart } from '../formats/index.js';
import {
  type GivenReason,
  leastSloMs,
  loadTooHighText,
  type OpenProblem,
  objectivesOf,
} from '../pipeline/index.js';
import type { InfeasibleReason } from './infeasible.js';
import type { PlanningOutcome } from './planner.js';
import type { PlannedOpen } from './planning-job.js';

/** openReason says why a search that came to its end and found nothing is no proof. */
export function openReason(spec: PipelineSpec): GivenReason {
  const wanted = objectivesOf(spec).map(({ sloMs }) => `${fourDigits(sloMs)} ms`);
  const text = `no plan was found that answers within ${wanted.join(' and ')} even over idle links; as batches may wait for links, that is no proof that there is none; a longer SLO would help`;
  return { code: 'other', text };
}

/** percentText writes a share for a sentence. */
export function percentText(share: number): string {
  return `${Number((100 * share).toFixed(4))} %`;
}

type Infeasible = Extract<PlanningOutcome, { status: 'infeasible' }>;

/** infeasible is the answer that there is no plan, with the reasons in words and an SLO that can be met, where one was found. */
export function infeasible(
  {
    reasons,
    least,
    estimates = 0,
  }: Pick<Infeasible, 'reasons' | 'least'> & Partial<Pick<Infeasible, 'estimates'>>,
  { spec, rps = 0 }: OpenProblem,
): PlannedOpen {
  const leastMs = least?.sloNs.map((ns) => ns / NS_PER_MS);
  const would =
    least === undefined
      ? ''
      : `; ${leastText(objectivesOf(spec), leastMs as number[])} can be met, at ${fourDigits(least.hourlyCost)} per hour`;
  return {
    status: 'infeasible',
    isProved: true,
    reasons: reasons.map((reason) => {
      const { text, ...rest } = reasonOf(reason, spec, rps);
      return { ...rest, text: `${text}${would}` };
    }),
    ...(leastMs === undefined ? {} : { smallestFeasibleSlosMs: leastMs }),
    estimates,
  };
}

function leastText(objectives: ReturnType<typeof objectivesOf>, leastMs: readonly number[]): string {
  if (objectives.length === 1) return `an SLO of ${fourDigits(leastMs[0] as number)} ms`;
  const each = objectives.map(
    ({ attainment, name = percentText(attainment) }, k) => `${fourDigits(leastMs[k] as number)} ms (${name})`,
  );
  return `SLOs of ${each.join(', ')}`;
}

function reasonOf(reason: InfeasibleReason, spec: PipelineSpec, loadRps: number): GivenReason {
  const objectives = objectivesOf(spec);
  const several = objectives.length > 1;
  switch (reason.code) {
    case 'slo-too-short':
      return sloReason(reason, objectives);
    case 'too-few-replicas': {
      const { stage, classes, least } = reason;
      const needed = least.map((one) => `${one.needed} ${one.device}`).join(' or ');
      const has = least.map(({ device, count }) => `${count} ${device}`).join(' and ');
      const told = least.length === 0 ? '' : `: at least ${needed}, and there are ${has}`;
      const text = `${stage} needs more replicas than there are, ${classes.length === 0 ? 'as the spec fixes them' : `of ${classes.join(', ')}`}, whatever the others have${told}`;
      return { code: 'too-few-gpus', stages: [stage], ...(least.length === 1 ? missingOf(least) : {}), text };
    }
    case 'cannot-keep-up': {
      const { stage, classes, share } = reason;
      const devices =
        classes.length === 0
          ? 'the replicas that the spec fixes'
          : `the ${classes.join(', ')} that there are`;
      const [rps, servedRps] = [loadRps, loadRps * share];
      const stages = [stage];
      const text = loadTooHighText({ devices, stages, servedRps, rps });
      return { code: 'rate-too-high', stages, rps, servedRps, text };
    }
    case 'no-combination': {
      const wanted = objectives.map((one) => `${fourDigits(one.sloMs)} ms`);
      return {
        code: 'slo-too-short',
        sloMs: leastSloMs(spec),
        text: `no choice of classes and batches is fast enough for the SLO${several ? 's' : ''} of ${wanted.join(' and ')}, though every stage alone has one: transfers between classes take too long, or batches that are fixed do`,
      };
    }
    case 'too-few-devices': {
      const { device, needed, count } = reason;
      return {
        code: 'too-few-gpus',
        class: device,
        available: { [device]: count },
        missing: { [device]: needed - count },
        text: `${needed} ${device} are needed and ${count} are free`,
      };
    }
    case 'too-few-servers': {
      const { classes } = reason;
      return {
        code: 'rate-too-high',
        text: `the uplinks of the servers of ${classes.join(', ')} have too little time for what the stages on them send of the requests that must be in time`,
      };
    }
    case 'limits-together':
      return limitsReason(reason);
  }
}

type SloTooShort = Extract<InfeasibleReason, { code: 'slo-too-short' }>;

function sloReason(
  { stages, longestPathNs, leastSloNs, objective }: SloTooShort,
  objectives: ReturnType<typeof objectivesOf>,
): GivenReason {
  const [latencyMs, sloMs] = [leastSloNs / NS_PER_MS, objective.sloNs / NS_PER_MS];
  const [least, slo] = toldApart([latencyMs, sloMs]);
  const path = `${stages.join(' -> ')}, takes ${fourDigits(longestPathNs / NS_PER_MS)} ms on the fastest classes`;
  const asked =
    objectives[objective.application ?? -1]?.name ?? `${percentText(objective.attainment)} of the requests`;
  const which = objectives.length > 1 ? `the SLO of ${asked}` : 'the SLO';
  const text = `even if no request ever waited, ${which} would have to be about ${least} ms, and it is ${slo} ms: the longest path, ${path}`;
  return { code: 'slo-too-short', stages, sloMs, latencyMs, overMs: latencyMs - sloMs, text };
}

type LimitsTogether = Extract<InfeasibleReason, { code: 'limits-together' }>;

function limitsReason(reason: LimitsTogether): GivenReason {
  const { classes, fixedStages, needed, least = [] } = reason;
  const limits = [
    ...(classes.length === 0 ? [] : [`the devices of ${classes.join(', ')}`]),
    ...(fixedStages.length === 0 ? [] : [`the replicas fixed for ${fixedStages.join(', ')}`]),
  ];
  const text = `${limits.join(' and ')} are together too few`;
  if (needed === undefined) {
    const each = least.map(
      (one) =>
        `${one.stage} ${one.least.map(({ device, needed: some }) => `${some} ${device}`).join(' or ')}`,
    );
    return {
      code: 'too-few-gpus',
      stages: [...new Set([...fixedStages, ...least.map(({ stage }) => stage)])],
      text: each.length === 0 ? text : `${text}: of these, at least are needed by ${each.join(', by ')}`,
    };
  }
  const would = needed.classes.map((one) => `${one.needed} ${one.device}`).join(' and ');
  const free = needed.classes.map(({ device, count }) => `${count} ${device}`).join(' and ');
  const stages = needed.stages.map(
    ({ stage, device, replicas }) => `${stage} (${replicas}${needed.classes.length > 1 ? ` ${device}` : ''})`,
  );
  return {
    code: 'too-few-gpus',
    stages: [...new Set([...fixedStages, ...needed.stages.map(({ stage }) => stage)])],
    ...missingOf(needed.classes),
    text: `${text}: ${would} would do, and ${free} are free; they are for ${stages.join(', ')}`,
  };
}

/** missingOf says how many devices there are of each class, and how many are missing. */
function missingOf(classes: readonly { device: string; needed: number; count: number }[]) {
  return {
    available: Object.fromEntries(classes.map(({ device, count }) => [device, count])),
    missing: Object.fromEntries(classes.map(({ device, needed, count }) => [device, needed - count])),
  };
}

/** fourDigits writes a value for a sentence, with four digits. */
export function fourDigits(value: number): string {
  return String(Number(value.toPrecision(4)));
}
