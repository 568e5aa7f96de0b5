import {
  cascadeSpace,
  type FamilyModel,
  type GearAnswer,
  type GearProblem,
  mostAccurate,
  placementSolver,
  proportionalArrivals,
  solveGears,
} from '../../../src/gearplan/index.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { streamOf } from '../../../src/random/index.js';
import type { Dice } from '../../seeded/dice.js';
import { mostCounted } from '../cascades/counted-plans.js';
import { allCascades, figuresOf, type Tried } from '../cascades/every-cascade.js';
import type { Refutation, Refuted } from '../refuter.js';

/** Accuracies that differ by less are equal: they are sums of shares. */
const SAME = 1e-9;

let highs: Promise<HighsEngine> | undefined;

/** One case in so many is of six models that do not fit a device together. */
const OF_SIX = 10;
/** Of six models with many samples, cascades with so many thresholds of each model are tried: a grid of them. */
const MOST_LEVELS = 3;

/**
 * refuter plans random small families, some of which do not fit a device, and sets what is proved beside brute force: all
 * cascades in all orders with all thresholds, sample by sample, on all placements. What is proved must hold even of loads
 * that never wait. In some cases few thresholds are counted, so that bounds hold for those between them too. Some cases
 * have six models, of which devices hold a few: with few samples, or with many, whose cascades are of a grid.
 */
export async function refuter(dice: Dice): Promise<Refuted> {
  const problem = dice.chance(1 / OF_SIX) ? problemOfSix(dice) : madeProblem(dice);
  const cascades = allCascades(problem.models, {
    quantile: problem.quantile,
    most: problem.models.length > 3 ? MOST_LEVELS : 100,
  });
  const arrivalsOf = proportionalArrivals(streamOf(1, 'refuted arrivals').exponential);
  highs ??= loadHighs();
  const solvePlacement = placementSolver(await highs);
  const combinations = dice.pick([1, 30, 2e7]);
  const outcome = mostAccurate(problem, {
    arrivalsOf,
    solvePlacement,
    space: cascadeSpace({ ...problem, combinations }),
  });
  const objective = dice.pick(['accuracy', 'latency', 'devices'] as const);
  const levels = cascades.map(({ accuracy }) => accuracy).sort((a, b) => a - b);
  const accuracy = (levels[dice.below(levels.length)] as number) + dice.pick([0, 0, 1e-6, 0.05]);
  const method = dice.pick(['gears', 'exhaustive'] as const);
  const asked = { problem, objective, accuracy, method, arrivalsOf, solvePlacement };
  const answer = solveGears(asked);
  const refutations: Refutation[] = [];
  const counted = mostCounted(problem, cascades);
  if ('choice' in outcome) {
    const { bound, accuracy: value } = outcome.choice;
    refutations.push(...boundRefuted(outcome.status, { value, bound, counted }));
    refutations.push(...miscounted(problem, outcome.choice));
  } else if (outcome.status === 'infeasible' && outcome.tried === undefined && counted >= 0)
    refutations.push({ claim: 'no devices have the time', found: `plans reach ${counted}` });
  refutations.push(...answerRefuted(answer, { problem, cascades, accuracy, objective }));
  const { models, devices, memoryBytes } = problem;
  return {
    what: `${models.length} models, ${models[0]?.correct.length} samples, ${devices} devices of ${memoryBytes} bytes, ${objective} at ${accuracy}, ${combinations} combinations`,
    outcome: `${outcome.status}, ${objective} ${answer.status}`,
    refutations,
  };
}

function boundRefuted(
  status: string,
  { value, bound, counted }: { readonly value: number; readonly bound: number; readonly counted: number },
): Refutation[] {
  return [
    ...(counted > bound + SAME
      ? [{ claim: `no plan is more accurate than ${bound}`, found: `loads that never wait have ${counted}` }]
      : []),
    ...(status === 'optimal' && counted > value + SAME
      ? [{ claim: `the plan of ${value} is optimal`, found: `loads that never wait have ${counted}` }]
      : []),
  ];
}

type Choice = Extract<ReturnType<typeof mostAccurate>, { readonly choice: unknown }>['choice'];

/** miscounted sends the samples through the cascades of a plan again. */
function miscounted(
  { models, ranges, quantile }: GearProblem,
  { cascades, gears, accuracy }: Choice,
): Refutation[] {
  const again = gears.reduce((sum, { index }, range) => {
    const cascade = cascades[index] as Choice['cascades'][number];
    const parts = { chosen: [...cascade.models], levels: [...cascade.thresholds], quantile };
    return sum + (ranges[range]?.share as number) * figuresOf(models, parts).accuracy;
  }, 0);
  if (Math.abs(again - accuracy) <= SAME) return [];
  return [{ claim: `the plan is right about ${accuracy}`, found: `sample by sample it is ${again}` }];
}

interface Asked {
  readonly problem: GearProblem;
  readonly cascades: readonly Tried[];
  readonly accuracy: number;
  readonly objective: 'accuracy' | 'latency' | 'devices';
}

