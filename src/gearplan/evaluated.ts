import { itemAt, pushAll } from '../collections/index.js';
import {
  type Fault,
  fault,
  fieldChanges,
  type GearPlan,
  type GearScope,
  isOfBestSingle,
  NS_PER_MS,
} from '../formats/index.js';
import type { RangeGear } from './best-gears.js';
import { type Cascade, cascadeOf } from './cascade.js';
import { longestOf } from './frontier.js';
import { levelsOf } from './levels.js';
import { accuracyOf } from './loop.js';
import { fitsDevice, type ModelPlacement } from './placement.js';
import { gearPlanBodyOf } from './plan.js';
import type { GearProblem } from './problem.js';
import type { CascadeFiles, ClassProblem, ResolvedCascade } from './resolve.js';
import { isOfSingles } from './scope.js';
import { type ArrivalsOf, GearTrials } from './trials.js';

/** The fields that only a search gives: how near the plan is to the best one, and its notes. */
const SEARCHED = ['notes', 'status'] as const;

/** EvaluatedFrom is what a plan is evaluated from: its resolved spec, and the arrivals that its gears were tried with. */
export interface EvaluatedFrom {
  readonly spec: Parameters<typeof gearPlanBodyOf>[0]['spec'];
  readonly files: CascadeFiles;
  readonly resolved: ResolvedCascade;
  readonly arrivalsOf: ArrivalsOf;
}

/**
 * evaluatedFaults takes the cascades and the placement of a plan as they are, works out everything that
 * follows from them by the code that planned it, and reports where the plan has something else. It searches
 * nothing: that a better plan exists is not found, nor a wrong bound that the plan keeps, nor a wrong reason
 * of `limitedBy`. Where the objective is latency, the minimum queue lengths and the p95 of gears are taken as
 * they are too, because they follow from a latency that the search chose and the plan does not have. The
 * figures that confirm the promise, and the p95 and utilization that its simulations gave, are not simulated
 * again (see `gearPromiseFaults` and `repeatedPromise`).
 *
 * Each gear is simulated once as its planner did, of some ten thousand requests at each rate of its range.
 * @param plan without a fault that `gearPlanFaults` finds
 */
export function evaluatedFaults(plan: GearPlan, from: EvaluatedFrom): Fault[] {
  const of = from.resolved.classes.find(({ device }) => device === plan.stages[0]?.device);
  if (of === undefined) {
    const able = from.resolved.classes.map(({ device }) => device).join(', ');
    return [fault(`is ${plan.stages[0]?.device}; its spec can be served on ${able}`, '/stages/0/device')];
  }
  const { models, ranges } = of.problem;
  const known = models.map(({ name }) => name);
  const unknown = plan.stages.flatMap(({ name }, i) =>
    known.includes(name) ? [] : [fault(`is ${name}; its spec has ${known.join(', ')}`, `/stages/${i}/name`)],
  );
  if (unknown.length > 0) return unknown;
  if (plan.gears.length !== ranges.length)
    return [fault(`has ${plan.gears.length}; its spec has ${ranges.length} ranges of loads`, '/gears')];
  const chosen = new ChosenPlan(plan, of);
  const faults = [...chosen.faults(), ...chosen.tried(from.arrivalsOf)];
  return faults.length > 0 ? faults : chosen.changes(from);
}

/** ChosenPlan is what a plan chose, in the terms of the problem that it answers. */
class ChosenPlan {
  private readonly cascades: readonly Cascade[];
  /** The set of models of each entry of the placement, and of each device. */
  private readonly held: readonly number[];
  private readonly placement: ModelPlacement;
  private readonly gears: RangeGear[] = [];
  private readonly problem: GearProblem;

  constructor(
    private readonly plan: GearPlan,
    private readonly of: ClassProblem,
  ) {
    const { models, quantile } = of.problem;
    const headroom = plan.gears.map((gear) => gear.headroom ?? 0);
    this.problem = { ...of.problem, headroom };
    const place = (name: string) => models.findIndex((model) => model.name === name);
    this.held = plan.placement.map(({ stages }) => stages.reduce((set, name) => set | (1 << place(name)), 0));
    this.placement = plan.placement.flatMap(({ count = 1 }, i) =>
      new Array<number>(count).fill(this.held[i] as number),
    );
    this.cascades = plan.gears.map(({ cascade }) =>
      cascadeOf(
        models,
        {
          models: cascade.map(({ stage }) => place(stage)),
          thresholds: cascade.slice(0, -1).map(({ threshold }) => threshold as number),
        },
        quantile,
      ),
    );
  }

  /** faults finds devices that are not there, models that do not fit, and thresholds that the planner does not try. */
  faults(): Fault[] {
    const { models, devices, memoryBytes } = this.of.problem;
    // The least certainty is no threshold: nothing is below it.
    const levels = models.map(({ certainty }) => Array.from(levelsOf(certainty).values.subarray(1)));
    return [
      ...(this.placement.length > devices
        ? [fault(`has ${this.placement.length} devices; ${devices} are free`, '/placement')]
        : []),
      ...this.plan.placement.flatMap(({ stages }, i) => {
        if (fitsDevice(models, this.held[i] as number, memoryBytes)) return [];
        const said = `are ${stages.join(', ')}, which take more memory than a device has`;
        return [fault(said, `/placement/${i}/stages`)];
      }),
      ...this.cascades.flatMap((cascade, range) => this.thresholdFaults(cascade, range, levels)),
      ...this.plan.gears.flatMap((gear, range) => this.limitFaults(gear, range)),
    ];
  }

