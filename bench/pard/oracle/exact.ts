import { inTimeBound } from './bound.js';
import { leastLatencyNs, type OfflineProblem, type OfflineRoute, routeTimes } from './problem.js';
import { quickestNs } from './whole-batches.js';

/** More requests or stages than these are beyond what a search can try. */
const MOST_REQUESTS = 16;
const MOST_STAGES = 6;

/** Running is a batch that a worker executes. `members` has the bit of each request in it. */
interface Running {
  readonly stage: number;
  readonly members: number;
  readonly endNs: number;
}

/** State is what has become of requests at an instant. Sets of requests are numbers with a bit for each. */
interface State {
  readonly now: number;
  /** The requests that have ended each stage. */
  readonly done: readonly number[];
  readonly running: readonly Running[];
  /** Those that have ended all their stages, or cannot end them in time any more. */
  readonly gone: number;
  readonly inTime: number;
  /** By stage, how many workers have become free at this instant, and which requests waited while another was free before. */
  readonly freed: readonly number[];
  readonly waited: readonly number[];
  /** By request, those that are due later and went before it: it has to overtake them. */
  readonly passedBy: readonly number[];
}

/** ExactAnswer is the most requests that can be in time, and how many states were searched from to know it. */
export interface ExactAnswer {
  readonly most: number;
  readonly states: number;
}

/**
 * mostInTimeExactly finds the most requests that can be in time, by trying all that could be best: which requests are
 * executed in which batches, on which workers and when.
 *
 * Nothing is lost where batches begin only when a request comes or a batch ends: any schedule can be moved to the
 * left until each batch begins when its worker becomes free or its last request is there. So a batch of requests that
 * all waited while a worker was free begins only on a worker that has just become free. Nor is anything lost where a
 * request that will not be in time is never executed, since a smaller batch is no slower.
 *
 * Let two requests wait at stage k of a chain, and let the one that is due later, j, go before the other, i. A stage is
 * *orderly* where nobody overtakes, since it has one worker or its batches all take as long; let m be the last one from k on
 * that is not. If both are in time and j does not end m after i, then i could go on in the place of j up to m, and j in that
 * of i, and in the orderly stages afterwards i in the earlier of their places, and j in the later. So whoever stays behind
 * a request that is due later is given up, or has to end m before it.
 * @param mostStates so many states are searched from at most
 * @returns undefined where more states would have to be searched
 * @throws RangeError where the problem is too large, or has what the search does not know: transfers that take time,
 *   workers that come and go, and larger batches that are quicker
 */
export function mostInTimeExactly(
  problem: OfflineProblem,
  mostStates = Number.POSITIVE_INFINITY,
): ExactAnswer | undefined {
  refuseUnknown(problem);
  return new ExactSearch(problem, mostStates).answer();
}

function refuseUnknown({ stages, routes, arrivalNs }: OfflineProblem): void {
  const refuse = (why: string): never => {
    throw new RangeError(`Cannot find the most requests in time exactly: ${why}`);
  };
  if (arrivalNs.length > MOST_REQUESTS)
    refuse(`there are ${arrivalNs.length} requests, at most ${MOST_REQUESTS} are tried`);
  if (stages.length > MOST_STAGES)
    refuse(`there are ${stages.length} stages, at most ${MOST_STAGES} are tried`);
  if (routes.some(({ edges }) => edges.some(({ leastNs }) => leastNs > 0))) refuse('transfers take time');
  if (stages.some(({ workers }) => workers.count.length !== 1)) refuse('workers come and go');
  if (stages.some(({ latencyNs }) => latencyNs.some((ns, i) => i > 0 && ns < latencyNs[i - 1]!)))
    refuse('a larger batch is quicker than a smaller one');
}

/** Turn is where the choice of the batches of an instant is: its stage, the first member there may be, and the idle workers. */
interface Turn {
  readonly stage: number;
  readonly lowest: number;
  readonly idle: readonly number[];
}

