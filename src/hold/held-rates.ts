import { itemAt } from '../collections/index.js';
import type { RunsFigure } from '../metrics/index.js';
import { Judge, type SimulatedRates } from './judge.js';

/** RateSearch asks for the largest rates that a plan holds. Lists are by model. */
export interface RateSearch {
  /** The planned rates. A model whose rate is 0 is not served, and holds none. */
  readonly plannedRps: readonly number[];
  /** The share of requests that must be in time. */
  readonly attainment: readonly number[];
  /** The rates that are tried first. */
  readonly startRps: readonly number[];
  /** The precision at which the search ends, as a share of the rate. */
  readonly precision: number;
  readonly seeds: readonly number[];
  /**
   * `mean` asks for the mean attainment over the seeds. `lower-end` asks for the lower end of its confidence interval,
   * and for all models at once at the rates that are given back.
   */
  readonly judge: 'mean' | 'lower-end';
  /** Rates that are enough: no larger one is looked for. */
  readonly enoughRps?: readonly number[];
  /** Rates that all models must hold together, else the plan is of no interest, and is taken to hold nothing. */
  readonly leastRps?: readonly number[];
}

/** EndingSearch is a search that may be ended between two rates, and then says nothing. */
export interface EndingSearch extends RateSearch {
  readonly isOver: () => boolean;
}

/** HeldRates holds the largest rates that a plan was seen to hold, by model, and the requests that it took to see it. */
export interface HeldRates {
  readonly heldRps: readonly number[];
  /** The attainment at these rates, of models that are served; only where lower ends were asked for. */
  readonly attainment: readonly (RunsFigure | undefined)[];
  readonly requests: number;
}

/** A model that does not hold this share of its planned rate is taken to hold nothing. */
const LEAST_OF_PLANNED = 0.05;
/** How often rates that hold one by one, and not together, are lowered. */
const MOST_LOWERED = 20;

/**
 * mostHeldRps gives the largest rate of which pools can serve a share in time for long. A single run may have more in time, by
 * chance and as the queues at its end are served after its last arrival.
 */
export function mostHeldRps(plannedRps: number, attainment: number): number {
  return plannedRps / attainment;
}

/**
 * heldRates finds the largest rate of every model at which its attainment is reached, by bisection of all models at the
 * same time: models share no devices, and hardly disturb one another over links. The search takes attainment to fall
 * with the rate. Runs of one seed at two rates draw the same gaps, closer together.
 * @returns undefined where `isOver` ended the search before the rates were known
 */
export function heldRates(simulate: SimulatedRates, search: EndingSearch): Promise<HeldRates | undefined>;
export function heldRates(simulate: SimulatedRates, search: RateSearch): Promise<HeldRates>;
export async function heldRates(
  simulate: SimulatedRates,
  search: RateSearch & Partial<EndingSearch>,
): Promise<HeldRates | undefined> {
  const { isOver = () => false } = search;
  if (isOver()) return undefined;
  const { plannedRps, startRps, attainment, precision, enoughRps, leastRps, judge: judgedBy } = search;
  const judge = new Judge(simulate, search);
  if (leastRps !== undefined && !(await holdsLeast(judge, leastRps, search))) {
    const nothing = plannedRps.map(() => 0);
    return { heldRps: nothing, attainment: nothing.map(() => undefined), requests: judge.requests };
  }
  const brackets = plannedRps.map(
    (planned, m) =>
      new Bracket(planned, {
        start: itemAt(startRps, m),
        wanted: itemAt(attainment, m),
        precision,
        enough: enoughRps?.[m],
        held: leastRps?.[m] ?? 0,
        interpolates: judgedBy === 'lower-end',
      }),
  );
  while (brackets.some((bracket) => !bracket.isClosed)) {
    const rps = brackets.map((bracket) => bracket.next);
    // Where no model that is still open can reach its share any more, the other seeds change nothing.
    const { reached } = await judge.judged(rps, (isLost) =>
      brackets.every((one, m) => one.isClosed || isLost(m)),
    );
    for (const [m, bracket] of brackets.entries()) bracket.learn(reached[m] as number);
    if (isOver() && brackets.some((bracket) => !bracket.isClosed)) return undefined;
  }
  const heldRps = brackets.map(({ low }) => low);
  if (judgedBy === 'lower-end') return together(judge, search, heldRps);
  return { heldRps, attainment: heldRps.map(() => undefined), requests: judge.requests };
}

async function holdsLeast(
  judge: Judge,
  leastRps: readonly number[],
  { plannedRps, attainment }: RateSearch,
): Promise<boolean> {
  const isTooMuch = (rps: number, m: number) =>
    rps > mostHeldRps(itemAt(plannedRps, m), itemAt(attainment, m));
  if (leastRps.some(isTooMuch)) return false;
  const { held } = await judge.judged(leastRps, (isLost) => leastRps.some((_, m) => isLost(m)));
  return held.every(Boolean);
}

