import type { Program } from '../../../src/programs/index.js';
import { streamOf, streamsOf } from '../../../src/random/index.js';
import type { LiveModel } from '../../../src/runtime/bundle/pool-work.js';
import type { Dropped, Drops } from '../../../src/runtime/live/drops.js';
import {
  LiveWorkflowDriver,
  type WorkflowObserver,
} from '../../../src/runtime/workflow/live-workflow-driver.js';
import {
  type Decisions,
  type LogEntry,
  type WorkflowScheduler,
  workflowCore,
} from '../../../src/serving/index.js';
import { type Shape, workflowTopology } from '../../serving/workflow/workflows.js';
import { ARITHMETIC } from './arithmetic.js';
import { InProcessPrograms } from './in-process-programs.js';
import { NoOpDevice, type NoOpOptions } from './no-op-device.js';

const row = (name: string) => ({ name, dtype: 'float32', shape: [1, 2], batchAxis: 0 });

const COMPONENTS = Object.keys(ARITHMETIC);

/** smallCluster has devices of one class, which hold two of three components and a few outputs. */
export function smallCluster(devices: number, roomBytes = 96): Shape {
  return {
    applications: 1,
    components: COMPONENTS.map(() => ({ bytes: 1000, loadNs: 5e4, latencyNs: [[2e4, 3e4, 4e4, 5e4]] })),
    devices: Array.from({ length: devices }, (_, d) => ({
      class: 0,
      server: d % 2,
      bytes: 2000 + roomBytes,
    })),
    hostBytes: 2000,
    linkBytesPerNs: 1,
    networkBytesPerNs: 0.1,
    sloNs: 1e12,
    holds: Array.from({ length: devices }, (_, d) => [d % 3]),
  };
}

/** DrivenOptions says how a driver of no-op devices is tried. */
export interface DrivenOptions extends Partial<Pick<NoOpOptions, 'fails' | 'failsToLoad'>> {
  readonly shape: Shape;
  readonly program: Program;
  readonly seed: number;
  readonly scheduler?: WorkflowScheduler;
  readonly isDelayed?: boolean;
}

/** Driven is a driver with all that surrounds it. */
export interface Driven {
  readonly driver: LiveWorkflowDriver;
  readonly devices: readonly NoOpDevice[];
  readonly programs: InProcessPrograms;
  readonly log: LogEntry[];
  /** What the driver told its observer, counted. */
  readonly told: Record<keyof WorkflowObserver, number>;
  /** makeCore makes the core anew, for a replay. */
  readonly makeCore: (decisions: Decisions) => ReturnType<typeof workflowCore>;
  /** The core that the driver has. */
  readonly core: () => ReturnType<typeof workflowCore>;
}

/** driven makes a driver of no-op devices, all of which are up. */
export function driven(options: DrivenOptions): Driven {
  const { shape, program, seed, scheduler = 'dyorc', isDelayed = false, fails, failsToLoad } = options;
  const { topology, table } = workflowTopology(shape);
  const named = { ...table, components: COMPONENTS };
  const makeCore = (decisions: Decisions) =>
    workflowCore(scheduler, topology, { decisions, table: named, streams: streamsOf(seed, 'core') });
  const devices = table.devices.map(
    ({ holds }, d) =>
      new NoOpDevice({
        components: table.pools.map(({ component }) => ARITHMETIC[COMPONENTS[component]!]!),
        holds,
        fails,
        failsToLoad,
        delays: isDelayed ? streamOf(seed, `delays/${d}`) : undefined,
        ended: (why) => devices[d]!.broken.push(`was ended: ${why}`),
      }),
  );
  const programs = new InProcessPrograms(new Array<Program>(shape.applications).fill(program), ['y', 'z']);
  const log: LogEntry[] = [];
  const told = Object.fromEntries(
    ['batch', 'failure', 'loaded', 'loadFailed', 'evicted', 'fetched', 'spilled', 'unneeded'].map((word) => [
      word,
      0,
    ]),
  ) as Driven['told'];
  let core: ReturnType<typeof workflowCore> | undefined;
  const driver = new LiveWorkflowDriver({
    models: new Array<LiveModel>(shape.applications).fill(MODEL),
    components: COMPONENTS,
    pools: table.pools,
    devices,
    drops: NO_DROPS,
    programs,
    makeCore: (decisions) => {
      core = makeCore(decisions);
      return core;
    },
    observer: Object.fromEntries(
      Object.keys(told).map((word) => [word, () => (told[word as keyof WorkflowObserver] += 1)]),
    ) as unknown as WorkflowObserver,
    log: (entry) => log.push(entry),
  });
  programs.driver = driver.programDriver;
  for (const d of devices.keys()) driver.deviceUp(d);
  return { driver, devices, programs, log, told, makeCore, core: () => core! };
}

const MODEL: LiveModel = {
  name: 'wandering',
  sloNs: 1e12,
  inputs: [row('x')],
  outputs: [row('y'), row('z')],
  inputKeys: ['x'],
  outputKeys: ['y', 'z'],
  mayLackOutputs: true,
  maxRows: 4,
  plannedRps: 1,
  weight: 1,
};

const NO_DROPS: Pick<Drops, 'took' | 'gave' | 'device' | 'ending'> = {
  took: () => {},
  gave: () => {},
  device: () => {},
  ending: (_model, reason): Dropped => ({ kind: 'dropped', reason, place: 'entry', retryAfterS: 1 }),
};
