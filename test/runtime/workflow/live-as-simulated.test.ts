import { describe, expect, it } from 'vitest';
import { type Stream, streamOf, streamsOf } from '../../../src/random/index.js';
import type { LiveModel } from '../../../src/runtime/bundle/pool-work.js';
import type { Drops } from '../../../src/runtime/live/drops.js';
import { LiveWorkflowDriver } from '../../../src/runtime/workflow/live-workflow-driver.js';
import {
  Decision,
  Decisions,
  type LogEntry,
  type RayLikePolicy,
  recorded,
  type Topology,
  WORKFLOW_SCHEDULERS,
  type WorkflowCore,
  type WorkflowScheduler,
  type WorkflowTable,
  workflowCore,
} from '../../../src/serving/index.js';
import { type RecordedRun, type Trouble, WorkflowDriver } from '../../../src/simulator/index.js';
import { cases } from '../../cases.js';
import { randomRun, randomShape, type Shape, workflowTopology } from '../../serving/workflow/workflows.js';
import { VirtualTime } from '../virtual-time.js';
import { bytesTensor, VirtualWorld } from './virtual-world.js';

const REQUESTS = 25;
/** Times are so long that no two things happen at one instant by chance. */
const LONG = 1e6;

/** RAY is Ray's policy with times that are as those of the workflows. */
const RAY: Partial<RayLikePolicy> = {
  metricsIntervalNs: 100 * LONG + 1,
  lookBackNs: 300 * LONG,
  upscaleDelayNs: 300 * LONG,
  downscaleDelayNs: 1500 * LONG,
  batchWaitNs: 30 * LONG,
};

interface Case {
  readonly topology: Topology;
  readonly table: WorkflowTable;
  readonly runs: readonly RecordedRun[];
  readonly arriveNs: readonly number[];
  readonly troubles: readonly Trouble[];
  readonly scheduler: WorkflowScheduler;
}

/** drawnCase draws a cluster with little memory, what comes to it and what goes wrong. */
function drawnCase(seed: number): Case {
  const stream = streamOf(seed, 'case');
  const drawn = randomShape(stream);
  const scheduler = WORKFLOW_SCHEDULERS[seed % WORKFLOW_SCHEDULERS.length]!;
  const shape = scheduler === 'static' ? holdingAll(slowed(drawn, stream)) : slowed(drawn, stream);
  const runs = Array.from({ length: REQUESTS }, () => slowedRun(randomRun(stream, drawn), stream));
  let at = 0;
  const arriveNs = runs.map(() => {
    at += stream.integer(150 * LONG);
    return at;
  });
  const troubles = stream.uniform() < 0.5 ? [] : drawnTroubles(stream, shape.devices.length);
  const { topology, table } = workflowTopology(shape);
  return { topology, table, runs, arriveNs, troubles, scheduler };
}

function slowed(shape: Shape, stream: Stream): Shape {
  const slow = (ns: number) => ns * LONG + stream.integer(LONG);
  return {
    ...shape,
    components: shape.components.map(({ bytes, loadNs, diskNs = 0, latencyNs }) => ({
      bytes,
      loadNs: slow(loadNs),
      diskNs: slow(diskNs),
      latencyNs: latencyNs.map((times) => times?.map(slow).sort((a, b) => a - b)),
    })),
    devices: shape.devices.map((device) => ({ ...device, bytes: 150 + stream.integer(150) })),
    linkBytesPerNs: (shape.linkBytesPerNs + stream.uniform()) / LONG,
    networkBytesPerNs: shape.networkBytesPerNs / LONG,
    sloNs: shape.sloNs * LONG,
  };
}

/** holdingAll lets each device hold all components that it can execute, and makes room for them. */
function holdingAll(shape: Shape): Shape {
  const { components, devices } = shape;
  const holds = devices.map(({ class: own }) =>
    components.flatMap(({ latencyNs }, component) => (latencyNs[own] === undefined ? [] : [component])),
  );
  const heldBytes = holds.map((held) => held.reduce((sum, one) => sum + components[one]!.bytes, 0));
  return {
    ...shape,
    holds,
    devices: devices.map((one, d) => ({ ...one, bytes: one.bytes + heldBytes[d]! })),
  };
}

function slowedRun({ requestBytes, calls }: RecordedRun, stream: Stream): RecordedRun {
  const slow = (ns: number) => (ns === 0 ? 0 : ns * LONG + stream.integer(LONG));
  return { requestBytes, calls: calls.map((call) => ({ ...call, thinkNs: slow(call.thinkNs) })) };
}

function drawnTroubles(stream: Stream, devices: number): Trouble[] {
  return Array.from({ length: devices }, (_, device): Trouble[] => {
    const downNs = LONG + stream.integer(2000 * LONG);
    const upNs = downNs + 1 + stream.integer(500 * LONG);
    return [
      { kind: 'down', atNs: downNs, device },
      { kind: 'up', atNs: upNs, device },
    ];
  }).flat();
}

/** hasTies tells whether two things ended at one instant, of which a live driver has its core hear one by one. */
function hasTies(log: readonly LogEntry[]): boolean {
  let ends = 0;
  return log.some(([word]) => {
    if (word === 'decide') ends = 0;
    if (word === 'fetched' || word === 'executed' || word === 'loaded') ends += 1;
    return ends > 1;
  });
}

