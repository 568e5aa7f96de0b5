import type { CascadeObjective } from '../artifacts/index.js';
import type { Cascade } from './cascade.js';
import { cascadeFrontier } from './frontier.js';
import type { RangeFault } from './loop.js';
import { type GearChoice, type GearMethod, mostAccurate, relaxedBound } from './planner.js';
import type { GearProblem } from './problem.js';
import type { ArrivalsOf } from './trials.js';

/** The least latency is searched to within this share. */
const LATENCY_STEP = 0.01;
/** A latency is given up as out of reach that is this many times as long as the least that is possible. */
const MOST_LATENCIES = 4096;

/** GearQuestion is a problem with what is made best, and what must be reached. */
export interface GearQuestion {
  readonly problem: GearProblem;
  readonly objective: CascadeObjective;
  /** The least accuracy over the distribution of loads; 0 where none is promised. */
  readonly accuracy: number;
  readonly method?: GearMethod;
  readonly arrivalsOf: ArrivalsOf;
  /** For random search. */
  readonly integer?: (below: number) => number;
  /** The price of a device, for the objective cost. */
  readonly unitCost?: number;
}

/** GearSolution is a plan that is best by an objective, with the bound on any plan's value. */
export interface GearSolution {
  readonly problem: GearProblem;
  readonly choice: GearChoice;
  readonly value: number;
  readonly bound: number;
  readonly trials: number;
}

/** NoGears says why there is no plan: a range is not served, or the accuracy is out of reach. */
export type NoGears =
  | { readonly code: 'range'; readonly fault: RangeFault }
  | { readonly code: 'accuracy'; readonly reached: number };

/** GearAnswer is the answer to a question. */
export type GearAnswer =
  | { readonly status: 'optimal' | 'feasible'; readonly solution: GearSolution }
  | { readonly status: 'infeasible'; readonly reason: NoGears; readonly trials: number };

/**
 * solveGears answers a question by searching for the most accurate plan: once for the objective accuracy; for the least
 * latency by halving the latency that is promised; for the fewest devices by their number. All is counted work, so that
 * the same question has the same answer.
 */
export function solveGears(question: GearQuestion): GearAnswer {
  const frontier = cascadeFrontier(question.problem);
  switch (question.objective) {
    case 'accuracy':
      return at(question, frontier, {});
    case 'latency':
      return leastLatency(question, frontier);
    case 'devices':
    case 'cost':
      return fewestDevices(question, frontier);
  }
}

type Change = Partial<Pick<GearProblem, 'latencyNs' | 'devices'>>;

/** at finds the most accurate plan of a problem with a change, and refuses one of too little accuracy. */
function at(question: GearQuestion, frontier: readonly Cascade[], change: Change): GearAnswer {
  const problem = { ...question.problem, ...change };
  const { method, arrivalsOf, accuracy } = question;
  const outcome = mostAccurate(problem, {
    arrivalsOf,
    frontier,
    ...(method === undefined ? {} : { method }),
  });
  const { trials } = outcome;
  if (outcome.status === 'infeasible')
    return { status: 'infeasible', reason: { code: 'range', fault: outcome.fault }, trials };
  const { choice, status } = outcome;
  if (choice.accuracy < accuracy)
    return { status: 'infeasible', reason: { code: 'accuracy', reached: choice.accuracy }, trials };
  return { status, solution: { problem, choice, value: choice.accuracy, bound: choice.bound, trials } };
}

/**
 * leastLatency halves the promised latency between the least floor at which the bound allows the accuracy, and the
 * latency of a plan.
 */
function leastLatency(question: GearQuestion, frontier: readonly Cascade[]): GearAnswer {
  const { problem } = question;
  const floors = [...new Set(frontier.map(({ floorNs }) => floorNs))].sort((a, b) => a - b);
  const bound = floors.find((latencyNs) => mayReach(question, frontier, { latencyNs }));
  if (bound === undefined || bound > problem.latencyNs) return at(question, frontier, {});
  let trials = 0;
  const tryAt = (latencyNs: number): GearAnswer => {
    const answer = at(question, frontier, { latencyNs });
    trials += answer.status === 'infeasible' ? answer.trials : answer.solution.trials;
    return answer;
  };
  let low = bound;
  let best: GearAnswer | undefined;
  const most = Math.min(problem.latencyNs, MOST_LATENCIES * bound);
  for (
    let latencyNs = Math.min(2 * bound, most);
    best === undefined;
    latencyNs = Math.min(2 * latencyNs, most)
  ) {
    const answer = tryAt(latencyNs);
    if (answer.status !== 'infeasible') best = answer;
    else if (latencyNs >= most) return { ...answer, trials };
    else low = latencyNs;
  }
  for (let high = slowest(best); high > (1 + LATENCY_STEP) * low; ) {
    const answer = tryAt(Math.sqrt(low * high));
    if (answer.status === 'infeasible') low = Math.sqrt(low * high);
    else {
      best = answer;
      high = slowest(answer);
    }
  }
  return valued(best, { value: slowest(best) / 1e6, bound: bound / 1e6, trials });
}

/** slowest is the largest latency of a plan's gears. */
function slowest(answer: GearAnswer): number {
  return answer.status === 'infeasible' ? 0 : slowestNs(answer.solution.choice);
}

/** slowestNs is the largest latency of the gears of a choice. */
export function slowestNs({ gears }: GearChoice): number {
  return Math.max(...gears.map(({ gear }) => gear.latencyNs));
}

/** fewestDevices searches the number of devices, from the least that the bound allows to those that there are. */
function fewestDevices(question: GearQuestion, frontier: readonly Cascade[]): GearAnswer {
  const { problem, unitCost = 1 } = question;
  let bound = 1;
  while (bound < problem.devices && !mayReach(question, frontier, { devices: bound })) bound++;
  let trials = 0;
  const tryAt = (devices: number): GearAnswer => {
    const answer = at(question, frontier, { devices });
    trials += answer.status === 'infeasible' ? answer.trials : answer.solution.trials;
    return answer;
  };
  let low = bound - 1;
  let high = bound;
  let best = tryAt(high);
  while (best.status === 'infeasible') {
    if (high >= problem.devices) return { ...best, trials };
    low = high;
    high = Math.min(2 * high, problem.devices);
    best = tryAt(high);
  }
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    const answer = tryAt(middle);
    if (answer.status === 'infeasible') low = middle;
    else {
      best = answer;
      high = middle;
    }
  }
  return valued(best, { value: high * unitCost, bound: bound * unitCost, trials });
}

/** mayReach says whether the bound on accuracy allows a plan. */
function mayReach(question: GearQuestion, frontier: readonly Cascade[], change: Change): boolean {
  const problem = { ...question.problem, ...change };
  const bound = relaxedBound({ problem, frontier });
  return bound >= question.accuracy;
}

function valued(answer: GearAnswer, figures: Pick<GearSolution, 'value' | 'bound' | 'trials'>): GearAnswer {
  if (answer.status === 'infeasible') return answer;
  const status = figures.value <= figures.bound ? 'optimal' : 'feasible';
  return { status, solution: { ...answer.solution, ...figures } };
}
