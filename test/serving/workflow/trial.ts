import { type Stream, streamsOf } from '../../../src/random/index.js';
import {
  Decisions,
  type Topology,
  type WorkflowCore,
  type WorkflowParts,
} from '../../../src/serving/index.js';
import {
  type RecordedRun,
  type Trouble,
  WorkflowDriver,
  type WorkflowSummary,
} from '../../../src/simulator/index.js';
import { Watched } from './watched.js';
import { type Shape, workflowTopology } from './workflows.js';

/** WatchedCore is what a trial reads of a core beside what its driver does. */
export interface WatchedCore extends WorkflowCore {
  readonly inUse: { requests: number; tasks: number; batches: number; fetches: number };
  freeBytes(device: number): number;
}

/** Tried is what came out of a trial: `broken` are the rules that were broken, and `ends` how long requests took. */
export interface Tried {
  readonly summary: WorkflowSummary;
  readonly broken: readonly string[];
  readonly ends: readonly number[];
  readonly core: WatchedCore;
}

/** Trial is a cluster, what comes to it and what goes wrong. */
export interface Trial {
  readonly shape: Shape;
  readonly runs: readonly RecordedRun[];
  readonly coreOf: (topology: Topology, parts: WorkflowParts) => WatchedCore;
  readonly gaps: Stream;
  /** How long after another a request comes at most. */
  readonly mostGapNs?: number;
  readonly troubles?: readonly Trouble[];
  readonly fails?: () => boolean;
  readonly failsToLoad?: () => boolean;
  readonly loses?: () => boolean;
}

/** tried runs a trial in virtual time, watched from outside. */
export function tried({
  shape,
  runs,
  coreOf,
  gaps,
  mostGapNs = 200,
  troubles = [],
  fails = () => false,
  failsToLoad = () => false,
  loses = () => false,
}: Trial): Tried {
  const { topology, table } = workflowTopology(shape);
  const decisions = new Decisions();
  const core = coreOf(topology, { decisions, table, streams: streamsOf(7, 'core') });
  const watched = new Watched(core, decisions, topology, table);
  let [came, at] = [0, 0];
  const arrivals = {
    next: () => {
      if (came === runs.length) return false;
      came += 1;
      at += gaps.integer(mostGapNs);
      return true;
    },
    get atNs() {
      return at;
    },
    get model() {
      return came % topology.models.length;
    },
  };
  const ends: number[] = [];
  const summary = new WorkflowDriver({
    topology,
    table,
    decisions,
    core: watched.core,
    arrivals,
    runOf: (order: number) => runs[order]!,
    troubles,
    fails,
    failsToLoad,
    loses,
    observers: [{ ended: (atNs, _model, _request, arrivedAtNs) => ends.push(atNs - arrivedAtNs) }],
  }).run();
  topology.devices.forEach((_, device) => {
    watched.isEmptyAtTheEnd(device, core.freeBytes(device));
  });
  return { summary, broken: watched.broken, ends, core };
}

/** randomTroubles draws devices that go down and come up again, clients that leave, and at times an end of taking in. */
export function randomTroubles(stream: Stream, devices: number): Trouble[] {
  const troubles: Trouble[] = [];
  for (let device = 0; device < devices; device++)
    for (let i = 0, at = 0; i < 4; i++) {
      at += 1 + stream.integer(2000);
      troubles.push({ kind: i % 2 === 0 ? 'down' : 'up', atNs: at, device });
    }
  for (let i = 0; i < 5; i++)
    troubles.push({ kind: 'leaves', atNs: stream.integer(4000), order: stream.integer(30) });
  if (stream.uniform() < 0.2) troubles.push({ kind: 'drains', atNs: stream.integer(4000) });
  return troubles;
}
