import type { Stream } from '../../../src/random/index.js';

/** Engine says how plainEngine serves: as one of the engines whose schedulers it computes again. */
export type Engine =
  | { readonly name: 'ray-serve'; readonly gatherNs: number }
  | { readonly name: 'ray-serve-batch'; readonly timeoutNs: number; readonly requestTimeoutNs: number }
  | { readonly name: 'triton'; readonly delayNs: number };

export interface PlainStage {
  readonly replicas: number;
  readonly batch: number;
  /** How long a batch of each size takes, from 1 on. */
  readonly latencyNs: readonly number[];
}

export interface PlainRun {
  readonly engine: Engine;
  readonly stages: readonly PlainStage[];
  readonly arrivals: readonly number[];
  readonly sloNs: number;
  readonly draws: Stream;
}

/** PlainEnd is what became of a request, and when. */
export interface PlainEnd {
  readonly what: 'answered' | 'dropped';
  readonly at: number;
}

interface Batch {
  readonly requests: number[];
  readonly begunAt: number;
  size: number;
}

interface Replica {
  /** What waits: batches of `@serve.batch`, and of others one request each. */
  waiting: Batch[];
  running: { readonly requests: readonly number[]; readonly endsAt: number } | undefined;
}

interface Stage extends PlainStage {
  readonly index: number;
  /** One for each replica, or one for all of them. */
  readonly queues: Replica[];
  readonly idle: { at: number; count: number };
  running: { readonly requests: readonly number[]; readonly endsAt: number; readonly replica: number }[];
}

/**
 * plainEngine serves a chain of stages as an engine does, one instant after the other, in lists. It shares nothing with
 * the core but the draws. All times must differ, but for those that follow from one another.
 */