class ExactSearch {
  private best = 0;
  /** The most that were in time at each state that was searched from. */
  private readonly searched = new Map<string, number>();
  private readonly requests: number;
  private readonly workers: readonly number[];
  private readonly leastNs: readonly number[];
  /** By stage, the requests that take it. */
  private readonly taking: readonly number[];
  /** By request and stage: the stages before it as bits, and the shortest time after it. */
  private readonly before: readonly Int32Array[];
  private readonly tailNs: readonly Float64Array[];
  /** The stages of each request as bits. */
  private readonly route: readonly number[];
  /** The request before each one with the same arrival, deadline and route, −1 where there is none. */
  private readonly twin: readonly number[];

  /** By stage, the shortest times in which one worker serves so many requests. */
  private readonly quickestNs: readonly Float64Array[];
  /** By stage, the requests in the order in which they have to end it. */
  private readonly byDue: readonly (readonly number[])[];
  private readonly bound: number;
  /** By request, the last of its stages that is not orderly: −1 where all are, undefined where its route is not a chain. */
  private readonly lastOvertaking: readonly (number | undefined)[];
  private states = 0;

  constructor(
    private readonly problem: OfflineProblem,
    private readonly mostStates: number,
  ) {
    const { stages, routes, routeOf, arrivalNs, deadlineNs } = problem;
    this.requests = arrivalNs.length;
    this.workers = stages.map(({ workers }) => workers.count[0]!);
    this.leastNs = stages.map(leastLatencyNs);
    const own = Array.from(routeOf, (route) => routes[route]!);
    this.route = own.map((route) => bits(route.stages));
    this.taking = stages.map((_, k) =>
      bits(own.flatMap((route, r) => (route.stages.includes(k) ? [r] : []))),
    );
    this.before = own.map(({ edges }) =>
      Int32Array.from(stages, (_, k) => bits(edges.flatMap(({ from, to }) => (to === k ? [from] : [])))),
    );
    this.tailNs = own.map((route) => routeTimes(stages, route).tailNs);
    this.quickestNs = stages.map((stage) => quickestNs(stage, this.requests));
    this.byDue = stages.map((_, k) =>
      own.map((_route, r) => r).sort((a, b) => this.dueNs(a, k) - this.dueNs(b, k)),
    );
    this.bound = inTimeBound(problem);
    const isOrderly = stages.map(
      ({ latencyNs }, k) => this.workers[k] === 1 || latencyNs.every((ns) => ns === latencyNs[0]),
    );
    const lasts = routes.map((route) =>
      isChain(route) ? Math.max(-1, ...route.stages.filter((k) => !isOrderly[k])) : undefined,
    );
    this.lastOvertaking = Array.from(routeOf, (route) => lasts[route]);
    const nameOf = (r: number) => `${arrivalNs[r]} ${deadlineNs[r]} ${routeOf[r]}`;
    this.twin = own.map((_, r) =>
      own.reduce((last, _other, i) => (i < r && nameOf(i) === nameOf(r) ? i : last), -1),
    );
  }

  /** dueNs is when a request has to end a stage at the latest. */
  private dueNs(r: number, stage: number): number {
    return this.problem.deadlineNs[r]! - this.tailNs[r]![stage]!;
  }

  answer(): ExactAnswer | undefined {
    const { stages, arrivalNs } = this.problem;
    const now = Math.min(...arrivalNs);
    const none = stages.map(() => 0);
    const passedBy = Array.from(arrivalNs, () => 0);
    const start = {
      done: none,
      running: [],
      gone: 0,
      inTime: 0,
      freed: this.workers,
      waited: none,
      passedBy,
    };
    if (this.requests > 0) this.at({ now, ...start });
    if (this.states > this.mostStates) return undefined;
    return { most: this.best, states: this.states };
  }

  /** at searches from an instant at which a request has come or a batch has ended. */
  private at(before: State): void {
    if (this.best === this.bound || this.states > this.mostStates) return;
    const state = this.settled(before);
    this.best = Math.max(this.best, state.inTime);
    if (state.inTime + this.mostOfLeft(state) <= this.best) return;
    const key = keyOf(state);
    if ((this.searched.get(key) ?? -1) >= state.inTime) return;
    this.searched.set(key, state.inTime);
    this.states += 1;
    this.start(state, { stage: 0, lowest: 0, idle: this.idleWorkers(state) });
  }

  private idleWorkers({ running }: State): number[] {
    return this.workers.map((workers, k) => workers - running.filter(({ stage }) => stage === k).length);
  }

