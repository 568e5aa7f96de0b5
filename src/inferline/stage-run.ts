import type { Visitors } from './flow.js';
import type { StageCandidate } from './problem.js';
import type { FreeTimes } from './replicas.js';
import { RequestQueue } from './request-queue.js';

/** StageSetting says how a stage is served. */
export interface StageSetting {
  readonly candidate: StageCandidate;
  /** The largest batch. */
  readonly batch: number;
  readonly replicas: number;
}

/** Feed is a stage before, with what it sends along an edge. */
export interface Feed {
  readonly run: StageRun;
  /** For each request, 1 where it goes along the edge. */
  readonly isTaken: Uint8Array;
  /** isNew says whether the stage was served anew. */
  readonly isNew: boolean;
  /** At index n, how long n rows of a batch are on their way; undefined where transfers take no time. */
  readonly transfersNs: Float64Array | undefined;
}

/** Scratch is memory that all stages use, one after another. */
export interface Scratch {
  /** For each request, the latest moment at which a feed spoke for it. */
  readonly ready: Float64Array;
  /** For each request, which feed spoke then. */
  readonly source: Int8Array;
  /** The queues that are merged into the visits and the absences of a stage. */
  readonly visits: RequestQueue;
  readonly absences: RequestQueue;
  readonly free: FreeTimes;
}

/**
 * Moments order what happens within a nanosecond as drivers do: 2t is when executions end and requests arrive at t, and
 * 2t + 1 when what these send without delay is delivered. A device that falls free at 2t does not see that yet.
 */
const momentOf = (ns: number): number => 2 * ns;
const DELIVERY = 1;

/** StageRun serves the visits of one stage, and keeps what came of it until something changes. */
export class StageRun {
  /**
   * The requests that visit, in the order in which they are served, with the moment when all edges that lead here have
   * spoken for each: what it waits for is there, or will not come.
   */
  private readonly visits: RequestQueue;
  /** The requests that do not visit, with the moment when that was known. */
  private readonly absences: RequestQueue;
  /** For each batch, the place in `visits` after its last request. */
  private readonly batchEnds: Int32Array;
  /** For each batch, the moment when it ended. */
  private readonly batchStops: Float64Array;
  private batches = 0;
  private setting: StageSetting | undefined;

  constructor(
    private readonly atNs: Float64Array,
    private readonly visitors: Visitors,
    private readonly scratch: Scratch,
  ) {
    const { count } = visitors;
    this.visits = new RequestQueue(count);
    this.absences = new RequestQueue(atNs.length - count);
    this.batchEnds = new Int32Array(count);
    this.batchStops = new Float64Array(count);
  }

  /**
   * serve serves the stage, unless neither its setting nor what feeds it has changed.
   * @returns whether it was served
   */
  serve(feeds: readonly Feed[], setting: StageSetting): boolean {
    const before = this.setting;
    // On another class, transfers to this stage may take longer.
    const isMoved = before?.candidate !== setting.candidate;
    const isFedAnew =
      before === undefined || feeds.some((feed) => feed.isNew || (isMoved && feed.transfersNs));
    if (!isFedAnew && !isMoved && before.batch === setting.batch && before.replicas === setting.replicas)
      return false;
    this.setting = setting;
    if (isFedAnew) this.gather(feeds);
    this.run(setting);
    return true;
  }

  /**
   * fold notes when the last visit of each request ended that led to this stage, where no other has noted a later one.
   * A request that does not visit ended where that was known.
   */
  fold(latencyNs: Float64Array): void {
    const { atNs, batchEnds, batchStops, visits, absences } = this;
    const { requests } = visits;
    let i = 0;
    for (let b = 0; b < this.batches; b++) {
      const until = batchEnds[b] as number;
      const endNs = (batchStops[b] as number) / 2;
      for (; i < until; i++) {
        const r = requests[i] as number;
        const tookNs = endNs - (atNs[r] as number);
        if (tookNs > (latencyNs[r] as number)) latencyNs[r] = tookNs;
      }
    }
    for (let k = 0; k < absences.length; k++) {
      const r = absences.requests[k] as number;
      const tookNs = (absences.moments[k] as number) / 2 - (atNs[r] as number);
      if (tookNs > (latencyNs[r] as number)) latencyNs[r] = tookNs;
    }
  }

  /** mostBusy counts the replicas that are busy at once, at most, where the stage has one for each visit: none waits. */
  mostBusy(): number {
    const { batchEnds, batchStops, batches } = this;
    const stops = batchStops.slice(0, batches).sort();
    let [ended, most] = [0, 0];
    for (let b = 0; b < batches; b++) {
      const begun = this.visits.moments[b === 0 ? 0 : (batchEnds[b - 1] as number)] as number;
      while ((stops[ended] as number) <= begun) ended++;
      most = Math.max(most, b + 1 - ended);
    }
    return most;
  }

