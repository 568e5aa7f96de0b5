import type { RunResult, TensorData, Tensors } from '../../src/execution/index.js';
import { stageName, type TensorSpec } from '../../src/formats/index.js';
import type { LiveModel, PoolWork } from '../../src/runtime/bundle/pool-work.js';
import { LiveDriver } from '../../src/runtime/live/live-driver.js';
import type { BatchRecord, Ending } from '../../src/runtime/live/live-requests.js';
import type { RequestTimes } from '../../src/runtime/live/request-times.js';
import { Decision, type Decisions, DROP_REASONS, type LogEntry } from '../../src/serving/index.js';
import { DeviceState, OutcomeCode, type SimulationView, simulate } from '../../src/simulator/index.js';
import { told } from '../serving/told-arrivals.js';
import {
  type Arrival,
  plannedNs,
  type Run,
  runVirtual,
  type WatchedCore,
} from '../serving/virtual-driver.js';
import { Rank, VirtualTime } from './virtual-time.js';

/** ServedRun is a run that a live driver and a simulated one can both make. */
export interface ServedRun
  extends Pick<Run, 'topology' | 'arrivals' | 'verdict' | 'fails' | 'outages' | 'drainAt' | 'shed'> {
  readonly makeCore: (decisions: Decisions) => WatchedCore;
  /** tookNs gives a function that says how long the next batch takes on a device; the plan's time where absent. */
  readonly tookNs?: (() => (plannedNs: number, device: number) => number) | undefined;
  /** The time from the activation of a device until it takes work. */
  readonly activationNs?: number;
}

/** Timeline is all that can be seen of a run from outside its core, and the log of the core. */
export interface Timeline {
  readonly log: LogEntry[];
  /** Each batch when a device begins it, with the requests of its tasks by the order in which they came. */
  readonly runs: { at: number; pool: number; device: number; requests: number[] }[];
  readonly ended: { arrival: number; at: number; outcome: string; reason?: string; place?: string }[];
  readonly scaled: { at: number; device: number; what: string }[];
}

function emptyTimeline(): Timeline {
  return { log: [], runs: [], ended: [], scaled: [] };
}

function nameOf<Code extends number>(codes: Readonly<Record<string, Code>>, code: Code): string {
  return Object.entries(codes).find(([, value]) => value === code)![0];
}

function placeOf({ topology }: ServedRun, pool: number): string {
  return pool === -1 ? 'entry' : stageName(topology.pools[pool]!.stage);
}

/** simulated makes a run of which nothing goes wrong by the simulator. */
export function simulated(run: ServedRun): Timeline {
  const { topology, arrivals, makeCore, verdict, activationNs = 0 } = run;
  const seen = emptyTimeline();
  const orders = new Map<number, number>();
  let view: SimulationView | undefined;
  let came = 0;
  const tookNs = run.tookNs?.();
  simulate({
    topology,
    makeCore,
    arrivals: told(arrivals.map(({ at, model = 0 }) => ({ atNs: at, model }))),
    rows: (order) => arrivals[order]!.rows ?? 1,
    weight: (order) => arrivals[order]!.weight ?? 1,
    activationDelayNs: activationNs,
    ...(verdict && { verdict }),
    ...(tookNs && { execution: (_pool, _size, planned, device) => tookNs(planned, device) }),
    log: (entry) => seen.log.push(entry),
    observers: [
      {
        begun: (begun) => {
          view = begun;
        },
        arrived: (_at, _model, request) => orders.set(request, came++),
        started: (batch, pool, device, size, _handed, at) => {
          const tasks = Array.from({ length: size }, (_, k) => view!.core.batchTask(batch, k));
          seen.runs.push({
            at,
            pool,
            device,
            requests: tasks.map((task) => orders.get(view!.requestOf(task))!),
          });
        },
        ended: (at, _model, request, _arrived, code, reason, pool) => {
          const outcome = nameOf(OutcomeCode, code);
          const drop =
            outcome === 'dropped' ? { reason: DROP_REASONS[reason]!, place: placeOf(run, pool) } : {};
          seen.ended.push({ arrival: orders.get(request)!, at, outcome, ...drop });
        },
        scaled: (at, device, state) => seen.scaled.push({ at, device, what: nameOf(DeviceState, state) }),
      },
    ],
  });
  return seen;
}

/**
 * simulatedTroubles makes a run in which things may go wrong by the driver that watches cores, which lets them decide
 * as a live one does.
 */
