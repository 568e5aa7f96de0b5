import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SimulateOptions } from '../../../src/api/index.js';
import { applicationsOf, type StagePlan } from '../../../src/plans/index.js';
import type { SimulationSettings } from '../../../src/simulation/index.js';
import type { Dice } from '../../seeded/dice.js';

/** What may serve a plan of each kind, and a few that only serve some. */
const SCHEDULERS: Readonly<Record<StagePlan['kind'], readonly string[]>> = {
  'pooled-plan': ['fifo', 'reactive', 'reservation', 'stage-local', 'pard', 'nexus', 'clipper++', 'naive'],
  'pipeline-plan': ['inferline', 'room-first', 'stage-local', 'pard', 'pard-fcfs', 'fifo', 'nexus'],
  'gear-plan': ['gears', 'stage-local', 'pard'],
};

const POLICIES: readonly (readonly string[])[] = [
  ...[
    ['drop=never'],
    ['drop=expired'],
    ['drop=hopeless'],
    ['drop=full-batch', 'drop.share=0.5'],
    ['drop=queueing', 'drop.share=0.5', 'drop.spares=all-waited'],
  ],
  ...[
    ['late=background', 'late.patience=2', 'late.mostMissed=0.3', 'late.window=50'],
    ['weighing=levels', 'weighing.margin=0.1'],
    ['order=deadline'],
  ],
  ...[
    ['firstSight=never'],
    ['mostTasks=3'],
    ['slackNs=1000000'],
    ['correction=average', 'correction.weight=0.1'],
  ],
];

type Load = Pick<SimulateOptions, 'load' | 'rps' | 'traces' | 'phases' | 'duration' | 'arrivals' | 'cv'>;

/** A run gets about so many requests at most, so that a case takes a second. */
const MOST_REQUESTS = 1_500;

/** randomSettings draws how requests are served: by which scheduler, policy and tuner, how fast, and with which priorities. */
export function randomSettings(dice: Dice, plan: StagePlan): Omit<SimulationSettings, 'signal'> {
  const scheduler = dice.chance(0.25) ? { scheduler: dice.pick(SCHEDULERS[plan.kind]) } : {};
  const policy = dice.chance(0.3) ? { policy: dice.pick(POLICIES) } : {};
  const tuner =
    plan.kind === 'pipeline-plan' && dice.chance(0.3)
      ? { tuner: dice.pick(['none', 'inferline', 'ds2', 'hpa', 'kpa', 'by-rate', 'oracle', 'coarse']) }
      : {};
  return {
    ...scheduler,
    ...policy,
    ...tuner,
    seed: dice.below(1000),
    ...(dice.chance(0.3) ? { exact: true } : {}),
    ...(dice.chance(0.3) ? { slow: dice.pick([0.5, 1.1, 3]) } : {}),
    ...(dice.chance(0.3) ? { jitter: dice.pick([0, 0.1, 1]) } : {}),
    ...(dice.chance(0.3)
      ? { priorities: dice.pick(['1=1', '1=0.1,2=0.9', '0=0.3,1=0.3,7=0.4', '3=1e-6,4=0.999999']) }
      : {}),
  };
}

/**
 * randomLoad draws a load of any shape: multiples of the plan's rates, rates, phases, a trace of instants or of counts,
 * its promise.
 */
export async function randomLoad(
  dice: Dice,
  { plan, folder }: { readonly plan: StagePlan; readonly folder: string },
): Promise<Load> {
  const rps = plannedRps(plan);
  const longS = Math.min(dice.pick([0.05, 0.3, 1, 2, 11]), MOST_REQUESTS / rps);
  const duration = Math.max(1e-3, Number(longS.toPrecision(3)));
  const spread = dice.pick<Pick<Load, 'arrivals' | 'cv'>>([
    {},
    { arrivals: 'poisson' },
    { arrivals: 'uniform' },
    { arrivals: 'gamma', cv: 0 },
    { arrivals: 'gamma', cv: 0.3 },
    { arrivals: 'gamma', cv: 4 },
    { arrivals: 'gamma', cv: 30 },
  ]);
  const factor = () => dice.pick([0, 0.01, 0.2, 0.9, 1, 1.5, 5]);
  const rate = () => Number((Math.max(0.1, factor()) * rps).toPrecision(4));
  const names = applicationsOf(plan).map(({ name }) => name);
  switch (dice.pick(['load', 'load', 'total', 'each', 'phases', 'instants', 'counts', 'planned'] as const)) {
    case 'load':
      return { load: Math.max(0.01, factor()), duration, ...spread };
    case 'total':
      return { rps: [String(rate())], duration, ...spread };
    case 'each':
      return { rps: [`${dice.pick(names)}=${rate()}`], duration, ...spread };
    case 'phases': {
      const phases = Array.from({ length: 1 + dice.below(3) }, (_, k) =>
        [
          `${Number((duration / 2).toPrecision(3))}s`,
          dice.chance(0.7) ? `load=${factor()}` : `${dice.pick(names)}=${rate()}`,
          ...(k > 0 && dice.chance(0.4) ? [`over=${Number((duration / 5).toPrecision(3))}s`] : []),
          ...(spread.arrivals === 'gamma' && dice.chance(0.5) ? [`cv=${dice.pick([0.5, 3])}`] : []),
        ].join(','),
      );
      return { phases, ...spread };
    }
    case 'instants': {
      const count = dice.below(Math.max(2, Math.min(MOST_REQUESTS, Math.ceil(duration * rate()))));
      const instants = Array.from({ length: count + 1 }, () => (duration * dice.below(1e6)) / 1e6);
      return {
        ...(await traced(dice, { folder, rps, duration }, ['arrival_s', ...instants.sort((a, b) => a - b)])),
      };
    }
    case 'counts': {
      const most = Math.max(1, Math.ceil((rate() * duration) / 5));
      const counts = Array.from({ length: 5 }, () => `${duration / 5},${dice.below(most + 1)}`);
      return {
        ...spread,
        ...(await traced(dice, { folder, rps, duration }, [
          'interval_s,count',
          ...counts,
          `${duration / 5},1`,
        ])),
      };
    }
    case 'planned':
      return dice.chance(0.5) ? { duration } : {};
  }
}

async function traced(
  dice: Dice,
  { folder, rps, duration }: { readonly folder: string; readonly rps: number; readonly duration: number },
  lines: readonly (string | number)[],
): Promise<Load> {
  await writeFile(join(folder, 'trace.csv'), `${lines.join('\n')}\n`);
  return {
    traces: [join(folder, 'trace.csv')],
    ...dice.pick<Load>([
      {},
      {},
      { load: 0.9 },
      { rps: [String(Number(rps.toPrecision(3)))] },
      { duration: duration * 0.6 },
      { duration: 2 * duration },
    ]),
  };
}

/** plannedRps is the rate that a plan is for, of all models. */
function plannedRps(plan: StagePlan): number {
  return Math.max(
    1e-3,
    applicationsOf(plan).reduce((sum, one) => sum + one.throughputRps, 0),
  );
}