export function plainEngine({ engine, stages: shapes, arrivals, sloNs, draws }: PlainRun): PlainEnd[] {
  const ends: PlainEnd[] = [];
  const sum = shapes.reduce((all, { batch, latencyNs }) => all + latencyNs[batch - 1]!, 0);
  const stages = shapes.map((shape, index): Stage => {
    const queues = engine.name === 'triton' ? 1 : shape.replicas;
    return {
      ...shape,
      index,
      queues: Array.from({ length: queues }, () => ({ waiting: [], running: undefined })),
      idle: { at: 0, count: shape.replicas },
      running: [],
    };
  });
  const cameTo = new Map<number, number>();
  const open = new Set<number>();
  /** A later stage with smaller batches gets one of those. */
  const full = (from: number, rows: number): number =>
    shapes.slice(from).reduce(
      ({ ns, size }, { batch, latencyNs }) => {
        const fits = Math.min(size, batch);
        return { ns: ns + latencyNs[fits - 1]!, size: fits };
      },
      { ns: 0, size: rows },
    ).ns;
  const alone = (from: number) => shapes.slice(from).reduce((all, { latencyNs }) => all + latencyNs[0]!, 0);
  const ended = (request: number) => ends[request] !== undefined;
  const end = (request: number, what: PlainEnd['what'], at: number) => {
    ends[request] = { what, at };
    open.delete(request);
  };
  const isBusy = (stage: Stage, replica: number) => stage.running.some((one) => one.replica === replica);
  const ongoing = (stage: Stage, replica: number): number => {
    const waiting = stage.queues[replica]!.waiting.flatMap(({ requests }) => requests);
    const running = stage.running.filter((one) => one.replica === replica).flatMap((one) => one.requests);
    return [...waiting, ...running].filter((request) => !ended(request)).length;
  };
  const choose = (stage: Stage): number => {
    if (engine.name === 'triton' || stage.replicas === 1) return 0;
    const first = draws.integer(stage.replicas);
    const others = stage.queues.map((_, k) => k).filter((k) => k !== first);
    const second = others[draws.integer(stage.replicas - 1)]!;
    return ongoing(stage, second) < ongoing(stage, first) ? second : first;
  };
  const comesTo = (at: number, stage: Stage, request: number) => {
    const { waiting } = stage.queues[choose(stage)]!;
    cameTo.set(request, at);
    const last = waiting.at(-1);
    if (
      engine.name === 'ray-serve-batch' &&
      last !== undefined &&
      last.size < stage.batch &&
      at <= last.begunAt + engine.timeoutNs
    ) {
      last.requests.push(request);
      last.size += 1;
    } else waiting.push({ requests: [request], begunAt: at, size: 1 });
  };

  /** givenUpAt is when the first that waits is given up, if nothing happens before. */
  const givenUpAt = (stage: Stage, { waiting }: Replica): number => {
    const first = waiting[0]?.requests[0];
    if (engine.name !== 'ray-serve' || first === undefined) return Infinity;
    return arrivals[first]! + sloNs - alone(stage.index) + 1;
  };
  const timesOutAt = (request: number) =>
    engine.name === 'ray-serve-batch' ? arrivals[request]! + engine.requestTimeoutNs + 1 : Infinity;
  const startsAt = (stage: Stage, { waiting }: Replica): number => {
    const first = waiting[0];
    if (first === undefined) return Infinity;
    switch (engine.name) {
      case 'ray-serve':
        return waiting.length >= stage.batch ? first.begunAt : first.begunAt + engine.gatherNs;
      case 'ray-serve-batch':
        return first.size === stage.batch || waiting.length > 1
          ? first.begunAt
          : first.begunAt + engine.timeoutNs;
      case 'triton':
        return waiting.length >= stage.batch ? first.begunAt : first.begunAt + engine.delayNs;
    }
  };
  const serve = (at: number, stage: Stage, k: number) => {
    const queue = stage.queues[k]!;
    const { waiting } = queue;
    const isFree = () =>
      engine.name === 'triton' ? stage.running.length < stage.replicas : !isBusy(stage, k);
    for (;;) {
      const first = waiting[0];
      if (first === undefined) return;
      const [request] = first.requests;
      if (request === undefined) {
        // All have left the batch. It takes others while it is open.
        if (at < startsAt(stage, queue)) return;
        waiting.shift();
        continue;
      }
      if (engine.name === 'ray-serve' && at >= givenUpAt(stage, queue)) {
        waiting.shift();
        end(request, 'dropped', at);
        continue;
      }
      if (!isFree()) return;
      if (
        engine.name === 'ray-serve' &&
        waiting.length > stage.batch &&
        at + full(stage.index, stage.batch) > arrivals[request]! + sloNs
      ) {
        waiting.shift();
        end(request, 'dropped', at);
        continue;
      }
      if (engine.name === 'triton') {
        const part = ((sloNs - alone(0)) * stage.latencyNs[stage.batch - 1]!) / sum;
        if (at - cameTo.get(request)! > part) {
          waiting.shift();
          end(request, 'dropped', at);
          continue;
        }
      }
      if (at < startsAt(stage, queue)) return;
      const count = engine.name === 'ray-serve-batch' ? 1 : Math.min(stage.batch, waiting.length);
      const requests = waiting.splice(0, count).flatMap((batch) => batch.requests);
      stage.running.push({ requests, endsAt: at + stage.latencyNs[requests.length - 1]!, replica: k });
    }
  };

  let next = 0;
  for (;;) {
    let at = arrivals[next] ?? Infinity;
    for (const stage of stages) {
      for (const { endsAt } of stage.running) at = Math.min(at, endsAt);
      stage.queues.forEach((queue, k) => {
        at = Math.min(at, givenUpAt(stage, queue));
        const isFree = engine.name === 'triton' ? stage.running.length < stage.replicas : !isBusy(stage, k);
        if (isFree) at = Math.min(at, startsAt(stage, queue));
      });
    }
    for (const request of open) at = Math.min(at, timesOutAt(request));
    if (at === Infinity) return ends;
    for (const stage of stages) {
      const done = stage.running.filter(({ endsAt }) => endsAt === at);
      stage.running = stage.running.filter(({ endsAt }) => endsAt !== at);
      for (const { requests } of done)
        for (const request of requests) {
          if (ended(request)) continue;
          const following = stages[stage.index + 1];
          if (following === undefined) end(request, 'answered', at);
          else comesTo(at, following, request);
        }
    }
    for (; arrivals[next] === at; next++) {
      open.add(next);
      comesTo(at, stages[0]!, next);
    }
    for (const request of open) {
      if (timesOutAt(request) > at) continue;
      end(request, 'dropped', at);
      for (const { queues } of stages)
        for (const { requests } of queues.flatMap(({ waiting }) => waiting))
          if (requests.includes(request)) requests.splice(requests.indexOf(request), 1);
    }
    for (const stage of stages) for (const k of stage.queues.keys()) serve(at, stage, k);
  }
}