export function simulatedTroubles(run: ServedRun): Timeline {
  const { topology, makeCore, activationNs = 0, tookNs: from, ...same } = run;
  const seen = emptyTimeline();
  const tookNs = from?.();
  const { ended, executed } = runVirtual({
    ...same,
    topology,
    makeCore: (_topology, decisions) => makeCore(decisions),
    handsAhead: true,
    decidesOnEnds: true,
    // It brings devices up a nanosecond late.
    activationDelayNs: activationNs - 1,
    ...(tookNs && {
      executionNs: (pool, size, device) => tookNs(plannedNs(topology, { pool, size, device }), device),
    }),
    scaled: (at, device, what) => seen.scaled.push({ at, device, what }),
    log: (entry) => seen.log.push(entry),
  });
  for (const { pool, device, from: at, arrivals } of executed)
    seen.runs.push({ at, pool, device, requests: arrivals });
  for (const { arrival, at, outcome, reason, place } of ended) {
    const drop = outcome === 'dropped' ? { reason: reason!, place: placeOf(run, place!) } : {};
    seen.ended.push({ arrival, at, outcome, ...drop });
  }
  return seen;
}

/** live makes a run by the live driver, on virtual devices and in virtual time. */
export async function live(run: ServedRun): Promise<Timeline> {
  const world = new VirtualServing(run);
  await world.pass();
  return world.seen;
}

const ROWS = 16;
const NEVER = Number.POSITIVE_INFINITY;
const SPEC: Pick<TensorSpec, 'dtype' | 'shape' | 'batchAxis'> = {
  dtype: 'float64',
  shape: [1],
  batchAxis: 0,
};

function tensorOf(data: readonly number[]): TensorData {
  return { dtype: 'float64', dims: [data.length], data: Float64Array.from(data) };
}

/** Every model takes the number of a row as x, and gives it once more, and its double as y: the answer. */
function modelOf(name: string): LiveModel {
  return {
    name,
    sloNs: 1,
    inputs: [{ name: 'x', ...SPEC }],
    outputs: [{ name: 'y', ...SPEC }],
    inputKeys: ['x'],
    outputKeys: ['y'],
    mayLackOutputs: false,
    maxRows: ROWS,
    plannedRps: 1,
    weight: 1,
  };
}

function workOf(asksVerdict: boolean): PoolWork {
  return {
    file: '',
    digests: { sha256: '', data: [] },
    fileBytes: 1,
    inputs: [{ spec: { name: 'x', ...SPEC }, from: ['x'] }],
    outputs: ['x', 'y', 'v'].map((name) => ({ spec: { name, ...SPEC }, key: name })),
    carried: new Set(['x', 'y']),
    ...(asksVerdict && { fork: { verdictOn: ({ v }) => v!.data[0] as number } }),
  };
}

/** VirtualServing lets a run be served by a live driver, and sees what comes of it from outside. */
export class VirtualServing {
  readonly seen = emptyTimeline();
  readonly time = new VirtualTime();
  readonly driver: LiveDriver;
  readonly tookNs: (plannedNs: number, device: number) => number;
  private readonly devices: readonly VirtualDevice[];
  private readonly isSimulated: boolean;
  private isAbandoned = false;

  constructor(readonly run: ServedRun) {
    const { topology, makeCore, outages } = run;
    this.tookNs = run.tookNs?.() ?? ((plannedNs) => plannedNs);
    this.isSimulated = outages === undefined;
    this.devices = topology.devices.map((_, device) => new VirtualDevice(this, device));
    this.driver = new LiveDriver(
      {
        topology,
        models: topology.models.map(({ name }) => modelOf(name)),
        work: topology.pools.map(({ edges }) => workOf(edges.some(({ when }) => when.kind !== 'always'))),
      },
      this.devices,
      {
        makeCore,
        clock: this.time,
        log: (entry) => this.seen.log.push(entry),
        observer: {
          batch: (record) => this.devices[record.device]!.heard(record),
          failure: (pool, device, why) => this.devices[device]!.failed(pool, why),
          activated: (device) => this.heard.push([Decision.activate, device]),
          retired: (device) => this.heard.push([Decision.retire, device]),
          shifted: (gear) => this.heard.push([Decision.shift, gear]),
        },
      },
    );
    this.plan();
  }

