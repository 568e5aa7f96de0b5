import { NONE as SHARED_NONE } from '../../collections/index.js';
import type { Durations } from '../state/index.js';
import { fullBatches, mostStages, type ServedModel, type Topology } from '../topology.js';
import type { Booking } from './booking.js';
import { Path } from './path.js';
import { EVERY_ARRIVAL, type LateSingleRule, type ReservationPolicy } from './policy.js';
import type { ReservationState } from './reservation-state.js';

const NONE = SHARED_NONE;

/** MOST_DEBT limits how far a pipeline can be behind its share, in full batches. */
const MOST_DEBT = 64;

const SHUNS_LATE_SINGLES: { readonly [K in LateSingleRule]: boolean } = {
  'as-others': false,
  shunned: true,
};

/**
 * Dispatcher finds, for the oldest request of a model, the pipeline and the largest batch that is done in
 * time (PPipe A.3, Algorithm 1). It decides nothing by itself: `offer` leaves its answer in `entry` and
 * `path`.
 */
export class Dispatcher {
  readonly path: Path;
  /** `entry` is the entry of the pipeline offered last. */
  entry = NONE;
  /** `probes` is the number of probes so far. */
  probes = 0;
  /**
   * `planned` is the largest batch of each pipeline, by its entry: the least of its stages' planned batches.
   */
  readonly planned: Int32Array;
  /** `mostPlanned` is the largest of `planned`. */
  readonly mostPlanned: number;
  /** `startsAt` is when a full batch of each pipeline would start, with all its waiting at the beginning. */
  private readonly startsAt: Float64Array;
  /**
   * `changed` is 1 for each pipeline to which a batch was dispatched since it was last probed or estimated.
   */
  private readonly changed: Uint8Array;
  private probedAt = -1;
  private probedEntry = NONE;
  private probedSize = 0;
  private found = false;
  /** `behind` is how many requests each pipeline is behind its planned share of those dispatched. */
  private readonly behind: Float64Array;
  private readonly share: Float64Array;

  private readonly topology: Topology;
  private readonly durations: Durations;
  private readonly reviewsAll: boolean;
  private readonly shunsLateSingles: boolean;

  constructor(
    { topology, durations }: Pick<ReservationState, 'topology' | 'durations'>,
    private readonly policy: ReservationPolicy,
    private readonly booking: Booking,
  ) {
    const { pools, models } = topology;
    this.topology = topology;
    this.durations = durations;
    this.reviewsAll = EVERY_ARRIVAL[policy.review];
    this.shunsLateSingles = SHUNS_LATE_SINGLES[policy.lateSingles];
    this.path = new Path(mostStages(pools));
    this.planned = fullBatches(pools);
    this.mostPlanned = this.planned.reduce((most, batch) => Math.max(most, batch), 1);
    this.startsAt = new Float64Array(pools.length);
    this.changed = new Uint8Array(pools.length).fill(1);
    this.behind = new Float64Array(pools.length);
    this.share = Float64Array.from(
      pools,
      ({ model, throughputRps }) => throughputRps / (models[model]?.throughputRps as number),
    );
  }

  /**
   * offer finds a pipeline and a batch size for the oldest request of a model.
   * @param firstSight whether the request has only now become the oldest
   * @param most the largest batch wanted
   * @returns the size of the batch, 0 where the request is to be dropped
   */
  offer(at: number, model: number, deadline: number, firstSight: boolean, most: number): number {
    const entries = this.topology.models[model]?.entries as number[];
    this.entry = this.leastWaiting(at, model, deadline);
    if (this.entry === NONE) return 0;
    const size = this.largest(at, this.entry, deadline, firstSight, most);
    if (size > 0 || !this.policy.askOthers) return size;
    return this.askOthers(at, entries, deadline, firstSight, most);
  }