  /** gather finds when each visit can begin, and puts the visits in that order. */
  private gather(feeds: readonly Feed[]): void {
    const { visits, absences, scratch } = this;
    visits.length = 0;
    absences.length = 0;
    const [first] = feeds;
    if (first === undefined) {
      for (let r = 0; r < this.atNs.length; r++)
        visits.addNearlySorted(r, momentOf(this.atNs[r] as number), 1);
      return;
    }
    if (feeds.length === 1) {
      this.follow(first);
      return;
    }
    for (const [k, feed] of feeds.entries()) this.hear(feed, k);
    for (const [k, { run }] of feeds.entries())
      for (const heard of [run.visits, run.absences]) {
        scratch.visits.length = 0;
        scratch.absences.length = 0;
        this.collect(heard, k);
        visits.merge(scratch.visits);
        absences.merge(scratch.absences);
      }
  }

  /** follow takes the requests of the only stage before, in the order in which it served them. */
  private follow(feed: Feed): void {
    const { run, isTaken } = feed;
    const { visits, absences } = this;
    const { requests } = run.visits;
    let i = 0;
    for (let b = 0; b < run.batches; b++) {
      const until = run.batchEnds[b] as number;
      const ended = run.batchStops[b] as number;
      const delivered = run.deliveredAt(b, feed);
      for (; i < until; i++) {
        const r = requests[i] as number;
        const taken = isTaken[r] as number;
        visits.addNearlySorted(r, delivered, taken);
        absences.addNearlySorted(r, ended, 1 - taken);
      }
    }
    absences.merge(run.absences);
  }

  /** hear notes when an edge speaks, of each request for which none has spoken later. */
  private hear(feed: Feed, k: number): void {
    const { run, isTaken } = feed;
    const { ready, source } = this.scratch;
    const { requests } = run.visits;
    let i = 0;
    for (let b = 0; b < run.batches; b++) {
      const until = run.batchEnds[b] as number;
      const ended = run.batchStops[b] as number;
      const delivered = run.deliveredAt(b, feed);
      for (; i < until; i++) {
        const r = requests[i] as number;
        const spoken = isTaken[r] === 1 ? delivered : ended;
        // Where several speak at once, it is because of the stage whose batch ends then: its order counts.
        if (k > 0 && (ready[r] as number) > spoken) continue;
        ready[r] = spoken;
        source[r] = k;
      }
    }
    const { requests: absent, moments, length } = run.absences;
    for (let n = 0; n < length; n++) {
      const r = absent[n] as number;
      const spoken = moments[n] as number;
      if (k > 0 && (ready[r] as number) >= spoken) continue;
      ready[r] = spoken;
      source[r] = k;
    }
  }

  /** deliveredAt gives the moment when what a batch of this stage sends along an edge is there. */
  private deliveredAt(b: number, { isTaken, transfersNs }: Feed): number {
    const { batchEnds } = this;
    const ended = this.batchStops[b] as number;
    if (transfersNs === undefined) return ended + DELIVERY;
    const { requests } = this.visits;
    let rows = 0;
    for (let i = b === 0 ? 0 : (batchEnds[b - 1] as number); i < (batchEnds[b] as number); i++)
      rows += isTaken[requests[i] as number] as number;
    const onWayNs = transfersNs[rows] as number;
    return onWayNs > 0 ? ended + momentOf(onWayNs) : ended + DELIVERY;
  }

  /** collect lists those requests of a feed for which it spoke last: those that visit, and those that do not. */
  private collect({ requests, length }: RequestQueue, k: number): void {
    const { isVisited } = this.visitors;
    const { ready, source, visits, absences } = this.scratch;
    for (let i = 0; i < length; i++) {
      const r = requests[i] as number;
      const isLast = Number(source[r] === k);
      const moment = ready[r] as number;
      const visiting = isLast & (isVisited[r] as number);
      visits.addNearlySorted(r, moment, visiting);
      absences.addNearlySorted(r, moment, isLast - visiting);
    }
  }

  private run({ candidate: { latencyNs }, batch, replicas }: StageSetting): void {
    const { batchEnds, batchStops } = this;
    const { moments, length: visits } = this.visits;
    const { free } = this.scratch;
    const isAlwaysFree = replicas >= visits;
    free.reset(isAlwaysFree ? 1 : replicas);
    let batches = 0;
    let i = 0;
    while (i < visits) {
      const start = Math.max(isAlwaysFree ? 0 : free.first, moments[i] as number);
      const most = Math.min(visits, i + batch);
      let until = i + 1;
      while (until < most && (moments[until] as number) <= start) until++;
      const stop = momentOf(Math.floor(start / 2) + (latencyNs[until - i - 1] as number));
      i = until;
      batchEnds[batches] = until;
      batchStops[batches++] = stop;
      if (!isAlwaysFree) free.occupy(stop);
    }
    this.batches = batches;
  }
}