  /** What the observer heard of decisions. */
  private readonly heard: [kind: number, subject: number][] = [];

  private plan(): void {
    const { arrivals, outages = [], drainAt } = this.run;
    for (const device of this.devices) device.begin();
    for (const [i, arrival] of arrivals.entries()) this.time.at(arrival.at, () => this.arrives(i, arrival));
    for (const { at, device, until } of outages) {
      this.time.at(at, () => this.devices[device]!.goesDown());
      if (until !== undefined) this.time.at(until, () => this.devices[device]!.comesBack());
    }
    if (drainAt !== undefined) this.time.at(drainAt, () => void this.driver.drain());
  }

  private arrives(arrival: number, { at, model = 0, rows = 1, weight, deadline, cancelAt }: Arrival): void {
    const deadlineNs = deadline ?? at + this.run.topology.models[model]!.sloNs;
    const came = { at, model, deadlineNs, ...(weight !== undefined && { weight }) };
    if (this.run.shed === true && this.driver.wouldDrop(came, 0)) {
      this.driver.turnAway(model, (ending, { tookUs }) => {
        agree([tookUs], [0]);
        this.end(arrival, ending);
      });
      return;
    }
    const numbers = Array.from({ length: rows }, (_, row) => arrival * ROWS + row);
    const inputs = numbers.map((_, row) => this.inputOf(arrival, row));
    const ticket = this.driver.submit(came, inputs, (ending, times) => {
      agree([times.tookUs, sumNs(times)], [(this.time.now - at) / 1e3, this.time.now - at]);
      if (ending.kind === 'answered')
        agree(
          [...ending.outputs.y!.data],
          numbers.map((n) => 2 * n),
        );
      this.end(arrival, ending);
    });
    if (cancelAt === undefined) return;
    this.time.at(cancelAt, () => {
      if (ticket.cancel()) this.seen.ended.push({ arrival, at: this.time.now, outcome: 'cancelled' });
    });
  }

  /** inputOf gives the inputs of a row of a request, by which devices know it. */
  inputOf(arrival: number, row: number): Tensors {
    return { x: tensorOf([arrival * ROWS + row]) };
  }

  private end(arrival: number, ending: Ending): void {
    this.seen.ended.push({ arrival, at: this.time.now, ...endingOf(ending) });
  }

  /**
   * abandon ends all requests and devices, as an engine does that is told to close at once. It gives how many requests
   * these were.
   */
  abandon(): number {
    const count = this.driver.abandon();
    this.driver.stop();
    for (const device of this.devices) device.kill();
    this.isAbandoned = true;
    return count;
  }

  async pass(): Promise<void> {
    const { arrivals } = this.run;
    const last = arrivals.at(-1)?.at ?? NEVER;
    // A simulation ends with its last request, whenever the core asks to be woken again.
    await this.time.pass(() => this.isSimulated && this.time.now > last && this.driver.pending === 0);
    this.driver.stop();
    if (!this.isAbandoned) agree([this.driver.pending], [0]);
    const kinds: number[] = [Decision.activate, Decision.retire, Decision.shift];
    const decided = this.seen.log.filter(([word, kind]) => word === 'said' && kinds.includes(kind!));
    agree(
      this.heard.flat(),
      decided.flatMap(([, kind, subject]) => [kind, subject]),
    );
  }
}

function endingOf(ending: Ending): { outcome: string; reason?: string; place?: string } {
  switch (ending.kind) {
    case 'answered':
      return { outcome: ending.inTime ? 'inTime' : 'late' };
    case 'failed':
      return { outcome: 'failed' };
    case 'dropped':
      return { outcome: 'dropped', reason: ending.reason, place: ending.place };
  }
}

function sumNs({ queueUs, inputUs, inferUs, outputUs }: RequestTimes): number {
  return Math.round(1e3 * (queueUs + inputUs + inferUs + outputUs));
}

/** agree throws where two lists differ: `expect` would take most of a run's time. */
function agree(seen: readonly unknown[], expected: readonly unknown[]): void {
  if (seen.length !== expected.length || seen.some((one, i) => one !== expected[i]))
    throw new Error(`the driver has ${seen}, but it should have ${expected}`);
}

