import { topologyOf } from '../../src/plans/index.js';
import type { StageTopology } from '../../src/serving/index.js';
import type { FeedbackCorrection } from '../../src/serving/state/index.js';
import { Durations, Requests, TaskQueues } from '../../src/serving/state/index.js';
import type { ListOrder } from '../../src/serving/state/waiting-tasks.js';
import { type PartShape, planOf } from './plans.js';

export const MS = 1e6;

/** The number of bytes that a link of a `chainOf` sends in a millisecond. */
export const BYTES_PER_MS = 125_000;

/** A stage whose batch of b rows takes the b-th of these times, in milliseconds. */
export const stage = (latenciesMs: readonly number[], more: Partial<PartShape> = {}): PartShape => ({
  batch: latenciesMs.length,
  latencyUs: (batch) => 1000 * (latenciesMs[batch - 1] as number),
  ...more,
});

/** A topology of one model with one pipeline of these stages. Every device has links of 1 Gbps of its own. */
export const chainOf = (sloMs: number, ...parts: PartShape[]): StageTopology =>
  modelOf(sloMs, { throughputRps: 100, parts });

/** A topology of one model with these pipelines. */
export const modelOf = (
  sloMs: number,
  ...pipelines: { throughputRps: number; parts: PartShape[] }[]
): StageTopology => topologyOf(planOf([{ sloMs, pipelines }], 1));

/** Tasks that are put into the queues of a topology's pools by hand, each of a request of its own. */
export class Waiting {
  readonly requests = new Requests();
  readonly queues: TaskQueues;
  readonly durations: Durations;

  constructor(
    readonly topology: StageTopology,
    {
      order = { kind: 'deadline' },
      slackNs = 0,
      correction = { kind: 'none' },
    }: { order?: ListOrder; slackNs?: number; correction?: FeedbackCorrection } = {},
  ) {
    this.queues = new TaskQueues(topology.pools.length, this.requests, { order, slackNs });
    this.durations = new Durations(topology, correction);
  }

  /**
   * Puts the task of a new request into its place in the queue.
   * @returns the task
   */
  add(queue: number, deadline: number, { queuedAt = 0, tries = 0 } = {}): number {
    const task = this.requests.firstTask(this.requests.add(0, deadline, 1));
    this.requests.setQueuedAt(task, queuedAt);
    this.requests.loseTask(task, tries);
    this.queues.insert(queue, task);
    return task;
  }
}

/** onServers makes the topology of one pipeline. Its virtual GPUs are on the servers named, or each on its own. */
export function onServers(parts: PartShape[], servers?: string): StageTopology {
  const plan = planOf([{ sloMs: 1000, pipelines: [{ throughputRps: 1, parts }] }], 1);
  if (servers !== undefined)
    plan.placement.forEach((place, i) => {
      place.server = servers[i] as string;
    });
  return topologyOf(plan);
}
