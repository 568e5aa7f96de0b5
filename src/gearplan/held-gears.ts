import { powerOf } from '../collections/index.js';
import { NS_PER_MS } from '../formats/index.js';
import { bestGear, busyByCascade, loadedCascades, loadedLimits, type RangeGear } from './best-gears.js';
import { accuracyOf } from './loop.js';
import {
  allButRounding,
  type GearAnswer,
  type GearQuestion,
  type GearSolution,
  slowestNs,
  solveGears,
  trialsOf,
} from './objectives.js';
import type { GearPlanBody } from './plan-body.js';
import type { GearChoice } from './planner.js';
import {
  type HeldPlan,
  type JudgedPlan,
  type NotHeldRate,
  PromiseJudge,
  type SimulateGears,
} from './promise.js';
import { spaceOf } from './search-space.js';
import { GearTrials, TriedGears } from './trials.js';

/** How much more load than is promised a range is planned for, one after another, until its rates are held. */
const HEADROOMS = [0, 0.01, 0.02, 0.03, 0.045, 0.065, 0.09, 0.12, 0.16, 0.22, 0.3, 0.4, 0.55];
/** A plan with more headroom that is not there is looked for with half of the step, so often. */
const MOST_HALVED = 2;
/** Gears are chosen again so often at most. */
const MOST_ROUNDS = 60;
/** Where no plan of the least latency or number of devices is held, the next one is larger by this share, so often. */
const WIDER = 0.04;
const MOST_WIDER = 12;

/**
 * No gears are chosen again after this many simulated requests that count, some ten seconds, or this many arrivals and batches of
 * gears that were tried.
 */
const MOST_SIMULATED = 10e6;
const MOST_TRIED = 400e6;

/** HeldSolution is a solution whose promise is confirmed. */
interface HeldSolution {
  readonly solution: GearSolution;
  readonly held: HeldPlan;
}

/** HeldTools are what a promise is confirmed with: plans are written and simulated as they are served. */
export interface HeldTools {
  readonly simulate: SimulateGears;
  readonly planOf: (solution: GearSolution) => GearPlanBody;
}

/**
 * heldGears answers a question by a plan that holds its latency where it is simulated as a whole (`PromiseJudge`). The
 * gear of a range that is not held is planned for more load, step by step. Where that leads to no plan, the least
 * latency or number of devices is raised. Each search may do all the work that is allowed. A plan of which no latency
 * is promised needs no such proof.
 */
export function heldGears(question: GearQuestion, { simulate, planOf }: HeldTools): GearAnswer {
  let simulated = 0;
  const tried = new TriedGears();
  const isSpent = () =>
    simulated >= MOST_SIMULATED || tried.events >= MOST_TRIED || question.interrupted?.() === true;
  const counting: SimulateGears = (plan) => {
    const run = simulate(plan);
    return (load, seed) => {
      const found = run(load, seed);
      simulated += found.latenciesNs.length;
      return found;
    };
  };
  const tools = { simulate: counting, planOf, isSpent };
  const first = solveGears({ ...question, tried });
  if (!('solution' in first)) return first;
  if (!isPromised(question)) return first;
  let trials = first.solution.trials;
  let notHeld: NotHeldRate | undefined;
  for (const [i, problem] of widerProblems(question, first.solution).entries()) {
    const asked: GearQuestion = { ...question, tried, problem, objective: 'accuracy' };
    const begun = i === 0 ? first : solveGears(asked);
    if (i > 0) trials += trialsOf(begun);
    if (!('solution' in begun)) continue;
    const search = new HeldSearch(asked, tools, begun.solution);
    const found = search.run();
    trials += search.trials;
    if ('held' in found) return answered(question, { first, found, trials });
    notHeld = found;
    if (isSpent()) break;
  }
  return notHeld === undefined ? { status: 'undecided', trials } : { status: 'undecided', trials, notHeld };
}

/** isPromised says whether plans promise a latency: one that was asked for, or the least that is found. */
function isPromised({ problem, objective }: GearQuestion): boolean {
  return Number.isFinite(problem.latencyNs) || objective === 'latency';
}

/** widerProblems lists the problems in which a held plan is looked for: that of the best solution, and larger ones. */
function widerProblems({ problem, objective }: GearQuestion, { choice, problem: solved }: GearSolution) {
  const factors = Array.from({ length: MOST_WIDER }, (_, i) => powerOf(1 + WIDER, i));
  switch (objective) {
    case 'accuracy':
      return [problem];
    case 'latency': {
      const longer = factors.map((factor) => Math.min(problem.latencyNs, factor * solved.latencyNs));
      const latencies = [slowestNs(choice), ...longer];
      return [...new Set(latencies)].map((latencyNs) => ({ ...problem, latencyNs }));
    }
    case 'devices':
    case 'cost': {
      const counts = [solved.devices];
      while (counts.length < MOST_WIDER)
        counts.push(Math.max((counts.at(-1) as number) + 1, Math.round((counts.at(-1) as number) * 1.1)));
      return [...new Set(counts.map((count) => Math.min(problem.devices, count)))].map((devices) => ({
        ...problem,
        devices,
      }));
    }
  }
}