/** together lowers rates that were found one by one until all of them are held at once. */
async function together(
  judge: Judge,
  { precision, isOver = () => false }: RateSearch & Partial<EndingSearch>,
  heldRps: readonly number[],
): Promise<HeldRates | undefined> {
  let rps = heldRps;
  for (let lowered = 0; ; lowered++) {
    const { held, attainment } = await judge.judged(rps);
    if (held.every(Boolean)) return { heldRps: rps, attainment, requests: judge.requests };
    if (isOver()) return undefined;
    const isLast = lowered === MOST_LOWERED;
    rps = rps.map((rate, m) => (held[m] ? rate : isLast ? 0 : rate * (1 - precision)));
  }
}

/** Bracket is the search for one model: a rate that was held, or 0, and a rate above it that was not. */
class Bracket {
  low: number;
  next: number;
  isClosed: boolean;
  private high = Number.POSITIVE_INFINITY;
  /** How often in a row the rate was raised, or lowered, without a bound on the other side. */
  private inARow = 0;
  private reachedLow: number | undefined;
  private reachedHigh: number | undefined;
  private readonly most: number;
  private readonly least: number;

  constructor(
    planned: number,
    private readonly options: {
      readonly start: number;
      readonly wanted: number;
      readonly precision: number;
      readonly enough: number | undefined;
      /** A rate that is known to be held, or 0. */
      readonly held: number;
      /**
       * interpolates says whether rates between two known ones are chosen by what those reached, or in the
       * middle.
       */
      readonly interpolates: boolean;
    },
  ) {
    this.most = mostHeldRps(planned, options.wanted);
    this.least = planned * LEAST_OF_PLANNED;
    this.low = options.held;
    const { enough = Number.POSITIVE_INFINITY } = options;
    this.isClosed = planned === 0 || this.low >= Math.min(this.most, enough);
    this.next = this.isClosed ? this.low : this.first();
  }

  private first(): number {
    const { start, held, precision } = this.options;
    return Math.min(Math.max(start, held * (1 + precision)), this.most);
  }

  /** learn takes in what the rate `next` reached, and chooses the one after it. A closed one stays where it is. */
  learn(reached: number): void {
    if (this.isClosed) return;
    const { wanted, precision, enough = Number.POSITIVE_INFINITY } = this.options;
    if (reached >= wanted) {
      this.low = this.next;
      this.reachedLow = reached;
    } else {
      this.high = this.next;
      this.reachedHigh = reached;
    }
    const { low, high, most, least } = this;
    const isNarrow = high < Number.POSITIVE_INFINITY && high - low <= precision * high;
    this.isClosed = isNarrow || low >= Math.min(most, enough) || high <= least;
    this.next = this.isClosed ? low : this.chosen(reached);
  }

  /**
   * Between two rates one is chosen that closes in on them. Above the first ones the rate is raised a little more than
   * the precision. Below them it is lowered to what was served in time, as a model that has too many requests serves as
   * many as it can.
   */
  private chosen(reached: number): number {
    const { low, high, most } = this;
    const { wanted, precision } = this.options;
    if (low > 0 && high < Number.POSITIVE_INFINITY) return this.between();
    this.inARow += 1;
    // A share that is far below 1 may be held at many times the planned rate.
    const stride = 2 ** Math.max(0, this.inARow - STEADY);
    if (low > 0) return Math.min(low * (1 + stride * RAISE * precision), most);
    return (
      high * Math.min(1 - Math.min(0.5, stride * precision), Math.max(0.5, reached / wanted - precision))
    );
  }

  /**
   * between expects the attainment to fall evenly between two rates. It goes a little further towards the rate that is
   * further away, so that both come close.
   */
  private between(): number {
    const { low, high, reachedLow, reachedHigh } = this;
    const { wanted, precision, interpolates } = this.options;
    if (!interpolates || reachedLow === undefined || reachedHigh === undefined) return (low + high) / 2;
    const share = (reachedLow - wanted) / (reachedLow - reachedHigh);
    const aside = (ASIDE * precision * high) / (high - low);
    const chosen = share < 0.5 ? share + aside : share - aside;
    return low + (high - low) * Math.min(1 - INSIDE, Math.max(INSIDE, chosen));
  }
}

/** The rate after two known ones lies at least this share of their distance from either. */
const INSIDE = 0.1;
/**
 * The tried rate lies this share of the precision beside the rate that is expected to be the largest held
 * one.
 */
const ASIDE = 0.45;
/** After this many steps in one direction, each is twice as long as the one before. */
const STEADY = 24;
/** A rate that is held is raised by this many times the precision. */
const RAISE = 3;
