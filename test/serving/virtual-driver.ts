import { streamsOf } from '../../src/random/index.js';
import {
  Answer,
  Decision,
  Decisions,
  DROP_REASONS,
  type LogEntry,
  recorded,
  type ScalingRule,
  type ServingCore,
  StageLocalCore,
  type StageLocalPolicy,
  type StageTopology,
} from '../../src/serving/index.js';

export interface Arrival {
  at: number;
  model?: number;
  rows?: number;
  weight?: number;
  deadline?: number;
  cancelAt?: number;
}

export interface Outage {
  at: number;
  device: number;
  /** The time at which the device comes back. Without it, the device never does. */
  until?: number;
}

export interface Run {
  topology: StageTopology;
  arrivals: Arrival[];
  policy?: Partial<StageLocalPolicy>;
  /** Makes the core. Without it, a StageLocalCore of the policy is driven. */
  makeCore?: (topology: StageTopology, decisions: Decisions) => WatchedCore;
  /** Whether the core may hand batches to busy devices, which run them in that order. Otherwise that is an error. */
  handsAhead?: boolean;
  outages?: Outage[];
  /** The execution time of a batch. Without it, the plan's is used. */
  executionNs?: (pool: number, size: number, device: number) => number;
  /** Whether a batch of these requests fails on its device. */
  fails?: (requests: number[], pool: number) => boolean;
  log?: (entry: LogEntry) => void;
  drainAt?: number;
  /** Whether requests that would be dropped are turned away unread. */
  shed?: boolean;
  /** What the model of a stage says of a row of the request of an arrival. */
  verdict?: (arrival: number, row: number, pool: number) => number;
  scaling?: ScalingRule;
  /** The time from the activation of a device until it takes work. */
  activationDelayNs?: number;
  /** Whether the core decides on each batch that ends, before it hears of others of the same instant, as a live driver lets it. */
  decidesOnEnds?: boolean;
  /** Told of every batch that is executed to its end, before the core is. */
  watch?: (record: Watched) => void;
  /** Told when a device is activated, takes work after that, and is on standby again. */
  scaled?: (at: number, device: number, what: 'comesUp' | 'up' | 'standby') => void;
}

/** Watched is a batch that was executed to its end, with the rows of its tasks, or that came to its next stage. */
export interface Watched {
  what: 'executed' | 'transferred';
  pool: number;
  /** The stage that a batch came to in a DAG. */
  to?: number;
  at: number;
  from: number;
  rows: { arrival: number; row: number; isOpen: boolean }[];
}

/** STREAMS are the random numbers of the cores that `runVirtual` makes itself. */
export const STREAMS = streamsOf(1, 'core');

/** WatchedCore is a core that also tells how many requests, tasks and batches it holds. */
export type WatchedCore = ServingCore & Pick<StageLocalCore, 'inUse'>;

export interface Ended {
  arrival: number;
  arrivedAt: number;
  outcome: 'inTime' | 'late' | 'failed' | 'dropped' | 'cancelled';
  at: number;
  reason?: string;
  place?: number;
}

export interface Executed {
  pool: number;
  device: number;
  from: number;
  to: number;
  arrivals: number[];
}

/**
 * Rank orders the events of an instant: executions and transfers that end, then the timer, then events from outside.
 * Events of one rank are told in the order in which they were planned.
 */
const Rank = { transferred: 0, executed: 1, due: 2, outside: 3 };

type Happening = { at: number; rank: number; order: number; tell: () => void };

/**
 * runVirtual drives a core in virtual time and watches it from outside. It throws at the first broken rule.
 */
