import type { TensorData, Tensors } from '../../../src/execution/index.js';
import type { ProgramDriver, SourceName } from '../../../src/programs/index.js';
import type { DrivenDevice, RanBatch } from '../../../src/runtime/workflow/driven-device.js';
import type { RunPrograms } from '../../../src/runtime/workflow/live-programs.js';
import {
  Decision,
  type Decisions,
  passTimes,
  type Topology,
  type WorkflowCore,
  type WorkflowTable,
} from '../../../src/serving/index.js';
import type { RecordedRun } from '../../../src/simulator/index.js';
import type { VirtualTime } from '../virtual-time.js';

const FRONT = -1;

/** bytesTensor gives a tensor of so many bytes. */
export function bytesTensor(bytes: number): TensorData {
  return { dtype: 'uint8', dims: [1, bytes], data: new Uint8Array(bytes) };
}

/** Expected says when what a device is asked for is done, as the links are. */
interface Expected {
  readonly endNs: number;
}

/**
 * VirtualWorld has devices, links and recorded programs for a live driver, in virtual time. It reads what the core
 * decides to know which links a transfer takes, and counts by itself how long they are taken.
 */
export class VirtualWorld implements RunPrograms {
  readonly devices: readonly VirtualDevice[];
  driver: ProgramDriver | undefined;
  /** How large the output of each task is. */
  readonly outputBytes = new Map<number, number>();
  private readonly fetches: Expected[][];
  private readonly puts: Expected[][];
  private readonly links = new Map<string, number>();
  private readonly diskFreeNs = new Map<number, number>();
  /** By device, the sizes of the outputs that its next batch gives, and where the component that it loads next comes from. */
  readonly gives: number[][] = [];
  private readonly loadsFrom: boolean[] = [];
  private readonly replays = new Map<number, Replay>();
  private making = 0;

  constructor(
    readonly time: VirtualTime,
    readonly topology: Topology,
    readonly table: WorkflowTable,
    private readonly runs: readonly RecordedRun[],
  ) {
    this.devices = table.devices.map((_, device) => new VirtualDevice(this, device));
    this.fetches = table.devices.map(() => []);
    this.puts = table.devices.map(() => []);
  }

  /** around gives a core that decides as another does, and whose decisions the world has seen. */
  around(core: WorkflowCore, decisions: Decisions): WorkflowCore {
    const seen = Object.create(core) as WorkflowCore;
    seen.submitted = (at, request, call) => {
      const task = core.submitted(at, request, call);
      if (task !== -1) this.outputBytes.set(task, this.making);
      return task;
    };
    seen.decide = (at) => {
      core.decide(at);
      for (let i = 0; i < decisions.count; i++) this.see(core, decisions, i);
    };
    return seen;
  }

  private see(core: WorkflowCore, decisions: Decisions, i: number): void {
    const [a, b, c, d] = [decisions.a(i), decisions.b(i), decisions.c(i), decisions.d(i)];
    switch (decisions.kind(i)) {
      case Decision.execute:
        this.gives[b] = Array.from(
          { length: core.batchSize(a) },
          (_, k) => this.outputBytes.get(core.batchTask(a, k))!,
        );
        break;
      case Decision.load:
        this.loadsFrom[a] = c === 1;
        break;
      case Decision.fetch: {
        const expected = { endNs: this.sentUntil(core.outputBytes(d), b, c) };
        if (b !== FRONT) this.fetches[b]!.push(expected);
        else if (c !== FRONT) this.puts[c]!.push(expected);
        break;
      }
      case Decision.spill:
        if (c === 1) this.fetches[a]!.push({ endNs: this.time.now });
        break;
    }
  }

  /** sentUntil takes the links of a transfer, and gives when it ends. */
  private sentUntil(bytes: number, from: number, to: number): number {
    const took = passTimes(this.table)(bytes, from, to);
    const host = (device: number) => (device === FRONT ? FRONT : this.table.devices[device]!.host);
    const taken = [
      ...(from === FRONT || host(from) === host(to) ? [] : [`up ${host(from)}`]),
      ...(to === FRONT || host(from) === host(to) ? [] : [`down ${host(to)}`]),
    ];
    const start = Math.max(this.time.now, ...taken.map((link) => this.links.get(link) ?? 0));
    for (const link of taken) this.links.set(link, start + took);
    return start + took;
  }

  /** loadedAt is when a device has loaded the component of a pool that it begins to load. */
  loadedAt(device: number, pool: number): number {
    const { loadNs, diskNs } = this.table.pools[pool]!;
    const { host } = this.table.devices[device]!;
    if (!this.loadsFrom[device]) return this.time.now + loadNs;
    const readNs = Math.max(this.time.now, this.diskFreeNs.get(host) ?? 0) + diskNs;
    this.diskFreeNs.set(host, readNs);
    return readNs + loadNs;
  }

  fetchedAt(device: number): number {
    return this.fetches[device]!.shift()!.endNs;
  }

  putAt(device: number): number {
    return this.puts[device]!.shift()!.endNs;
  }

  lose(device: number): void {
    this.fetches[device] = [];
    this.puts[device] = [];
  }