/** said lists the decisions of a log, each with the time at which it was made. */
function said(log: readonly LogEntry[]): LogEntry[] {
  let at = 0;
  return log.flatMap((entry): LogEntry[] => {
    if (entry[0] === 'said') return [['said', at, ...entry.slice(1)] as unknown as LogEntry];
    at = entry[1] ?? at;
    return [];
  });
}

function coreOf({ topology, table, scheduler }: Case, decisions: Decisions): WorkflowCore {
  const policy = { dropping: { kind: 'expired' } } as const;
  const streams = streamsOf(5, 'core');
  return workflowCore(scheduler, topology, { decisions, table, policy, streams, rayLike: RAY });
}

/** simulated gives what a core decides in simulation, undefined where things end at one instant. */
function simulated(one: Case): LogEntry[] | undefined {
  const { topology, table, runs, arriveNs, troubles } = one;
  const decisions = new Decisions();
  const log: LogEntry[] = [];
  const core = recorded(coreOf(one, decisions), decisions, (entry) => log.push(entry));
  let came = 0;
  const arrivals = {
    next: () => came++ < arriveNs.length,
    get atNs() {
      return arriveNs[came - 1]!;
    },
    get model() {
      return (came - 1) % topology.models.length;
    },
  };
  const runOf = (order: number) => runs[order]!;
  new WorkflowDriver({
    topology,
    table,
    decisions,
    core,
    arrivals,
    runOf,
    troubles,
    observers: [],
  }).run();
  return hasTies(log) ? undefined : said(log);
}

async function live(one: Case): Promise<LogEntry[]> {
  const { topology, table, runs, arriveNs, troubles } = one;
  const time = new VirtualTime();
  const world = new VirtualWorld(time, topology, table, runs);
  const log: LogEntry[] = [];
  const driver = new LiveWorkflowDriver({
    models: topology.models.map(() => MODEL),
    components: table.components,
    pools: table.pools,
    devices: world.devices,
    drops: NO_DROPS,
    programs: world,
    observer: NO_OBSERVER,
    clock: time,
    makeCore: (decisions) => world.around(coreOf(one, decisions), decisions),
    log: (entry) => log.push(entry),
  });
  world.driver = driver.programDriver;
  for (const device of world.devices.keys()) driver.deviceUp(device);
  for (const [i, atNs] of arriveNs.entries())
    time.at(atNs, () => {
      const model = i % topology.models.length;
      const deadlineNs = atNs + topology.models[model]!.sloNs;
      driver.submit({ at: atNs, model, deadlineNs }, [{ x: bytesTensor(runs[i]!.requestBytes) }], () => {});
    });
  for (const trouble of troubles) time.at(trouble.atNs, () => suffer(driver, world, trouble));
  await time.pass();
  expect(driver.pending).toBe(0);
  expect(driver.inUse).toEqual({ outputs: 0, bytes: 0, runs: 0, tasks: 0, batches: 0, moves: 0 });
  return said(log);
}

function suffer(driver: LiveWorkflowDriver, { devices }: VirtualWorld, trouble: Trouble): void {
  if (trouble.kind !== 'down' && trouble.kind !== 'up') return;
  devices[trouble.device]!.change();
  if (trouble.kind === 'down') driver.deviceDown(trouble.device);
  else driver.deviceUp(trouble.device);
}

const MODEL: LiveModel = {
  name: 'replayed',
  sloNs: 1,
  inputs: [],
  outputs: [],
  inputKeys: [],
  outputKeys: [],
  mayLackOutputs: true,
  maxRows: 1,
  plannedRps: 1,
  weight: 1,
};
const NO_DROPS: Pick<Drops, 'took' | 'gave' | 'device' | 'ending'> = {
  took: () => {},
  gave: () => {},
  device: () => {},
  ending: (_model, reason) => ({ kind: 'dropped', reason, place: 'entry', retryAfterS: 1 }),
};
const NO_OBSERVER = {
  batch: () => {},
  failure: () => {},
  loaded: () => {},
  loadFailed: () => {},
  evicted: () => {},
  fetched: () => {},
  spilled: () => {},
  unneeded: () => {},
};

describe('a live driver', () => {
  it('has the same decisions from its core, at the same times, as the simulated one', async () => {
    const kinds = new Map<number, number>();
    // A result of case 98 is lost with its device, and is wanted when its program returns: what it is made of stays.
    for (const seed of [...Array(cases(24, 300)).keys(), ...cases([98], [])]) {
      const one = drawnCase(seed);
      const expected = simulated(one);
      if (expected === undefined) continue;
      const told = await live(one);
      const at = expected.findIndex((entry, i) => String(entry) !== String(told[i]));
      expect({ seed, at, live: told[at], count: told.length }).toEqual({
        seed,
        at: -1,
        live: undefined,
        count: expected.length,
      });
      for (const entry of expected) kinds.set(entry[2]!, (kinds.get(entry[2]!) ?? 0) + 1);
    }
    const { execute, load, evict, fetch, spill, answer, drop } = Decision;
    for (const kind of [execute, load, evict, fetch, spill, answer, drop])
      expect(kinds.get(kind) ?? 0).toBeGreaterThan(5);
  });
});