export function runVirtual(run: Run): { ended: Ended[]; executed: Executed[]; core: WatchedCore } {
  const decisions = new Decisions();
  const bare =
    run.makeCore?.(run.topology, decisions) ??
    new StageLocalCore(run.topology, decisions, {
      streams: STREAMS,
      ...run.policy,
      ...(run.scaling === undefined ? {} : { scaling: run.scaling }),
    });
  const core: ServingCore = run.log === undefined ? bare : recorded(bare, decisions, run.log);
  const happenings: Happening[] = [];
  const ended: Ended[] = [];
  const executed: Executed[] = [];
  const arrivalOf = new Map<number, number>();
  const openOf = new Set<number>();
  const requestOfTask = { get: (task: number) => core.requestOf(task) };
  const areChained = run.topology.routes.kind === 'chains';
  const edges = run.topology.pools.flatMap((pool) => pool.edges);
  const onStandby = new Set(run.topology.devices.flatMap(({ standby }, device) => (standby ? [device] : [])));
  const retiring = new Set<number>();
  const upAt = new Map<number, symbol>();
  const isOut = new Set<number>();
  /** What is collected now. Once a device is gone, any of it may have been dispatched again, and is forgotten. */
  const collectedAt = new Map<number, { at: number; pool: number }>();
  const runningOn = new Map<number, number>();
  const waitingOn = run.topology.devices.map((): number[] => []);
  let now = 0;
  let order = 0;
  let timer = 0;
  let gear = 0;

  const plan = (at: number, rank: number, tell: () => void) => {
    const item = { at, rank, order: order++, tell };
    let i = happenings.push(item) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(item, happenings[parent]!)) break;
      happenings[i] = happenings[parent]!;
      i = parent;
    }
    happenings[i] = item;
  };
  const take = (): Happening => {
    const first = happenings[0]!;
    const last = happenings.pop()!;
    if (happenings.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= happenings.length) break;
      if (child + 1 < happenings.length && before(happenings[child + 1]!, happenings[child]!)) child += 1;
      if (!before(happenings[child]!, last)) break;
      happenings[i] = happenings[child]!;
      i = child;
    }
    happenings[i] = last;
    return first;
  };

  const end = (request: number, outcome: Ended['outcome'], more: Partial<Ended> = {}) => {
    const arrival = arrivalOf.get(request)!;
    if (!openOf.delete(request)) throw new Error(`request of arrival ${arrival} ended twice`);
    const arrivedAt = run.arrivals[arrival]!.at;
    for (const task of collectedAt.keys()) if (core.requestOf(task) === request) collectedAt.delete(task);
    ended.push({ arrival, arrivedAt, outcome, at: now, ...more });
  };

  const collect = (task: number, pool: number) => {
    if (!openOf.has(core.requestOf(task))) throw new Error('a task of an ended request is collected');
    collectedAt.set(task, { at: now, pool });
  };
  /** Checks that what was collected waits for no longer than the batch before it takes (PARD §4.2). */
  const checkWaits = (tasks: readonly number[], pool: number, device: number) => {
    const before = executed.findLast((one) => one.device === device);
    for (const task of tasks) {
      const collected = collectedAt.get(task);
      if (collected === undefined) continue;
      collectedAt.delete(task);
      if (collected.pool !== pool)
        throw new Error('a task is executed by another pool than it was collected for');
      if (before !== undefined && collected.at < before.from)
        throw new Error('a task was collected before the batch before its own began');
      if (now > Math.max(collected.at, before?.to ?? 0))
        throw new Error('a task waits in its batch although its device is idle');
    }
  };

  const standBy = (device: number) => {
    onStandby.add(device);
    run.scaled?.(now, device, 'standby');
  };

  const execute = (batch: number, device: number) => {
    const pool = core.batchPool(batch);
    const size = core.batchSize(batch);
    const tasks = Array.from({ length: size }, (_, i) => core.batchTask(batch, i));
    if (size < 1 || size > run.topology.pools[pool]!.batch) throw new Error(`a batch of ${size}`);
    if (new Set(tasks).size !== size) throw new Error('a task is twice in a batch');
    if (runningOn.has(device) && !run.handsAhead) throw new Error(`two batches at once on device ${device}`);
    const { pool: first, otherPools = [] } = run.topology.devices[device]!;
    if (![first, ...otherPools].includes(pool)) throw new Error('a batch on a device of another pool');
    if (onStandby.has(device)) throw new Error('a batch on a device that is on standby');
    checkWaits(tasks, pool, device);
    const requests = tasks.map((task) => requestOfTask.get(task)!);
    for (const request of requests) if (!openOf.has(request)) throw new Error('an ended request is executed');
    if (runningOn.has(device)) waitingOn[device]!.push(batch);
    else begin(batch, device);
  };

  const begin = (batch: number, device: number) => {
    const pool = core.batchPool(batch);
    const size = core.batchSize(batch);
    const tasks = Array.from({ length: size }, (_, i) => core.batchTask(batch, i));
    const arrivals = tasks.map((task) => arrivalOf.get(requestOfTask.get(task)!)!);
    runningOn.set(device, batch);
    const from = now;
    const to =
      now + (run.executionNs?.(pool, size, device) ?? plannedNs(run.topology, { pool, size, device }));
    const record = { pool, device, from, to, arrivals };
    executed.push(record);
    core.started(now, batch);
    plan(to, Rank.executed, () => {
      if (runningOn.get(device) !== batch || executed.findLast((e) => e.device === device) !== record) return;
      runningOn.delete(device);
      if (retiring.delete(device)) standBy(device);
      if (run.fails?.(arrivals, pool)) core.failed(now, batch);
      else {
        watched('executed', batch, from);
        core.executed(now, batch, from, to, ...verdictsOn(batch));
      }
      const next = waitingOn[device]!.shift();
      if (next !== undefined) begin(next, device);
    });
  };

  const rowsOf = (batch: number) =>
    Array.from({ length: core.batchSize(batch) }, (_, i) => {
      const task = core.batchTask(batch, i);
      const request = core.requestOf(task);
      return { arrival: arrivalOf.get(request)!, row: core.rowOf(task), isOpen: openOf.has(request) };
    });
  const verdictsOn = (batch: number): [] | [number[]] => {
    const { verdict } = run;
    const { edges: own } = run.topology.pools[core.batchPool(batch)]!;
    if (verdict === undefined || own.every(({ when }) => when.kind === 'always')) return [];
    return [rowsOf(batch).map(({ arrival, row }) => verdict(arrival, row, core.batchPool(batch)))];
  };
  const watched = (what: Watched['what'], batch: number, from: number) => {
    const pool = core.batchPool(batch);
    const to = what === 'transferred' && !areChained ? edges[core.batchEdge(batch)]!.to : undefined;
    run.watch?.({ what, pool, at: now, from, rows: rowsOf(batch), ...(to === undefined ? {} : { to }) });
  };

  const carryOut = () => {
    for (let i = 0; i < decisions.count; i++) {
      const a = decisions.a(i);
      const b = decisions.b(i);
      const c = decisions.c(i);
      switch (decisions.kind(i)) {
        case Decision.execute:
          execute(a, b);
          break;
        case Decision.transfer: {
          const from = now;
          const pool = run.topology.pools[core.batchPool(a)]!;
          const { transferNs } = areChained ? pool : edges[core.batchEdge(a)]!;
          plan(now + transferNs[core.batchSize(a) - 1]!, Rank.transferred, () => {
            watched('transferred', a, from);
            core.transferred(now, a, from, now);
          });
          break;
        }
        case Decision.answer:
          end(a, b === Answer.inTime ? 'inTime' : b === Answer.late ? 'late' : 'failed');
          break;
        case Decision.drop:
          end(a, 'dropped', { reason: DROP_REASONS[b] ?? '?', place: c });
          break;
        case Decision.wakeAt: {
          const token = ++timer;
          if (a <= now) throw new Error(`wake at ${a}, which is not after ${now}`);
          plan(a, Rank.due, () => token === timer && core.due(now));
          break;
        }
        case Decision.activate: {
          if (!onStandby.delete(a)) throw new Error('a device is activated that is in use');
          const token = Symbol();
          upAt.set(a, token);
          run.scaled?.(now, a, 'comesUp');
          plan(now + (run.activationDelayNs ?? 0) + 1, Rank.outside, () => {
            if (upAt.get(a) !== token) return;
            upAt.delete(a);
            run.scaled?.(now, a, 'up');
            core.deviceUp(now, a);
          });
          break;
        }
        case Decision.retire:
          if (onStandby.has(a)) throw new Error('a device is retired that is on standby');
          upAt.delete(a);
          isOut.delete(a);
          waitingOn[a] = [];
          collectedAt.clear();
          if (runningOn.has(a)) retiring.add(a);
          else standBy(a);
          break;
        case Decision.collect:
          collect(a, b);
          break;
        case Decision.shift: {
          const { routes } = run.topology;
          if (!('gears' in routes) || routes.gears.gears[a] === undefined || a === gear)
            throw new Error(`gear ${a} comes into force after gear ${gear}`);
          gear = a;
          break;
        }
        default:
          throw new Error('an unknown decision');
      }
    }
    decisions.clear();
  };

  for (let device = 0; device < run.topology.devices.length; device++)
    if (!onStandby.has(device)) core.deviceUp(0, device);
  core.decide(0);
  carryOut();
  run.arrivals.forEach((arrival, i) => {
    plan(arrival.at, Rank.outside, () => {
      const model = arrival.model ?? 0;
      const deadline = arrival.deadline ?? arrival.at + run.topology.models[model]!.sloNs;
      const rows = arrival.rows ?? 1;
      const shed = run.shed === true && core.wouldDrop(now, model, deadline, 0);
      const request = shed
        ? core.turnedAway(now, model)
        : core.arrived(now, model, deadline, rows, arrival.weight);
      if (openOf.has(request)) throw new Error('a number in use was given again');
      arrivalOf.set(request, i);
      openOf.add(request);
      for (let row = 0; row < rows && !shed; row++)
        if (core.requestOf(core.taskOf(request, row)) !== request)
          throw new Error('a task of another request');
      if (arrival.cancelAt === undefined) return;
      plan(arrival.cancelAt, Rank.outside, () => {
        if (!openOf.has(request) || arrivalOf.get(request) !== i) return;
        if (core.cancelled(now, request)) end(request, 'cancelled');
      });
    });
  });
  for (const outage of run.outages ?? []) {
    plan(outage.at, Rank.outside, () => {
      const { device } = outage;
      if (onStandby.has(device) || upAt.has(device)) return;
      runningOn.delete(device);
      waitingOn[device] = [];
      collectedAt.clear();
      if (retiring.delete(device)) standBy(device);
      else isOut.add(device);
      core.deviceDown(now, device);
    });
    if (outage.until !== undefined)
      plan(outage.until, Rank.outside, () => {
        if (isOut.delete(outage.device)) core.deviceUp(now, outage.device);
      });
  }
  if (run.drainAt !== undefined) plan(run.drainAt, Rank.outside, () => core.drain(now));

  while (happenings.length > 0) {
    now = happenings[0]!.at;
    for (let isMore = true; isMore; ) {
      const { rank, tell } = take();
      tell();
      const next = happenings[0];
      isMore = next?.at === now;
      const goesOn = rank === Rank.transferred && next?.rank === rank;
      if (isMore && (!run.decidesOnEnds || rank > Rank.executed || goesOn)) continue;
      core.decide(now);
      carryOut();
      isMore = happenings[0]?.at === now;
    }
  }
  if (openOf.size > 0) throw new Error(`${openOf.size} requests never ended`);
  if (ended.length !== run.arrivals.length) throw new Error('outcomes and arrivals differ in number');
  const left = bare.inUse;
  if (Object.values(left).some((count) => count !== 0))
    throw new Error(`slots leak: ${JSON.stringify(left)}`);
  return { ended, executed, core: bare };
}

function before(a: Happening, b: Happening): boolean {
  return a.at - b.at < 0 || (a.at === b.at && (a.rank - b.rank || a.order - b.order) < 0);
}

/** plannedNs is how long a device takes for a batch of a pool by the plan: by its class where the pool has several. */
export function plannedNs(
  { pools, devices }: Pick<StageTopology, 'pools' | 'devices'>,
  { pool, size, device }: { pool: number; size: number; device: number },
): number {
  const { latencyNs, classes } = pools[pool]!;
  return (classes?.[devices[device]!.poolClass!]?.latencyNs ?? latencyNs)[size - 1]!;
}