  /** mostOfLeft bounds how many of those left can be in time: at no stage are more than its workers can serve from now on. */
  private mostOfLeft(state: State): number {
    const left = this.all() & ~state.gone;
    return this.workers.reduce(
      (least, _, stage) => Math.min(least, this.mostAt(state, stage, left)),
      count(left),
    );
  }

  /**
   * mostAt goes by what is due: of the requests that are due one after the other, no more are served than fit in whole batches
   * between the first start of any and the last end.
   */
  private mostAt(state: State, stage: number, left: number): number {
    const { now, done, running } = state;
    const here = running.filter((one) => one.stage === stage);
    let waiting = left & this.taking[stage]! & ~done[stage]!;
    for (const { members } of here) waiting &= ~members;
    const free = Array.from({ length: this.workers[stage]! }, (_, w) => here[w]?.endNs ?? now);
    const due = this.byDue[stage]!.filter((r) => (waiting >> r) & 1);
    const starts = due.map((r) => this.earliestNs(r, stage, state));
    const most = [0];
    for (let last = 0; last < due.length; last++) {
      const dueNs = this.dueNs(due[last]!, stage);
      let least = most[last]! + 1;
      let startNs = Number.POSITIVE_INFINITY;
      for (let first = last; first >= 0; first--) {
        startNs = Math.min(startNs, starts[first]!);
        if (most[first]! < least)
          least = Math.min(
            least,
            most[first]! + this.fitting(stage, free, { untilNs: dueNs, longestNs: dueNs - startNs }),
          );
      }
      most.push(least);
    }
    return count(left & ~waiting) + most[due.length]!;
  }

  /** fitting counts the requests that the workers of a stage can serve until an instant, in no more than so long. */
  private fitting(
    stage: number,
    free: readonly number[],
    { untilNs, longestNs }: { readonly untilNs: number; readonly longestNs: number },
  ): number {
    const quickest = this.quickestNs[stage]!;
    let fits = 0;
    for (const freeNs of free) {
      const timeNs = Math.min(longestNs, untilNs - freeNs);
      let each = 0;
      while (each < this.requests && quickest[each + 1]! <= timeNs) each += 1;
      fits += each;
    }
    return fits;
  }

  /** earliestNs is when a request can begin a stage that it has not begun. */
  private earliestNs(
    r: number,
    stage: number,
    { now, done, running }: Pick<State, 'now' | 'done' | 'running'>,
  ): number {
    let ns = Math.max(now, this.problem.arrivalNs[r]!);
    for (let k = 0; k < stage; k++) {
      if (((this.before[r]![stage]! >> k) & 1) === 0 || ((done[k]! >> r) & 1) === 1) continue;
      const runs = running.find((one) => one.stage === k && ((one.members >> r) & 1) === 1);
      const endNs = runs?.endNs ?? this.earliestNs(r, k, { now, done, running }) + this.leastNs[k]!;
      ns = Math.max(ns, endNs);
    }
    return ns;
  }

  /** settled ends the batches that are due, and finds who is in time and who cannot be any more. */
  private settled(state: State): State {
    const { now, done: before, running, gone, inTime } = state;
    const done = [...before];
    for (const { stage, members, endNs } of running) if (endNs <= now) done[stage]! |= members;
    const still = running.filter(({ endNs }) => endNs > now);
    let left = gone;
    let served = inTime;
    for (let r = 0; r < this.requests; r++) {
      if ((left >> r) & 1) continue;
      const ended = done.reduce((all, requests, k) => all | (((requests >> r) & 1) << k), 0);
      if (ended === this.route[r]) served += 1;
      else if (this.isAlive(r, { now, done, running: still, passedBy: state.passedBy })) continue;
      left |= 1 << r;
    }
    return {
      ...state,
      passedBy: state.passedBy.map((by, r) => (this.hasOvertaken(r, left, done) ? 0 : by & ~left)),
      done: done.map((requests) => requests & ~left),
      running: still.map((one) => ({ ...one, members: one.members & ~left })),
      gone: left,
      inTime: served,
    };
  }

