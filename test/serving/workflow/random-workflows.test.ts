import { describe, expect, it } from 'vitest';
import { type Stream, streamOf, streamsOf } from '../../../src/random/index.js';
import {
  Decision,
  Decisions,
  DYORC_POLICY,
  DynamicCore,
  GREEDY_POLICY,
  ROUND_ROBIN_POLICY,
  type Topology,
  type WorkflowCore,
  type WorkflowPolicy,
  type WorkflowTable,
} from '../../../src/serving/index.js';
import { type RecordedRun, WorkflowDriver, type WorkflowSummary } from '../../../src/simulator/index.js';
import { randomRun, randomShape, type Shape, workflowTopology } from './workflows.js';

const POLICIES: Readonly<Record<string, WorkflowPolicy>> = {
  dyorc: DYORC_POLICY,
  exact: { ...DYORC_POLICY, placing: { kind: 'dynamic-program' }, prediction: { kind: 'sampled', most: 2 } },
  likeliest: { ...DYORC_POLICY, prediction: { kind: 'likeliest', most: 8 } },
  greedy: GREEDY_POLICY,
  'round-robin': ROUND_ROBIN_POLICY,
};

const FRONT = -1;

/** Watched tells a core what its driver tells it, and checks by itself that what it decides can be done. */
class Watched {
  readonly broken: string[] = [];
  private readonly inputs = new Map<number, readonly number[]>();
  private readonly component = new Map<number, number>();
  private readonly places = new Map<number, Set<number>>();
  private readonly going = new Map<number, { readonly task: number; readonly to: number }>();
  private readonly bytes = new Map<number, number>();
  private readonly held: Set<number>[];
  private readonly loading: Set<number>[];
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
    for (const name of Object.getOwnPropertyNames(DynamicCore.prototype)) {
      const method = (bare as unknown as Record<string, unknown>)[name];
      if (typeof method === 'function') core[name] = method.bind(bare);
    }
    Object.defineProperty(core, 'pending', { get: () => bare.pending });
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
    core.submitted = (at, request, component, rows, inputs) => {
      const task = bare.submitted(at, request, component, rows, inputs);
      if (task === -1) return task;
      this.inputs.set(task, inputs);
      this.component.set(task, component);
      this.places.set(task, new Set());
      this.ofRequest.get(request)!.push(task);
      return task;
    };
    core.executed = (at, batch, startedAt, endedAt, bytes) => {
      const device = bare.batchDevice(batch);
      const tasks = Array.from({ length: bare.batchSize(batch) }, (_, i) => bare.batchTask(batch, i));
      tasks.forEach((task, i) => {
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

  private decided(core: WorkflowCore, i: number): void {
    const [a, b, c, d] = [this.decisions.a(i), this.decisions.b(i), this.decisions.c(i), this.decisions.d(i)];
    switch (this.decisions.kind(i)) {
      case Decision.execute:
        this.executes(core, a, b);
        break;
      case Decision.load:
        this.must(this.loading[a]!.size === 0, `device ${a} loads two components`);
        this.must(!this.held[a]!.has(b), `device ${a} loads what it holds`);
        this.loading[a]!.add(b);
        break;
      case Decision.evict:
        this.must(this.held[a]!.delete(b), `device ${a} evicts what it does not hold`);
        break;
      case Decision.fetch:
        this.must(this.places.get(d)?.has(b) === true, `task ${d} is fetched from ${b}, where it is not`);
        this.going.set(a, { task: d, to: c });
        break;
      case Decision.spill:
        this.must(this.places.get(b)?.delete(a) === true, `task ${b} leaves ${a}, where it is not`);
        this.places.get(b)?.add(FRONT);
        break;
      case Decision.answer:
      case Decision.drop:
        this.ended(a);
        break;
    }
  }

  private executes(core: WorkflowCore, batch: number, device: number): void {
    const pool = core.batchPool(batch);
    this.must(this.held[device]!.has(pool), `device ${device} executes what it does not hold`);
    this.must(core.batchRows(batch) <= this.topology.pools[pool]!.batch, 'a batch is too large');
    for (let i = 0; i < core.batchSize(batch); i++) {
      const task = core.batchTask(batch, i);
      this.must(!this.executed.has(task), `task ${task} is executed twice`);
      this.executed.add(task);
      this.must(this.component.get(task) === this.table.pools[pool]!.component, 'a task is in the wrong batch');
      for (const input of this.inputs.get(task)!)
        this.must(this.places.get(input)!.has(device), `task ${task} is executed before its input is there`);
    }
  }

  /** fits counts what a device holds, by itself. */
  private fits(device: number): void {
    let bytes = 0;
    for (const pool of [...this.held[device]!, ...this.loading[device]!]) bytes += this.table.pools[pool]!.bytes;
    for (const [task, places] of this.places) if (places.has(device)) bytes += this.bytes.get(task) ?? 0;
    for (const { task, to } of this.going.values()) if (to === device) bytes += this.bytes.get(task) ?? 0;
    this.must(bytes <= this.table.devices[device]!.bytes, `device ${device} holds ${bytes} bytes`);
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

interface Tried {
  readonly summary: WorkflowSummary;
  readonly broken: readonly string[];
  readonly ends: readonly number[];
  readonly core: DynamicCore;
}

function tried(shape: Shape, runs: readonly RecordedRun[], policy: WorkflowPolicy, gaps: Stream): Tried {
  const { topology, table } = workflowTopology(shape);
  const decisions = new Decisions();
  const core = new DynamicCore(topology, decisions, { table, policy, streams: streamsOf(7, 'core') });
  const watched = new Watched(core, decisions, topology, table);
  let [came, at] = [0, 0];
  const arrivals = {
    next: () => {
      if (came === runs.length) return false;
      came += 1;
      at += gaps.integer(200);
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
    ...{ topology, table, decisions, core: watched.core, arrivals, runOf: (order: number) => runs[order]! },
    observers: [{ ended: (atNs, _model, _request, arrivedAtNs) => ends.push(atNs - arrivedAtNs) }],
  }).run();
  return { summary, broken: watched.broken, ends, core };
}

describe('a core of dynamic workflows', () => {
  it.each(Object.keys(POLICIES))('ends every request once and breaks no rule, as %s', (name) => {
    for (let seed = 0; seed < 60; seed++) {
      const stream = streamOf(seed, 'shape');
      const shape = randomShape(stream);
      const runs = Array.from({ length: 30 }, () => randomRun(stream, shape));
      const { summary, broken, core } = tried(shape, runs, POLICIES[name]!, streamOf(seed, 'gaps'));
      expect({ seed, broken: broken.slice(0, 3) }).toEqual({ seed, broken: [] });
      const { requests, inTime, late, dropped, failed } = summary;
      expect({ seed, requests, ended: inTime + late }).toEqual({ seed, requests: 30, ended: 30 });
      expect([dropped, failed]).toEqual([0, 0]);
      expect(core.inUse).toEqual({ requests: 0, tasks: 0, batches: 0, fetches: 0 });
    }
  });

  it('does the same again, with the same seeds', () => {
    const stream = streamOf(3, 'shape');
    const shape = randomShape(stream);
    const runs = Array.from({ length: 60 }, () => randomRun(stream, shape));
    const [one, other] = [1, 2].map(() => tried(shape, runs, DYORC_POLICY, streamOf(3, 'gaps')));
    expect(one!.ends).toEqual(other!.ends);
    expect(one!.summary).toEqual(other!.summary);
  });
});