  /** @param levels the thresholds that distinguish samples, by model */
  private thresholdFaults(
    { models, thresholds }: Cascade,
    range: number,
    levels: readonly (readonly number[])[],
  ): Fault[] {
    return thresholds.flatMap((threshold, step) => {
      const model = models[step] as number;
      const tried = itemAt(levels, model);
      if (tried.some((one) => same(one, threshold))) return [];
      const { name } = itemAt(this.of.problem.models, model);
      const at = `/gears/${range}/cascade/${step}/threshold`;
      return [fault(`is ${threshold}; of ${name} its records give ${nearest(tried, threshold)}`, at)];
    });
  }

  private limitFaults({ limitedBy, accuracy }: GearPlan['gears'][number], range: number): Fault[] {
    if (limitedBy === undefined) return [];
    const at = `/gears/${range}/limitedBy`;
    const known = this.of.problem.models.map(({ name }) => name);
    return [
      ...(known.includes(limitedBy.stage)
        ? []
        : [fault(`is ${limitedBy.stage}; its spec has ${known.join(', ')}`, `${at}/stage`)]),
      ...(limitedBy.accuracy >= accuracy
        ? []
        : [fault(`is ${limitedBy.accuracy}, below that of the gear, ${accuracy}`, `${at}/accuracy`)]),
    ];
  }

  /** tried tries each cascade in its range, as the search did, and reports which do not hold. */
  tried(arrivalsOf: ArrivalsOf): Fault[] {
    if (this.plan.objective.kind === 'latency') {
      pushAll(
        this.gears,
        this.plan.gears.map((gear, index) => ({ index, gear: this.asWritten(gear) })),
      );
      return [];
    }
    const { problem } = this;
    const trials = new GearTrials(problem, arrivalsOf);
    return this.cascades.flatMap((cascade, index) => {
      const found = trials.try(index, cascade, this.placement);
      if ('gear' in found) {
        this.gears.push({ index, gear: found.gear });
        return [];
      }
      const { toRps } = itemAt(problem.ranges, index);
      const { by, model } = found.error;
      const needs = by === 'load' ? 'more time than there is' : 'longer than is promised';
      const said = `takes ${needs} at ${toRps} requests/s, most of all for ${problem.models[model]?.name}`;
      return [fault(said, `/gears/${index}/cascade`)];
    });
  }

  private asWritten({
    cascade,
    timeoutMs,
    p95Ms,
    utilization,
  }: GearPlan['gears'][number]): RangeGear['gear'] {
    return {
      minQueues: cascade.map(({ minQueue }) => minQueue),
      timeoutNs: timeoutMs * NS_PER_MS,
      latencyNs: this.plan.sloMs * NS_PER_MS,
      p95Ns: p95Ms * NS_PER_MS,
      busy: utilization,
    };
  }

  /** scope is that of a whole search; one that a clock ended says by itself how far it came. */
  private scope(): GearScope {
    const { method, reproducible, objective } = this.plan;
    const mostModels = isOfSingles(method) ? 1 : longestOf(this.of.problem.models);
    const whole = { mostModels, orders: 'any', thresholds: 'all' } as const;
    return reproducible === false ? (objective.scope ?? whole) : whole;
  }

  /** changes writes the plan again, and reports where it has something else. */
  changes({ spec, files, resolved, arrivalsOf }: EvaluatedFrom): Fault[] {
    const { plan, of, problem, cascades, placement, gears } = this;
    const { objective } = resolved;
    const accuracy = accuracyOf(problem, cascades, gears);
    const { bound, value: given } = plan.objective;
    // With other objectives the search chose the value, such as a number of devices of which the plan may use fewer.
    const value = objective === 'accuracy' ? accuracy : given;
    const scope = this.scope();
    const choice = { placement, cascades, gears, accuracy, bound, scope, most: 1, isBest: false };
    const latencyNs = objective === 'latency' ? plan.sloMs * NS_PER_MS : problem.latencyNs;
    const again = gearPlanBodyOf({
      spec,
      files,
      of,
      objective,
      arrivalsOf,
      notes: [],
      status: plan.status,
      solution: { problem: { ...problem, latencyNs }, choice, value, bound, scope, trials: 0 },
      limits: plan.gears.map(({ limitedBy }) => limitedBy),
      ...(plan.promise === undefined
        ? {}
        : { held: { promise: plan.promise, gears: plan.gears.map(figuresOf) } }),
    });
    return gearChanges(plan, again, SEARCHED);
  }
}

function figuresOf({ p95Ms, utilization }: GearPlan['gears'][number]) {
  return { p95Ms, utilization };
}

/** The fields that a file has besides those that were planned. */
type Planned = Partial<ReturnType<typeof gearPlanBodyOf>>;

/**
 * gearChanges reports where a plan has something else than one that was made again.
 * @param except fields that are not compared
 */
export function gearChanges(plan: GearPlan, again: Planned, except: readonly (keyof Planned)[]): Fault[] {
  // Plans of older versions do not name the best single model.
  const older = plan.bestSingle === undefined && !isOfBestSingle(plan) ? ['bestSingle'] : [];
  const fields = [...Object.keys(again), 'hourlyCost'].filter(
    (field) => ![...except, ...older].some((one) => one === field),
  );
  const of = (from: Planned) =>
    Object.fromEntries(fields.map((field) => [field, from[field as keyof Planned]]));
  return fieldChanges(of(plan), of(again)).map(({ path, before = 'absent', after = 'absent' }) =>
    fault(`is ${before}; its spec, profiles and records give ${after}`, path),
  );
}

function same(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1e-9;
}

function nearest(levels: readonly number[], to: number): number | undefined {
  return levels.toSorted((a, b) => Math.abs(a - to) - Math.abs(b - to))[0];
}