/** answered gives a held plan the value and the bound of the objective that was asked for. */
function answered(
  { objective, unitCost = 1 }: GearQuestion,
  {
    first,
    found,
    trials,
  }: {
    readonly first: Extract<GearAnswer, { readonly solution: unknown }>;
    readonly found: HeldSolution;
    readonly trials: number;
  },
): GearAnswer {
  const { solution, held } = found;
  const { bound } = first.solution;
  const value =
    objective === 'accuracy'
      ? solution.choice.accuracy
      : objective === 'latency'
        ? solution.problem.latencyNs / NS_PER_MS
        : solution.problem.devices * unitCost;
  const isBest = objective === 'accuracy' ? bound - value <= 1e-12 : value <= bound;
  return {
    status: isBest ? 'optimal' : 'feasible',
    solution: { ...solution, value, bound, trials },
    held,
  };
}

/** HeldSearch looks for gears that hold one latency on a given number of devices. */
class HeldSearch {
  trials = 0;
  private readonly judge: PromiseJudge;
  private readonly steps: number[];
  /** The headroom of each range, and the last one with which there was a plan that was not held. */
  private headroom: readonly number[];

  constructor(
    private readonly question: GearQuestion,
    private readonly tools: HeldTools & { readonly isSpent: () => boolean },
    private readonly begun: GearSolution,
  ) {
    const { latencyNs, quantile, ranges } = question.problem;
    const { interrupted: isStopped } = question;
    const promised = { promisedMs: latencyNs / NS_PER_MS, quantile, ...(isStopped ? { isStopped } : {}) };
    this.judge = new PromiseJudge(tools.simulate, promised);
    this.steps = ranges.map(() => 0);
    this.headroom = ranges.map(() => 0);
  }

  run(): HeldSolution | NotHeldRate {
    const { isSpent, planOf } = this.tools;
    let solution: GearSolution = { ...this.begun, problem: this.question.problem };
    for (let round = 0; ; round++) {
      const plan = planOf(solution);
      // After an interruption, or this many simulations, what there is gets confirmed or is given up.
      const expected = isSpent() ? undefined : this.judge.expected(plan);
      const judged = expected?.worst === undefined ? this.judge.held(plan) : expected;
      if ('promise' in judged) return { solution, held: judged };
      const { worst, failed } = judged as Required<JudgedPlan>;
      if (round === MOST_ROUNDS || isSpent()) return worst;
      const next = this.raised(solution, failed);
      if (next === undefined) return worst;
      solution = next;
    }
  }

  /** raised plans the gears of ranges for more load; undefined where there is no such plan. */
  private raised(solution: GearSolution, failed: readonly number[]): GearSolution | undefined {
    const before = this.headroom;
    for (const range of failed) this.steps[range]! += 1;
    if (this.steps.some((step) => step >= HEADROOMS.length)) return undefined;
    const wanted = before.map((share, range) =>
      failed.includes(range) ? Math.max(share, HEADROOMS[this.steps[range] as number] as number) : share,
    );
    for (let halved = 0; halved <= MOST_HALVED; halved++) {
      this.headroom = wanted.map(
        (share, r) => (before[r] as number) + (share - (before[r] as number)) / 2 ** halved,
      );
      const found = this.regeared(solution, failed) ?? this.solvedAgain();
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** regeared chooses the gears of ranges again on the same placement, where ranges may have cascades of their own. */
  private regeared(solution: GearSolution, ranges: readonly number[]): GearSolution | undefined {
    const { arrivalsOf, tried, method = 'gears', accuracy } = this.question;
    if (method === 'dynba' || method === 'static') return undefined;
    const { choice } = solution;
    const problem = { ...solution.problem, headroom: this.headroom };
    const trials = new GearTrials(problem, arrivalsOf, tried);
    const limits = loadedLimits(problem, spaceOf(problem, this.question));
    const searched = { ...loadedCascades(problem, choice.cascades), trials, limits };
    const { placement } = choice;
    const busy = busyByCascade(searched, placement);
    const gears = [...choice.gears];
    const all = method === 'exhaustive';
    for (const range of ranges) {
      const from = all ? 0 : (choice.gears[range] as RangeGear).index;
      const found = bestGear(searched, { range, placement, busy, all, from });
      if ('error' in found) return undefined;
      gears[range] = found;
    }
    this.trials += trials.count;
    const changed: GearChoice = { ...choice, gears, accuracy: accuracyOf(problem, choice.cascades, gears) };
    if (changed.accuracy < allButRounding(accuracy)) return undefined;
    return { ...solution, problem, choice: changed, value: changed.accuracy };
  }

  private solvedAgain(): GearSolution | undefined {
    const { problem } = this.question;
    const answer = solveGears({ ...this.question, problem: { ...problem, headroom: this.headroom } });
    this.trials += trialsOf(answer);
    return 'solution' in answer ? answer.solution : undefined;
  }
}
