import { itemAt, lastOf, smallestOf } from '../../../collections/index.js';
import { NS_PER_US } from '../../../formats/index.js';
import { planTopologyOf, type StagePlan } from '../../../plans/index.js';
import { spareTimes } from '../../../serving/index.js';
import type { EngineGraph, EngineModel } from '../../engine-graph.js';
import { frontKind, reachedFrom } from './names.js';

/** The part of the time to spare in which a request may wait for the Python model that it comes to first. */
const FRONT_PART = 0.1;
/**
 * LEAST_TIMEOUT_US is the shortest timeout of a queue that can be meant: to be handed to an instance that is free takes Triton
 * tens of µs, and more on a busy machine, so that a shorter one drops requests that need not have waited.
 */
export const LEAST_TIMEOUT_US = 100;

/**
 * QueueTimeouts say how long requests may wait in the queue of each model. Along no way do they sum to more than what the SLO
 * leaves beside the executions of a row alone on the fastest devices. So a row that is executed alone is in time if it is not
 * dropped; one that waited for nearly so long and is executed in a large batch, or on a slower device, may be late.
 */
export interface QueueTimeouts {
  readonly stageUs: readonly number[];
  /** The timeouts of the Python models that clients call. */
  readonly frontUs: readonly number[];
  /** The time that a row alone takes at each stage on the fastest devices that hold it. */
  readonly aloneUs: readonly number[];
}

/**
 * queueTimeouts gives each stage its part of the time to spare: those that the scheduler `triton` simulates, except for
 * what is left to the Python models before them.
 */
export function queueTimeouts(plan: StagePlan, graph: EngineGraph): QueueTimeouts {
  const { aloneNs, spareNs, shares } = spareTimes(planTopologyOf(plan, { transfers: 'none' }));
  const isPythonFirst = (stage: number) =>
    graph.models.some((model) => frontKind(graph, model) !== 'ensemble' && isReached(graph, model, stage));
  const stageUs = graph.stages.map((_, stage) => {
    const part = itemAt(shares, stage) * (isPythonFirst(stage) ? 1 - FRONT_PART : 1);
    return wholeUs(part * itemAt(spareNs, stage));
  });
  const frontUs = graph.models.map((model) => {
    const reached = graph.stages.flatMap((_, stage) =>
      isReached(graph, model, stage) ? [itemAt(spareNs, stage)] : [],
    );
    return wholeUs(FRONT_PART * smallestOf(reached));
  });
  return { stageUs, frontUs, aloneUs: Array.from(aloneNs, (ns) => ns / NS_PER_US) };
}

/** Where no time is to spare it is 0, with which no plan is deployed: Triton takes it for no timeout at all. */
function wholeUs(ns: number): number {
  return Math.max(0, Math.floor(ns / NS_PER_US));
}

/** isReached returns whether requests of a model can come to a stage. */
export function isReached(graph: EngineGraph, model: EngineModel, stage: number): boolean {
  if (graph.gears !== undefined) return true;
  return model.routes.some(({ entry }) => reachedFrom(entry, graph.stages).includes(stage));
}

/** waysOf lists the ways that a row can take through the stages, up to a number of them. */
export function waysOf(graph: EngineGraph, model: EngineModel, most = 1000): number[][] {
  if (graph.gears !== undefined) return graph.gears.gears.map(({ steps }) => steps.map(({ stage }) => stage));
  const ways: number[][] = [];
  const walk = (way: readonly number[]): void => {
    if (ways.length >= most) return;
    const { next } = itemAt(graph.stages, lastOf(way));
    if (next.length === 0) ways.push([...way]);
    for (const { to } of next) walk([...way, to]);
  };
  for (const { entry } of model.routes) walk([entry]);
  return ways;
}
