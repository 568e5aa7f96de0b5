import {
  Decision,
  type Decisions,
  type Topology,
  type WorkflowCore,
  type WorkflowTable,
} from '../../../src/serving/index.js';

const FRONT = -1;

/** Watched tells a core what its driver tells it, and checks by itself that what it decides can be done. */
export class Watched {
  readonly broken: string[] = [];
  private readonly inputs = new Map<number, readonly number[]>();
  private readonly component = new Map<number, number>();
  private readonly places = new Map<number, Set<number>>();
  private readonly going = new Map<
    number,
    { readonly task: number; readonly from: number; readonly to: number }
  >();
  private readonly runningOn = new Map<number, number>();
  private readonly bytes = new Map<number, number>();
  private readonly held: Set<number>[];
  private readonly loading: Set<number>[];
  /** By device, the pool of the batch that it executes. */
  private readonly executes: number[] = [];
  private readonly executed = new Set<number>();
  private readonly ofRequest = new Map<number, number[]>();
  readonly core: WorkflowCore;

  constructor(
    bare: WorkflowCore,
    private readonly decisions: Decisions,
    private readonly topology: Topology,
    private readonly table: WorkflowTable,
  ) {
    this.held = topology.devices.map((_, d) => new Set(table.devices[d]!.holds));
    this.loading = topology.devices.map(() => new Set());
    this.core = this.watching(bare);
  }

  private watching(bare: WorkflowCore): WorkflowCore {
    const core = {} as WorkflowCore & Record<string, unknown>;
    for (const name of methodsOf(bare)) {
      const method = (bare as unknown as Record<string, unknown>)[name];
      if (typeof method === 'function') core[name] = method.bind(bare);
    }
    for (const name of ['pending', 'guesses', 'schedulesLookedAt'] as const)
      Object.defineProperty(core, name, { get: () => bare[name] });
    core.arrived = (...told) => {
      const request = bare.arrived(...told);
      this.ofRequest.set(request, [bare.bodyOf(request)]);
      this.places.set(bare.bodyOf(request), new Set([FRONT]));
      return request;
    };
    core.sized = (at, request, bytes) => {
      this.bytes.set(bare.bodyOf(request), bytes);
      bare.sized(at, request, bytes);
    };
    core.submitted = (at, request, call) => {
      const { component, inputs } = call;
      const task = bare.submitted(at, request, call);
      if (task === -1) return task;
      this.inputs.set(task, inputs);
      this.component.set(task, component);
      this.places.set(task, new Set());
      this.ofRequest.get(request)!.push(task);
      return task;
    };
    core.failed = (at, batch) => {
      delete this.executes[bare.batchDevice(batch)];
      for (let i = 0; i < bare.batchSize(batch); i++) {
        this.executed.delete(bare.batchTask(batch, i));
        this.runningOn.delete(bare.batchTask(batch, i));
      }
      bare.failed(at, batch);
    };
    core.cancelled = (at, request) => {
      const isEnd = bare.cancelled(at, request);
      if (isEnd) this.ended(request);
      return isEnd;
    };
    core.deviceDown = (at, device) => {
      this.held[device]!.clear();
      delete this.executes[device];
      this.loading[device]!.clear();
      for (const places of this.places.values()) places.delete(device);
      for (const [fetch, { from, to }] of this.going)
        if (from === device || to === device) this.going.delete(fetch);
      for (const [task, on] of this.runningOn) if (on === device) this.runningOn.delete(task);
      // What was executed and lies nowhere any more may be executed again.
      for (const task of [...this.executed]) this.mayBeExecutedAgain(task);
      bare.deviceDown(at, device);
    };
    core.executed = (at, batch, startedAt, endedAt, bytes) => {
      const device = bare.batchDevice(batch);
      delete this.executes[device];
      const tasks = Array.from({ length: bare.batchSize(batch) }, (_, i) => bare.batchTask(batch, i));
      tasks.forEach((task, i) => {
        this.runningOn.delete(task);
        if (!this.places.has(task)) return;
        this.places.get(task)!.add(device);
        this.bytes.set(task, bytes![i]!);
      });
      bare.executed(at, batch, startedAt, endedAt, bytes);
    };
    core.fetched = (at, fetch) => {
      const { task, to } = this.going.get(fetch)!;
      this.going.delete(fetch);
      this.places.get(task)?.add(to);
      bare.fetched(at, fetch);
    };
    core.loadFailed = (at, device, pool) => {
      this.loading[device]!.delete(pool);
      bare.loadFailed(at, device, pool);
    };
    core.outputLost = (at, task) => {
      this.places.get(task)?.delete(FRONT);
      for (const [fetch, one] of this.going)
        if (one.task === task && (one.from === FRONT || one.to === FRONT)) this.going.delete(fetch);
      this.mayBeExecutedAgain(task);
      bare.outputLost(at, task);
    };
    core.unneeded = (at, task) => {
      this.places.get(task)?.clear();
      for (const [fetch, one] of this.going) if (one.task === task) this.going.delete(fetch);
      this.mayBeExecutedAgain(task);
      bare.unneeded(at, task);
    };
    core.loaded = (at, device, pool) => {
      this.loading[device]!.delete(pool);
      this.held[device]!.add(pool);
      bare.loaded(at, device, pool);
    };
    core.decide = (at) => {
      bare.decide(at);
      for (let i = 0; i < this.decisions.count; i++) this.decided(bare, i);
      this.topology.devices.forEach((_, device) => {
        this.fits(device);
      });
    };
    return core;
  }

