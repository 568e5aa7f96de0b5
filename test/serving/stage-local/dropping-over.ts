import { Lists } from '../../../src/collections/index.js';
import { streamsOf } from '../../../src/random/index.js';
import type { StageTopology } from '../../../src/serving/index.js';
import { droppingOf } from '../../../src/serving/stage-local/dropping/dropping.js';
import { PlannedBatches } from '../../../src/serving/stage-local/forming/planned-batches.js';
import { stateNeeds } from '../../../src/serving/stage-local/pard-state/state-needs.js';
import { StatePlanner } from '../../../src/serving/stage-local/pard-state/state-planner.js';
import { DEFAULT_POLICY, type DropRule } from '../../../src/serving/stage-local/policy.js';
import { OpenBatches, PlanColumns } from '../../../src/serving/state/index.js';
import { Waiting } from '../by-hand.js';

/** droppingOver makes a rule over a topology, and queues of its pools. */
export function droppingOver(topology: StageTopology, drop: DropRule, slackNs = 0) {
  const waiting = new Waiting(topology, { order: { kind: 'fifo' }, slackNs });
  const { requests, queues, durations } = waiting;
  const columns = new PlanColumns(topology);
  const needs = stateNeeds({ ...DEFAULT_POLICY, drop, statePeriodNs: 1e9 });
  const streams = streamsOf(1, 'core');
  const stream = () => streams('waits');
  const parts = { topology, columns, requests, durations, stream, devicesUp: () => 1 };
  const planner = new StatePlanner(parts, needs!);
  const collected = new Lists(queues.count);
  const planned = new PlannedBatches(columns, durations);
  const batches = new OpenBatches(4);
  const state = { topology, columns, requests, batches, queues, collected, durations, planned };
  return { waiting, planner, collected, drops: droppingOf(drop, { ...state, streams, planner }) };
}

/** lastStartNs finds the last start, to a nanosecond, with which a task is kept. */
export function lastStartNs(isDropped: (start: number) => boolean, fromNs: number, untilNs: number): number {
  let [kept, dropped] = [fromNs, untilNs];
  while (dropped - kept > 1) {
    const middle = Math.floor((kept + dropped) / 2);
    if (isDropped(middle)) dropped = middle;
    else kept = middle;
  }
  return kept;
}

/** longestWaitsNs gives, for each pool, how long a rule lets a task wait there until its batch starts. */
export function longestWaitsNs(topology: StageTopology, drop: DropRule): number[] {
  const { waiting, drops } = droppingOver(topology, drop);
  const sloNs = topology.models[0]!.sloNs;
  return topology.pools.map((_, pool) => {
    const task = waiting.add(pool, sloNs);
    return lastStartNs((start) => drops.dropTime(0, task, pool, start) === -Infinity, 0, sloNs);
  });
}