/** Executing is a batch that a device executes. */
interface Executing {
  readonly pool: number;
  readonly size: number;
  readonly atNs: number;
  readonly endNs: number;
  readonly end: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * VirtualDevice executes each batch for as long as it should, by virtual time. When it goes down, its batch fails, as
 * when a process ends; or has its results at the last moment, which come too late.
 */
class VirtualDevice {
  generation = 0;
  private state: 'standby' | 'comesUp' | 'up' | 'down' = 'up';
  private executing: Executing | undefined;
  private activation = 0;

  constructor(
    private readonly world: VirtualServing,
    private readonly device: number,
  ) {}

  /** begin lets it be up from the beginning, or on standby. */
  begin(): void {
    if (this.world.run.topology.devices[this.device]!.standby === true) this.state = 'standby';
    else this.isUp();
  }

  private isUp(): void {
    this.state = 'up';
    this.generation += 1;
    this.world.driver.deviceUp(this.device);
  }

  run(pool: number, { x }: Tensors): Promise<RunResult> {
    const { time, run, seen, tookNs } = this.world;
    if (this.executing !== undefined || this.state !== 'up')
      throw new Error('a batch begins on a device that is not free');
    const numbers = [...(x!.data as Float64Array)];
    const requests = numbers.map((number) => Math.floor(number / ROWS));
    const size = numbers.length;
    seen.runs.push({ at: time.now, pool, device: this.device, requests });
    const lasts = tookNs(plannedNs(run.topology, { pool, size, device: this.device }), this.device);
    const verdicts = numbers.map((number, k) => run.verdict?.(requests[k]!, number % ROWS, pool) ?? 0);
    const outputs = {
      x: tensorOf(numbers),
      y: tensorOf(numbers.map((number) => 2 * number)),
      v: tensorOf(verdicts),
    };
    const startedNs = time.nowNs();
    return new Promise((resolve, fail) => {
      const end = () => {
        if (this.executing !== executing) return;
        if (run.fails?.(requests, pool)) fail(new Error('it does not work'));
        else resolve({ outputs, startedNs, endedNs: startedNs + lasts, executionUs: lasts / 1e3 });
      };
      const executing = { pool, size, atNs: time.now, endNs: time.now + lasts, end, fail };
      this.executing = executing;
      time.at(time.now + lasts, end, Rank.end);
    });
  }

  /** heard is told of a batch that has ended, with or without results. */
  heard({ pool, size, phases, busyUs }: BatchRecord): void {
    const { pool: ran, size: of, atNs, endNs } = this.executing!;
    agree([pool, size, busyUs], [ran, of, (endNs - atNs) / 1e3]);
    if (phases === undefined) return;
    const { fromNs, stackedNs, inferFromNs, inferToNs, cameNs, toNs } = phases;
    agree([fromNs, stackedNs, inferFromNs, inferToNs, cameNs, toNs], [atNs, atNs, atNs, endNs, endNs, endNs]);
    this.executing = undefined;
  }

  failed(pool: number, why: string): void {
    const expected = this.state === 'down' ? 'its device went down' : 'it does not work';
    agree([pool, why], [this.executing?.pool, expected]);
    this.executing = undefined;
  }

  goesDown(): void {
    if (this.state !== 'up') return;
    this.state = 'down';
    this.generation += 1;
    if (this.world.time.now % 2 === 0) this.executing?.end();
    else this.executing?.fail(new Error('its process ended'));
    this.world.driver.deviceDown(this.device);
    agree([this.executing], [undefined]);
  }

  /** kill ends it when the server closes, which the driver does not hear of. */
  kill(): void {
    this.state = 'down';
    this.generation += 1;
    this.executing?.fail(new Error('its process ended'));
    this.executing = undefined;
  }

  comesBack(): void {
    if (this.state === 'down') this.isUp();
  }

  activate(): void {
    const { time, run, seen } = this.world;
    this.state = this.state === 'up' ? 'up' : 'comesUp';
    const activation = ++this.activation;
    seen.scaled.push({ at: time.now, device: this.device, what: 'comesUp' });
    const comesUp = () => {
      if (this.activation !== activation) return;
      seen.scaled.push({ at: time.now, device: this.device, what: 'up' });
      this.isUp();
    };
    time.at(time.now + (run.activationNs ?? 0), comesUp, Rank.up);
  }

  close(): Promise<void> {
    const { time, seen } = this.world;
    agree([this.executing], [undefined]);
    this.activation += 1;
    this.state = 'standby';
    seen.scaled.push({ at: time.now, device: this.device, what: 'standby' });
    return Promise.resolve();
  }
}