  begin(_application: number, run: number): void {
    const replay = new Replay(this.runs[run]!, {
      later: (thinkNs, act) => this.time.at(this.time.now + thinkNs, () => this.replays.has(run) && act()),
      call: (call, task) => {
        const { component, rows, inputs, outputBytes } = this.runs[run]!.calls[call]!;
        this.making = outputBytes;
        const sources = inputs.map((input) => ({ name: 'a', source: sourceOf(replay, input) }));
        this.driver?.called(run, {
          task,
          component: this.table.components[component]!,
          rows,
          inputs: sources,
        });
      },
      want: (task) => this.driver?.wanted(run, { from: 'task', task, output: 'y' }),
      end: (tasks) => {
        const outputs = tasks.map((task) => [`y${task}`, { from: 'task', task, output: 'y' } as const]);
        this.driver?.ended(run, { outputs: Object.fromEntries(outputs), notTaken: [] }, []);
      },
    });
    this.replays.set(run, replay);
    replay.begin();
  }

  give({ number }: { readonly number: number }, source: SourceName): void {
    if (source.from === 'task') this.replays.get(number)?.given(source.task);
  }

  cancel(_application: number, run: number): void {
    this.replays.delete(run);
  }
}

function sourceOf({ taskOf }: Replay, input: number): SourceName {
  if (input === FRONT) return { from: 'request', input: 'x' };
  return { from: 'task', task: taskOf.get(input)!, output: 'y' };
}

/** VirtualDevice does what it is asked when the world says that it is done. */
class VirtualDevice implements DrivenDevice {
  generation = 1;

  constructor(
    private readonly world: VirtualWorld,
    private readonly device: number,
  ) {}

  load(pool: number): Promise<void> {
    return this.done(this.world.loadedAt(this.device, pool), undefined);
  }

  release(): void {}

  run(pool: number, tasks: readonly { readonly rows: number }[]): Promise<RanBatch> {
    const { time, topology, gives } = this.world;
    const rows = tasks.reduce((sum, task) => sum + task.rows, 0);
    const outputs = gives[this.device]!.map((y) => ({ y }));
    const tookNs = topology.pools[pool]!.latencyNs[rows - 1]!;
    const startedNs = time.nowNs();
    return this.done(time.now + tookNs, { outputs, startedNs, endedNs: startedNs + tookNs });
  }

  fetch(_kept: number, names: readonly string[]): Promise<Tensors> {
    const tensors = Object.fromEntries(names.map((name) => [name, bytesTensor(0)]));
    travelled.add(tensors);
    return this.done(this.world.fetchedAt(this.device), tensors);
  }

  put(_kept: number, tensors: Tensors): Promise<void> {
    return travelled.has(tensors) ? Promise.resolve() : this.done(this.world.putAt(this.device), undefined);
  }

  drop(): void {}

  end(why: string): void {
    throw new Error(`a device was ended: ${why}`);
  }

  /** change lets it end or come up again. What it was asked before is never done. */
  change(): void {
    this.generation += 1;
    this.world.lose(this.device);
  }

  private done<T>(atNs: number, value: T): Promise<T> {
    const { generation } = this;
    const { time } = this.world;
    if (atNs === time.now) return Promise.resolve(value);
    return new Promise((resolve) => {
      time.at(atNs, () => this.generation === generation && resolve(value));
    });
  }
}

/** The tensors that have come from a device, whose way has been counted there. */
const travelled = new WeakSet<Tensors>();

interface Replaying {
  later(thinkNs: number, act: () => void): void;
  call(call: number, task: number): void;
  want(task: number): void;
  end(tasks: readonly number[]): void;
}

/**
 * Replay makes the calls of a recorded run as its program did: each once what it takes was called and what it came
 * after was read.
 */
class Replay {
  /** The tasks by their calls, in the order in which they were made. */
  readonly taskOf = new Map<number, number>();
  private readonly read = new Set<number>();
  private readonly begun = new Set<number>();
  private hasEnded = false;

  constructor(
    private readonly run: RecordedRun,
    private readonly does: Replaying,
  ) {}

  begin(): void {
    this.goOn();
  }

  given(task: number): void {
    for (const [call, one] of this.taskOf) if (one === task) this.read.add(call);
    this.goOn();
  }

  private goOn(): void {
    const { calls } = this.run;
    for (let next = this.nextDue(); next >= 0; next = this.nextDue()) {
      const call = next;
      this.begun.add(call);
      const { thinkNs } = calls[call]!;
      if (thinkNs === 0) this.make(call);
      else
        this.does.later(thinkNs, () => {
          this.make(call);
          this.goOn();
        });
    }
    if (this.taskOf.size === calls.length && !this.hasEnded) this.end();
  }

  private make(call: number): void {
    const task = this.taskOf.size;
    this.taskOf.set(call, task);
    this.does.call(call, task);
    if (this.run.calls.some(({ after }) => after.includes(call))) this.does.want(task);
  }

  private nextDue(): number {
    return this.run.calls.findIndex(
      ({ inputs, after }, call) =>
        !this.begun.has(call) &&
        inputs.every((input) => input === FRONT || this.taskOf.has(input)) &&
        after.every((one) => this.read.has(one)),
    );
  }

  private end(): void {
    this.hasEnded = true;
    const { calls } = this.run;
    const results = [...calls.keys()].filter(
      (call) => !calls.some(({ inputs, after }) => inputs.includes(call) || after.includes(call)),
    );
    this.does.end(results.map((call) => this.taskOf.get(call)!));
  }
}
