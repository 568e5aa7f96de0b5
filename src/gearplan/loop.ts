import { itemAt } from '../collections/index.js';
import { atMostAll, type RangeGear, type SearchedCascades } from './best-gears.js';
import type { Cascade } from './cascade.js';
import { type ModelPlacement, modelLoads, prunedPlacement } from './placement.js';
import type { GearProblem } from './problem.js';
import type { GearError, TunedGear } from './trials.js';

/** RangeError names the range that cannot be served, and why. */
export interface RangeFault extends GearError {
  readonly range: number;
}

/** LoopedCascades is what the loop chooses from. */
type LoopedCascades = Pick<SearchedCascades, 'problem' | 'frontier' | 'trials'>;

/** GearLoopPlan is what the loop agrees on. */
export interface GearLoopPlan {
  readonly placement: ModelPlacement;
  readonly gears: readonly RangeGear[];
}

/** GearLoopResult is the loop's answer, with the number of times that a submodule ran. */
export type GearLoopResult = { readonly calls: number } & (
  | { readonly plan: GearLoopPlan }
  | { readonly error: RangeFault }
);

/** The state that submodules work on: a cascade for each range, a placement, and how each range is batched. */
interface LoopState {
  /** The place in the frontier of each range's cascade. */
  readonly assigned: number[];
  /** How many devices must hold each model, so that what a range lacked is there. */
  atLeast: number[];
  placement: ModelPlacement;
  gears: (TunedGear | undefined)[];
}

type Submodule = (state: LoopState, error: RangeFault | undefined) => RangeFault | undefined;

/**
 * planByLoop is CascadeServe's Algorithm 1. The four submodules run in turn, each with the solution of the
 * others fixed: cascade search, workload adaption, placement, batch tuning. A submodule that cannot go on
 * gives an error to the one before it, which mends its own part or passes the error on: batch tuning asks for
 * another replica of the model that needs most time, placement for a cheaper cascade in the range. An error
 * that reaches the cascade search is the answer.
 *
 * The loop ends: between two changes of a cascade, each error adds a replica, of which there are at most one for each
 * device and model; and a range's cascade only moves down the frontier. All ranges begin with the most accurate cascade.
 * Once all submodules have agreed the plan stands, since the whole frontier is known from the start and the cascade
 * search has nothing new to offer (Appendix A, Case 2).
 * @returns undefined where it was interrupted
 */
export function planByLoop(
  searched: LoopedCascades,
  interrupted: () => boolean = () => false,
): GearLoopResult | undefined {
  const { problem } = searched;
  const state: LoopState = {
    assigned: problem.ranges.map(() => 0),
    atLeast: problem.models.map(() => 0),
    placement: [],
    gears: problem.ranges.map(() => undefined),
  };
  const submodules: readonly Submodule[] = [
    (_, error) => error,
    (now, error) => assignCascades(searched, now, error),
    (now, error) => placeModels(searched, now, error),
    (now) => tuneBatches(searched, now),
  ];
  let error: RangeFault | undefined;
  let calls = 0;
  for (let at = 0; at < submodules.length; ) {
    if (interrupted()) return undefined;
    calls += 1;
    error = (submodules[at] as Submodule)(state, error);
    at += error === undefined ? 1 : -1;
    if (at < 0) return { calls, error: error as RangeFault };
  }
  const gears = state.assigned.map((index, range) => ({ index, gear: state.gears[range] as TunedGear }));
  return { calls, plan: { placement: state.placement, gears } };
}

/** assignCascades gives the range of an error the next cheaper cascade (§4.3). */
function assignCascades(
  { frontier }: LoopedCascades,
  state: LoopState,
  error: RangeFault | undefined,
): RangeFault | undefined {
  if (error === undefined) return undefined;
  const { range, by } = error;
  const now = itemAt(frontier, state.assigned[range] as number);
  const next = frontier.findIndex(
    (cascade, index) =>
      index > (state.assigned[range] as number) &&
      (cascade.workNs < now.workNs || (by === 'latency' && cascade.floorNs < now.floorNs)),
  );
  if (next === -1) return error;
  state.assigned[range] = next;
  state.gears[range] = undefined;
  state.atLeast = state.atLeast.map(() => 0);
  return undefined;
}

/** placeModels places all models that the ranges use, with the replica more that an error asks for (§4.4). */
function placeModels(
  { problem, frontier }: LoopedCascades,
  state: LoopState,
  error: RangeFault | undefined,
): RangeFault | undefined {
  const { models, devices, memoryBytes, ranges } = problem;
  if (error !== undefined) {
    const has = state.placement.filter((held) => ((held >> error.model) & 1) === 1).length;
    if (has >= devices) return error;
    state.atLeast = state.atLeast.with(error.model, has + 1);
  }
  const loads = ranges.map(({ toRps }, range) =>
    modelLoads(models, itemAt(frontier, state.assigned[range] as number), toRps),
  );
  const placed = prunedPlacement({ models, devices, memoryBytes, loads, atLeast: state.atLeast });
  if ('error' in placed) return error ?? { ...placed.error, by: 'load' };
  state.placement = placed;
  return undefined;
}

/** tuneBatches tries every range with the shortest minimum queue lengths that will do (§4.5). */
function tuneBatches(
  { problem, frontier, trials }: LoopedCascades,
  state: LoopState,
): RangeFault | undefined {
  for (let range = problem.ranges.length - 1; range >= 0; range--) {
    const cascade = frontier[state.assigned[range] as number] as Cascade;
    const tried = trials.try(range, cascade, state.placement);
    if ('error' in tried) return { ...tried.error, range };
    state.gears[range] = tried.gear;
  }
  return undefined;
}

/** accuracyOf is the accuracy of gears over the distribution of loads. */
export function accuracyOf(
  { ranges }: Pick<GearProblem, 'ranges'>,
  frontier: readonly Cascade[],
  gears: readonly Pick<RangeGear, 'index'>[],
): number {
  const sum = ranges.reduce(
    (all, { share }, range) => all + share * itemAt(frontier, (gears[range] as RangeGear).index).accuracy,
    0,
  );
  return atMostAll(sum);
}
