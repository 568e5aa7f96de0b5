import type { Visitors } from './flow.js';
import { addNearlySorted, type ListPart, mergeSorted } from './nearly-sorted.js';
import type { StageCandidate } from './problem.js';
import type { FreeTimes } from './replicas.js';

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
  /** Whether the stage was served anew. */
  readonly isNew: boolean;
  /** At index n, how long n rows of a batch are on their way; undefined where transfers take no time. */
  readonly transfersNs: Float64Array | undefined;
}

/** Scratch is memory that all stages use, one after another. */
export interface Scratch {
  /** For each request, which feed it waits for longest. */
  readonly source: Int8Array;
  readonly spare: Int32Array;
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
  /** The moment when the visit of each request ended; of those that do not visit, when that was known. */
  readonly ended: Float64Array;
  /** The requests that visit, in the order in which they are served. */
  private readonly order: Int32Array;
  /** Those that do not visit, in the order in which that was known. */
  private readonly absent: Int32Array;
  /** The moment when all edges that lead here have spoken for each request: what it waits for is there, or will not come. */
  private readonly ready: Float64Array;
  /** For each batch, the place in `order` after its last request. */
  private readonly batchEnds: Int32Array;
  private batches = 0;
  private setting: StageSetting | undefined;

  constructor(
    private readonly atNs: Float64Array,
    private readonly visitors: Visitors,
    private readonly scratch: Scratch,
  ) {
    this.ended = new Float64Array(atNs.length);
    this.ready = new Float64Array(atNs.length);
    this.order = new Int32Array(visitors.count);
    this.absent = visitors.absent.slice();
    this.batchEnds = new Int32Array(visitors.count);
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

  /** gather finds when each visit can begin, and puts the visits in that order. */
  private gather(feeds: readonly Feed[]): void {
    const { order, ready } = this;
    if (feeds.length === 0) {
      for (let r = 0; r < order.length; r++) {
        ready[r] = momentOf(this.atNs[r] as number);
        order[r] = r;
      }
      return;
    }
    ready.fill(-1);
    for (const [k, feed] of feeds.entries()) this.hear(feed, k);
    this.arrange(feeds);
  }

  /** arrange puts those that visit, and those that do not, in the order in which all edges have spoken for them. */
  private arrange(feeds: readonly Feed[]): void {
    const { order, absent, ready, visitors, scratch } = this;
    const { isVisited } = visitors;
    const { source, spare } = scratch;
    let visits = 0;
    let absences = 0;
    for (const [k, { run }] of feeds.entries())
      for (const heard of [run.order, run.absent]) {
        const [from, absentFrom] = [visits, absences];
        for (let i = 0; i < heard.length; i++) {
          const r = heard[i] as number;
          if (source[r] !== k) continue;
          if (isVisited[r] === 1) addNearlySorted(order, ready, { from, until: visits++, one: r });
          else addNearlySorted(absent, ready, { from: absentFrom, until: absences++, one: r });
        }
        if (from > 0) mergeSorted(order, ready, { from, until: visits, spare });
        if (absentFrom > 0) mergeSorted(absent, ready, { from: absentFrom, until: absences, spare });
      }
  }

  /** hear notes when an edge speaks, of each request for which none has spoken later. */
  private hear({ run, isTaken, transfersNs }: Feed, k: number): void {
    const { ready } = this;
    const { source } = this.scratch;
    let from = 0;
    for (let b = 0; b < run.batches; b++) {
      const until = run.batchEnds[b] as number;
      const ended = run.ended[run.order[from] as number] as number;
      const onWayNs =
        transfersNs === undefined
          ? 0
          : (transfersNs[rowsSent(run.order, isTaken, { from, until })] as number);
      const delivered = onWayNs > 0 ? ended + momentOf(onWayNs) : ended + DELIVERY;
      for (let i = from; i < until; i++) {
        const r = run.order[i] as number;
        const spoken = isTaken[r] === 1 ? delivered : ended;
        // Where several speak at once, it is because of the stage whose batch ends then: its order counts.
        if ((ready[r] as number) > spoken) continue;
        ready[r] = spoken;
        source[r] = k;
      }
      from = until;
    }
    const { absent } = run;
    for (let i = 0; i < absent.length; i++) {
      const r = absent[i] as number;
      const spoken = run.ended[r] as number;
      if ((ready[r] as number) >= spoken) continue;
      ready[r] = spoken;
      source[r] = k;
    }
  }

  private run({ candidate: { latencyNs }, batch, replicas }: StageSetting): void {
    const { order, ready, ended, batchEnds } = this;
    const { free } = this.scratch;
    const visits = order.length;
    const isAlwaysFree = replicas >= visits;
    free.reset(isAlwaysFree ? 1 : replicas);
    let batches = 0;
    let i = 0;
    while (i < visits) {
      const start = Math.max(isAlwaysFree ? 0 : free.first, ready[order[i] as number] as number);
      const most = Math.min(visits, i + batch);
      let until = i + 1;
      while (until < most && (ready[order[until] as number] as number) <= start) until++;
      const stop = momentOf(Math.floor(start / 2) + (latencyNs[until - i - 1] as number));
      for (; i < until; i++) ended[order[i] as number] = stop;
      batchEnds[batches++] = until;
      if (!isAlwaysFree) free.occupy(stop);
    }
    this.batches = batches;
    const { absent } = this;
    for (let k = 0; k < absent.length; k++) ended[absent[k] as number] = ready[absent[k] as number] as number;
  }
}

/** rowsSent counts those of a batch that go along an edge. */
function rowsSent(order: Int32Array, isTaken: Uint8Array, { from, until }: ListPart): number {
  let rows = 0;
  for (let i = from; i < until; i++) rows += isTaken[order[i] as number] as number;
  return rows;
}