/** answerRefuted tries what is proved of an answer: that there is no plan, or none with fewer devices or a shorter latency. */
function answerRefuted(answer: GearAnswer, { problem, cascades, accuracy, objective }: Asked): Refutation[] {
  if (answer.status === 'undecided') return [];
  if ('solution' in answer) {
    const { bound } = answer.solution;
    const less =
      objective === 'devices'
        ? { devices: bound - 1 }
        : { latencyNs: Math.min(problem.latencyNs, 1e6 * bound * (1 - SAME)) };
    if (objective === 'accuracy')
      return boundRefuted(answer.status, { ...answer.solution, counted: mostCounted(problem, cascades) });
    if (bound <= 0) return [];
    const counted = mostCounted({ ...problem, ...less }, cascades);
    if (counted < accuracy - SAME) return [];
    return [
      {
        claim: `no plan of ${accuracy} needs less than ${bound}`,
        found: `one with ${JSON.stringify(less)} has ${counted}`,
      },
    ];
  }
  const { reason } = answer;
  const best = Math.max(...cascades.map((one) => one.accuracy));
  const counted = mostCounted(problem, cascades);
  return [
    ...(reason.code === 'accuracy' && best > reason.best + SAME
      ? [{ claim: `no cascade is right about more than ${reason.best}`, found: `one is about ${best}` }]
      : []),
    ...(reason.tried === undefined && counted >= accuracy + SAME
      ? [{ claim: `no plan reaches ${accuracy}`, found: `loads that never wait reach ${counted}` }]
      : []),
  ];
}

/** madeProblem draws up to three models with few samples. Models of the same device may not fit it together. */
function madeProblem(dice: Dice): GearProblem {
  const samples = 3 + dice.below(7);
  const models = madeModels(dice, { samples, count: 1 + dice.below(3), levels: 8, surer: 0 });
  const most = Math.max(...models.map(({ memoryBytes }) => memoryBytes));
  return problemWith(dice, { models, memoryBytes: most + dice.below(5), devices: 1 + dice.below(3) });
}

/** problemOfSix draws six models of which a device holds one to three. */
function problemOfSix(dice: Dice): GearProblem {
  const samples = dice.pick([4, 7, 60, 200]);
  const levels = dice.pick([6, 50]);
  const models = madeModels(dice, { samples, count: 6, levels, surer: levels });
  const [most = 0, second = 0] = models.map(({ memoryBytes }) => memoryBytes).sort((a, b) => b - a);
  return problemWith(dice, {
    models,
    memoryBytes: dice.pick([most, most + 1, most + second]),
    devices: 2 + dice.below(3),
  });
}

interface MadeModels {
  readonly samples: number;
  readonly count: number;
  /** So many certainties may be told apart. */
  readonly levels: number;
  /** Right answers are more certain by as many levels at most. */
  readonly surer: number;
}

function madeModels(dice: Dice, { samples, count, levels, surer }: MadeModels): FamilyModel[] {
  const models = Array.from({ length: count }, (_, model): FamilyModel => {
    const batches = 1 + dice.below(3);
    const ns = 1e6 * (1 + dice.below(40));
    const correct = Uint8Array.from({ length: samples }, () =>
      dice.chance(0.5 + (0.3 * model) / count) ? 1 : 0,
    );
    return {
      name: `m${model}`,
      // A larger batch may be the faster one.
      latencyNs: Float64Array.from(
        { length: batches },
        (_, b) => ns * (1 + 0.5 * b) * (dice.chance(0.1) ? 0.4 : 1),
      ),
      memoryBytes: 1 + dice.below(4),
      correct,
      certainty: Float64Array.from(
        correct,
        (right) => (dice.below(levels) + right * dice.below(surer + 1)) / (levels + surer + 1),
      ),
    };
  });
  return models.sort((a, b) => perSampleNs(a) - perSampleNs(b));
}

function problemWith(
  dice: Dice,
  { models, memoryBytes, devices }: Pick<GearProblem, 'models' | 'memoryBytes' | 'devices'>,
): GearProblem {
  const dearest = models.at(-1) as FamilyModel;
  const topRps = (1e9 * devices * dice.pick([0.1, 0.4, 0.9, 2])) / perSampleNs(dearest);
  const ranges = 1 + dice.below(3);
  return {
    models,
    devices,
    memoryBytes,
    quantile: 0.8,
    thresholds: 2,
    latencyNs: dice.pick([0.5, 2, 10]) * (dearest.latencyNs[0] as number),
    ranges: Array.from({ length: ranges }, (_, k) => ({
      fromRps: (k * topRps) / ranges,
      toRps: ((k + 1) * topRps) / ranges,
      share: 1 / ranges,
    })),
  };
}

function perSampleNs({ latencyNs }: FamilyModel): number {
  return Math.min(...latencyNs.map((ns, b) => ns / (b + 1)));
}