  /** hasOvertaken tells whether nobody is left that a request has to overtake. */
  private hasOvertaken(r: number, gone: number, done: readonly number[]): boolean {
    const last = this.lastOvertaking[r] ?? -1;
    return ((gone >> r) & 1) === 1 || (last >= 0 && ((done[last]! >> r) & 1) === 1);
  }

  /** isAlive tells whether a request can be in time if all that waits of it begins as early as it can, and alone. */
  private isAlive(r: number, state: Pick<State, 'now' | 'done' | 'running' | 'passedBy'>): boolean {
    const { done, running } = state;
    return this.leastNs.every((ns, k) => {
      const isWaiting = ((this.taking[k]! >> r) & 1) === 1 && ((done[k]! >> r) & 1) === 0;
      if (!isWaiting || running.some((one) => one.stage === k && ((one.members >> r) & 1) === 1)) return true;
      return this.earliestNs(r, k, state) + ns <= this.latestNs(r, k, state);
    });
  }

  /** latestNs is when a request has to end a stage at the latest, in time and before those that it has to overtake there. */
  private latestNs(
    r: number,
    stage: number,
    { done, running, passedBy }: Pick<State, 'done' | 'running' | 'passedBy'>,
  ): number {
    const by = passedBy[r]!;
    const dueNs = this.dueNs(r, stage);
    if (by === 0 || stage !== this.lastOvertaking[r]) return dueNs;
    if ((by & done[stage]!) !== 0) return Number.NEGATIVE_INFINITY;
    return running.reduce(
      (least, one) =>
        one.stage === stage && (one.members & by) !== 0 ? Math.min(least, one.endNs - 1) : least,
      dueNs,
    );
  }

  /**
   * start chooses the batches that begin at this instant, stage by stage. Batches of one stage begin in the order of their
   * first members, since its workers are alike.
   */
  private start(state: State, turn: Turn): void {
    const { stage, lowest, idle } = turn;
    if (stage === this.workers.length) {
      this.goOn(state);
      return;
    }
    const { running, now, freed, waited } = state;
    if (idle[stage]! > 0) {
      const ready = this.ready(state, stage);
      for (const members of this.batches(state, { from: ready & ~((1 << lowest) - 1), ready, stage })) {
        const hasWaited = (members & ~waited[stage]!) === 0;
        if (hasWaited && freed[stage] === 0) continue;
        if (this.isOutOfOrder(members, ready, state, stage)) continue;
        const endNs = now + this.problem.stages[stage]!.latencyNs[count(members) - 1]!;
        this.start(
          {
            ...this.passed(state, { members, ready, stage }),
            running: [...running, { stage, members, endNs }],
            freed: hasWaited ? changed(freed, stage, freed[stage]! - 1) : freed,
          },
          {
            stage,
            lowest: Math.clz32(members & -members) ^ 31,
            idle: changed(idle, stage, idle[stage]! - 1),
          },
        );
      }
    }
    const waits = idle[stage]! > 0 ? this.ready(state, stage) : 0;
    this.start({ ...state, waited: changed(waited, stage, waits) }, { stage: stage + 1, lowest: 0, idle });
  }

  /**
   * isOutOfOrder tells whether a request that stays behind could take the place of one in the batch that is due later, where
   * this is the last that is left to do for both and it would be in time. The other could then take its place in turn, so
   * that a schedule which keeps the order is as good.
   */
  private isOutOfOrder(members: number, ready: number, { done, now }: State, stage: number): boolean {
    const endNs = now + this.problem.stages[stage]!.latencyNs[count(members) - 1]!;
    let isBehind = false;
    for (const r of this.byDue[stage]!) {
      if (((ready >> r) & 1) === 0 || endNs > this.problem.deadlineNs[r]!) continue;
      const ended = done.reduce((all, requests, k) => all | (((requests >> r) & 1) << k), 1 << stage);
      if (ended !== this.route[r]) continue;
      if (((members >> r) & 1) === 0) isBehind = true;
      else if (isBehind) return true;
    }
    return false;
  }