  /**
   * leastWaiting takes the pipeline whose full batch waits least. The wait follows from the pipeline's last
   * probe and, after a batch was dispatched to it, from when its devices are free. The pipeline that is
   * chosen is then probed.
   */
  private leastWaiting(at: number, model: number, deadline: number): number {
    const { entries, sloNs } = this.topology.models[model] as ServedModel;
    if (entries.length === 1) return entries[0] as number;
    let best = NONE;
    let least = Number.POSITIVE_INFINITY;
    for (const entry of entries) {
      const planned = this.planned[entry] as number;
      if (this.reviewsAll) this.probe(at, entry, planned);
      else if (this.changed[entry] === 1) this.estimate(entry, planned);
      let wait = Math.max(0, (this.startsAt[entry] as number) - at);
      if (planned === 1 && this.shunsLateSingles && at + wait + this.durations.workNs(entry, 1) > deadline)
        wait += sloNs;
      if (wait >= least) continue;
      least = wait;
      best = entry;
    }
    return best;
  }

  private estimate(entry: number, planned: number): void {
    const free = this.booking.freeFrom(entry, planned);
    this.startsAt[entry] = Math.max(this.startsAt[entry] as number, free);
    this.changed[entry] = 0;
  }

  /**
   * askOthers takes, among the other pipelines in which some batch is in time, the one furthest behind its
   * share.
   */
  private askOthers(
    at: number,
    entries: number[],
    deadline: number,
    firstSight: boolean,
    most: number,
  ): number {
    const asked = this.entry;
    let best = 0;
    let chosen = asked;
    for (const entry of entries) {
      if (entry === asked) continue;
      const size = this.largest(at, entry, deadline, firstSight, most);
      if (size === 0) continue;
      if (best > 0 && (this.behind[entry] as number) <= (this.behind[chosen] as number)) continue;
      best = size;
      chosen = entry;
    }
    this.entry = chosen;
    if (best > 0) this.probe(at, chosen, best);
    return best;
  }

  /**
   * largest is the largest batch that is in time in a pipeline, 0 where none is. The path is left as probed
   * for it.
   */
  largest(at: number, entry: number, deadline: number, firstSight: boolean, most: number): number {
    const planned = Math.min(most, this.planned[entry] as number);
    if (this.inTime(at, entry, planned, deadline)) return planned;
    const least = firstSight ? this.leastAtFirstSight(at, entry, planned, deadline) : 1;
    for (let size = planned - 1; size >= least; size--) {
      if (this.inTime(at, entry, size, deadline)) return size;
    }
    return 0;
  }

  private leastAtFirstSight(at: number, entry: number, planned: number, deadline: number): number {
    const { firstSight } = this.policy;
    switch (firstSight.kind) {
      case 'never':
        return 1;
      case 'nearly-full':
        return shareOf(firstSight.share, planned);
      case 'queueing': {
        const nearlyFull = shareOf(firstSight.share, planned);
        return at + this.durations.workNs(entry, nearlyFull) <= deadline ? nearlyFull : 1;
      }
    }
  }

  private inTime(at: number, entry: number, size: number, deadline: number): boolean {
    return this.probe(at, entry, size) && this.path.finish <= deadline;
  }

  private probe(at: number, entry: number, size: number): boolean {
    if (this.probedAt === at && this.probedEntry === entry && this.probedSize === size) return this.found;
    this.probes += 1;
    this.found = this.booking.probe(this.path, entry, size, 0, at);
    this.probedAt = at;
    this.probedEntry = entry;
    this.probedSize = size;
    if (size === this.planned[entry])
      this.startsAt[entry] = this.found ? at + this.path.waitNs : Number.POSITIVE_INFINITY;
    return this.found;
  }

  /** stale forgets the last probe, since devices or links have changed although time has not passed. */
  stale(): void {
    this.probedAt = -1;
  }

  /** devicesChanged forgets when pipelines could start, since devices came or went. */
  devicesChanged(): void {
    this.changed.fill(1);
    this.startsAt.fill(0);
  }

  /** dispatched reports that a batch was dispatched. */
  dispatched(model: number, entry: number, size: number): void {
    this.stale();
    this.changed[entry] = 1;
    const entries = this.topology.models[model]?.entries as number[];
    if (entries.length === 1) return;
    for (const other of entries) {
      const behind = (this.behind[other] as number) + size * (this.share[other] as number);
      // The limit keeps a pipeline that was long out of use from getting every request until it has caught
      // up.
      this.behind[other] = Math.min(behind, MOST_DEBT * (this.planned[other] as number));
    }
    this.behind[entry]! -= size;
  }
}

/** shareOf is a share of the planned batch as a whole number, at least 1. */
function shareOf(share: number, planned: number): number {
  return Math.max(1, Math.round(share * planned));
}
