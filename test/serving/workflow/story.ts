import { type Streams, streamsOf } from '../../../src/random/index.js';
import {
  Decisions,
  type Topology,
  type WorkflowCore,
  type WorkflowParts,
} from '../../../src/serving/index.js';
import { type RecordedRun, type Trouble, WorkflowDriver } from '../../../src/simulator/index.js';
import { type Shape, workflowTopology } from './workflows.js';

/** Told is what is run: requests that come at times in nanoseconds, and what goes wrong. */
export interface Told {
  readonly shape: Shape;
  readonly requests: readonly { readonly atNs: number; readonly run: RecordedRun }[];
  readonly coreOf: (topology: Topology, parts: WorkflowParts) => WorkflowCore;
  readonly streams?: Streams;
  readonly troubles?: readonly Trouble[];
  /** How many batches give no results, the first ones. */
  readonly failing?: number;
}

/** Happened is what a device did, or how a request ended. `what` is the component, or the outcome as it is counted. */
export interface Happened {
  readonly atNs: number;
  readonly event: 'load' | 'loaded' | 'evict' | 'execute' | 'executed' | 'end';
  /** The device, or the number of requests that came before. */
  readonly on: number;
  readonly what: number;
  readonly rows?: number;
  /** Of a request that was dropped, why; −1 of others. */
  readonly reason?: number;
  /** Of a batch that is executed, when it was begun. */
  readonly fromNs?: number;
}

/** story runs requests in virtual time, and tells what happened in its order. */
export function story({
  shape,
  requests,
  coreOf,
  streams = streamsOf(7, 'core'),
  troubles = [],
  failing = 0,
}: Told): Happened[] {
  const { topology, table } = workflowTopology(shape);
  const decisions = new Decisions();
  const core = coreOf(topology, { decisions, table, streams });
  const happened: Happened[] = [];
  const orders = new Map<number, number>();
  let came = 0;
  const arrivals = {
    next: () => came++ < requests.length,
    get atNs() {
      return requests[came - 1]!.atNs;
    },
    model: 0,
  };
  const componentOf = (pool: number) => table.pools[pool]!.component;
  let [count, failed] = [0, 0];
  new WorkflowDriver({
    topology,
    table,
    decisions,
    core,
    arrivals,
    troubles,
    runOf: (order) => requests[order]!.run,
    fails: () => failed++ < failing,
    observers: [
      {
        arrived: (_atNs, _model, request) => orders.set(request, count++),
        loadBegun: (atNs, on, pool) => happened.push({ atNs, event: 'load', on, what: componentOf(pool) }),
        loaded: (atNs, on, pool) => happened.push({ atNs, event: 'loaded', on, what: componentOf(pool) }),
        evicted: (atNs, on, pool) => happened.push({ atNs, event: 'evict', on, what: componentOf(pool) }),
        started: (_batch, pool, on, rows, atNs) =>
          happened.push({ atNs, event: 'execute', on, what: componentOf(pool), rows }),
        executed: (_batch, pool, on, rows, _handedNs, fromNs, atNs) =>
          happened.push({ atNs, event: 'executed', on, what: componentOf(pool), rows, fromNs }),
        ended: (atNs, _model, request, _arrivedNs, what, reason) =>
          happened.push({ atNs, event: 'end', on: orders.get(request)!, what, reason }),
      },
    ],
  }).run();
  return happened;
}

/** call is a call of a component with what the client sent. */
export function call(
  component: number,
  rest: Partial<RecordedRun['calls'][number]> = {},
): RecordedRun['calls'][number] {
  return { component, rows: 1, inputs: [-1], after: [], thinkNs: 0, outputBytes: 0, ...rest };
}