  /** passed keeps who stays behind a request of the batch that is due later, or gives it up where it cannot overtake any more. */
  private passed(
    state: State,
    { members, ready, stage }: { readonly members: number; readonly ready: number; readonly stage: number },
  ): State {
    const { routeOf } = this.problem;
    let { gone } = state;
    const passedBy = [...state.passedBy];
    let behind = 0;
    for (const r of this.byDue[stage]!) {
      if (((ready >> r) & 1) === 0 || this.lastOvertaking[r] === undefined) continue;
      if (((members >> r) & 1) === 0) behind |= 1 << r;
      else
        for (let left = behind; left !== 0; left &= left - 1) {
          const i = 31 - Math.clz32(left & -left);
          if (routeOf[i] !== routeOf[r]) continue;
          if (stage > this.lastOvertaking[i]!) gone |= 1 << i;
          else passedBy[i]! |= 1 << r;
        }
    }
    return { ...state, gone, passedBy };
  }

  /** goOn goes to the next instant at which a batch ends or a request comes. */
  private goOn(state: State): void {
    let next = Number.POSITIVE_INFINITY;
    for (const { endNs } of state.running) next = Math.min(next, endNs);
    for (const ns of this.problem.arrivalNs) if (ns > state.now) next = Math.min(next, ns);
    if (next === Number.POSITIVE_INFINITY) return;
    const freed = this.workers.map(
      (_, k) => state.running.filter(({ stage, endNs }) => stage === k && endNs === next).length,
    );
    this.at({ ...state, now: next, freed });
  }

  /** ready finds the requests that wait before a stage. */
  private ready({ now, done, running, gone }: State, stage: number): number {
    let ready = this.taking[stage]! & ~gone & ~done[stage]!;
    for (const one of running) if (one.stage === stage) ready &= ~one.members;
    for (let r = 0; r < this.requests; r++) {
      const isReady =
        this.problem.arrivalNs[r]! <= now &&
        done.every((ended, k) => ((this.before[r]![stage]! >> k) & 1) === 0 || ((ended >> r) & 1) === 1);
      if (!isReady) ready &= ~(1 << r);
    }
    return ready;
  }

  /** batches lists the batches of which every member can still be in time, the largest first. Of twins the first goes first. */
  private batches(
    state: State,
    { from, ready, stage }: { readonly from: number; readonly ready: number; readonly stage: number },
  ): number[] {
    const { latencyNs } = this.problem.stages[stage]!;
    const latestNs = this.route.map((_, r) => ((from >> r) & 1 ? this.latestNs(r, stage, state) : 0));
    const found: number[] = [];
    for (let members = from; members > 0; members = (members - 1) & from) {
      const size = count(members);
      if (size > latencyNs.length) continue;
      const endNs = state.now + latencyNs[size - 1]!;
      let isUseful = true;
      for (let r = 0; r < this.requests && isUseful; r++) {
        if (((members >> r) & 1) === 0) continue;
        const twin = this.twin[r]!;
        isUseful =
          endNs <= latestNs[r]! &&
          (stage !== this.lastOvertaking[r] || (state.passedBy[r]! & members) === 0) &&
          (twin < 0 || ((ready >> twin) & 1) === 0 || ((members >> twin) & 1) === 1);
      }
      if (isUseful) found.push(members);
    }
    return found.sort((a, b) => count(b) - count(a) || a - b);
  }

  private all(): number {
    return (1 << this.requests) - 1;
  }
}

function isChain({ stages, edges }: OfflineRoute): boolean {
  return (
    edges.length === stages.length - 1 &&
    stages.every(
      (stage, i) => i === 0 || edges.some(({ from, to }) => from === stages[i - 1] && to === stage),
    )
  );
}

function bits(places: readonly number[]): number {
  return places.reduce((all, place) => all | (1 << place), 0);
}

function count(set: number): number {
  let left = set;
  let ones = 0;
  for (; left !== 0; left &= left - 1) ones += 1;
  return ones;
}

function changed(all: readonly number[], at: number, to: number): number[] {
  return all.map((one, i) => (i === at ? to : one));
}

function keyOf({ now, done, running, gone, freed, waited, passedBy }: State): string {
  const batches = running.map(({ stage, members, endNs }) => `${stage} ${members} ${endNs}`).sort();
  // Where nobody waited, it does not matter which workers are free.
  const limits = waited.map((requests, k) => (requests === 0 ? '' : `${requests} ${freed[k]}`));
  return `${now}|${gone}|${done.join()}|${batches.join()}|${limits.join()}|${passedBy.join()}`;
}