  private mayBeExecutedAgain(task: number): void {
    if (this.places.get(task)?.size === 0 && !this.runningOn.has(task)) this.executed.delete(task);
  }

  private decided(core: WorkflowCore, i: number): void {
    const [a, b, c, d] = [this.decisions.a(i), this.decisions.b(i), this.decisions.c(i), this.decisions.d(i)];
    switch (this.decisions.kind(i)) {
      case Decision.execute:
        this.begins(core, a, b);
        break;
      case Decision.load:
        this.must(this.loading[a]!.size === 0, `device ${a} loads two components`);
        this.must(!this.held[a]!.has(b), `device ${a} loads what it holds`);
        this.loading[a]!.add(b);
        break;
      case Decision.evict:
        this.must(this.held[a]!.delete(b), `device ${a} evicts what it does not hold`);
        this.must(this.executes[a] !== b, `device ${a} evicts what it executes`);
        break;
      case Decision.fetch:
        this.must(this.places.get(d)?.has(b) === true, `task ${d} is fetched from ${b}, where it is not`);
        this.going.set(a, { task: d, from: b, to: c });
        break;
      case Decision.spill:
        this.must(this.places.get(b)?.delete(a) === true, `task ${b} leaves ${a}, where it is not`);
        if (c === 1) this.places.get(b)?.add(FRONT);
        this.must(this.places.get(b)!.size > 0, `task ${b} lies nowhere any more`);
        break;
      case Decision.answer:
      case Decision.drop:
        this.ended(a);
        break;
    }
  }

  private begins(core: WorkflowCore, batch: number, device: number): void {
    const pool = core.batchPool(batch);
    this.executes[device] = pool;
    this.must(this.held[device]!.has(pool), `device ${device} executes what it does not hold`);
    this.must(core.batchRows(batch) <= this.topology.pools[pool]!.batch, 'a batch is too large');
    for (let i = 0; i < core.batchSize(batch); i++) {
      const task = core.batchTask(batch, i);
      this.must(!this.executed.has(task), `task ${task} is executed twice`);
      this.executed.add(task);
      this.runningOn.set(task, device);
      this.must(
        this.component.get(task) === this.table.pools[pool]!.component,
        'a task is in the wrong batch',
      );
      for (const input of this.inputs.get(task)!)
        this.must(this.places.get(input)!.has(device), `task ${task} is executed before its input is there`);
    }
  }

  /** fits counts what a device holds, by itself. */
  private fits(device: number): void {
    let bytes = 0;
    for (const pool of [...this.held[device]!, ...this.loading[device]!])
      bytes += this.table.pools[pool]!.bytes;
    for (const [task, places] of this.places) if (places.has(device)) bytes += this.bytes.get(task) ?? 0;
    for (const { task, to } of this.going.values()) if (to === device) bytes += this.bytes.get(task) ?? 0;
    this.must(bytes <= this.table.devices[device]!.bytes, `device ${device} holds ${bytes} bytes`);
  }

  /** isEmptyAtTheEnd checks that a device holds nothing but components once all requests have their outcomes. */
  isEmptyAtTheEnd(device: number, free: number): void {
    let bytes = this.table.devices[device]!.bytes;
    for (const pool of [...this.held[device]!, ...this.loading[device]!])
      bytes -= this.table.pools[pool]!.bytes;
    this.must(free === bytes, `device ${device} has ${free} bytes of room at the end, not ${bytes}`);
  }

  private ended(request: number): void {
    const tasks = this.ofRequest.get(request);
    this.must(tasks !== undefined, `request ${request} ends twice`);
    this.ofRequest.delete(request);
    for (const task of tasks ?? []) {
      this.places.delete(task);
      this.inputs.delete(task);
      this.executed.delete(task);
    }
  }

  private must(holds: boolean, what: string): void {
    if (!holds) this.broken.push(what);
  }
}

/** methodsOf names the methods of an object, with those that its class inherits. */
function methodsOf(one: object): string[] {
  const names: string[] = [];
  for (let of = Object.getPrototypeOf(one); of !== Object.prototype; of = Object.getPrototypeOf(of))
    names.push(...Object.getOwnPropertyNames(of));
  return names;
}
