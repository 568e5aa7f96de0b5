import { attainmentOverRuns, type RunsFigure } from '../metrics/index.js';

/** SimulatedRates simulates one plan at the rates of its models, in requests/s, and gives what each model reached. */
export type SimulatedRates = (
  rps: readonly number[],
  seed: number,
) => Promise<readonly { readonly attainment?: number | undefined; readonly arrived: number }[]>;

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
}

/** HeldRates holds the largest rates that a plan was seen to hold, by model, and the requests that it took to see it. */
export interface HeldRates {
  readonly heldRps: readonly number[];
  /** The attainment at these rates, of models that are served; only where lower ends were asked for. */
  readonly attainment: readonly (RunsFigure | undefined)[];
  readonly requests: number;
}

/** A plan serves no more than its planned rate for long; a run that begins idle serves a little more. */
const MOST_OF_PLANNED = 1.1;
/** A model that does not hold this share of its planned rate is taken to hold nothing. */
const LEAST_OF_PLANNED = 0.05;
/** How often rates that hold one by one, and not together, are lowered. */
const MOST_LOWERED = 20;

/**
 * heldRates finds the largest rate of every model at which its attainment is reached, by bisection of all models at the
 * same time: models share no devices, and hardly disturb one another over links. The search takes attainment to fall
 * with the rate. Runs of one seed at two rates have the same arrivals, closer together.
 */
export async function heldRates(simulate: SimulatedRates, search: RateSearch): Promise<HeldRates> {
  const { plannedRps, startRps, attainment, precision, enoughRps, judge } = search;
  const brackets = plannedRps.map(
    (planned, m) =>
      new Bracket(planned, {
        start: startRps[m] as number,
        wanted: attainment[m] as number,
        precision,
        enough: enoughRps?.[m],
      }),
  );
  let requests = 0;
  while (brackets.some((bracket) => !bracket.isClosed)) {
    const rps = brackets.map((bracket) => bracket.next);
    const judged = await judgeRates(simulate, rps, search);
    requests += judged.requests;
    for (const [m, bracket] of brackets.entries()) bracket.learn(judged.reached[m] as number);
  }
  const heldRps = brackets.map(({ low }) => low);
  if (judge === 'mean') return { heldRps, attainment: heldRps.map(() => undefined), requests };
  return together(simulate, { ...search, heldRps, requests });
}

/** together lowers rates that were found one by one until all of them are held at once. */
async function together(
  simulate: SimulatedRates,
  { heldRps, requests, ...search }: RateSearch & { heldRps: readonly number[]; requests: number },
): Promise<HeldRates> {
  let rps = heldRps;
  let spent = requests;
  for (let lowered = 0; ; lowered++) {
    const { reached, attainment, requests: more } = await judgeRates(simulate, rps, search);
    const held = reached.map((share, m) => share >= (search.attainment[m] as number));
    spent += more;
    if (held.every(Boolean)) return { heldRps: rps, attainment, requests: spent };
    const isLast = lowered === MOST_LOWERED;
    rps = rps.map((rate, m) => (held[m] ? rate : isLast ? 0 : rate * (1 - search.precision)));
  }
}

interface Judged {
  /** The mean attainment of each model, or the lower end of its interval; 1 of a model without requests. */
  readonly reached: readonly number[];
  readonly attainment: readonly (RunsFigure | undefined)[];
  readonly requests: number;
}

async function judgeRates(
  simulate: SimulatedRates,
  rps: readonly number[],
  { attainment: wanted, seeds, judge }: RateSearch,
): Promise<Judged> {
  const values: number[][] = rps.map(() => []);
  const arrived = rps.map(() => 0);
  const runs = rps.some((rate) => rate > 0) ? seeds : [];
  for (const seed of runs) {
    const models = await simulate(rps, seed);
    models.forEach((model, m) => {
      values[m]?.push(model.attainment ?? 1);
      arrived[m] = (arrived[m] as number) + model.arrived;
    });
    // Where no model can reach its mean any more, the other seeds change nothing.
    const left = seeds.length - (values[0] as number[]).length;
    const isLost = (m: number) => sumOf(values[m] as number[]) + left < (wanted[m] as number) * seeds.length;
    if (judge === 'mean' && rps.every((rate, m) => rate === 0 || isLost(m))) break;
  }
  const requests = sumOf(arrived);
  const attainment = rps.map((rate, m) =>
    rate === 0 || judge === 'mean'
      ? undefined
      : attainmentOverRuns(values[m] as number[], arrived[m] as number),
  );
  const reached = rps.map((rate, m) => {
    const mine = values[m] as number[];
    if (rate === 0 || mine.length === 0) return 1;
    return attainment[m]?.low ?? sumOf(mine) / mine.length;
  });
  return { reached, attainment, requests };
}

/** Bracket is the search for one model: a rate that was held, or 0, and a rate above it that was not. */
class Bracket {
  low = 0;
  next: number;
  isClosed: boolean;
  private high = Number.POSITIVE_INFINITY;
  private readonly most: number;
  private readonly least: number;

  constructor(
    planned: number,
    private readonly options: {
      readonly start: number;
      readonly wanted: number;
      readonly precision: number;
      readonly enough: number | undefined;
    },
  ) {
    this.most = planned * MOST_OF_PLANNED;
    this.least = planned * LEAST_OF_PLANNED;
    this.next = Math.min(options.start, this.most);
    this.isClosed = planned === 0;
    if (planned === 0) this.next = 0;
  }

  /** learn takes in what the rate `next` reached, and chooses the one after it. A closed one stays where it is. */
  learn(reached: number): void {
    if (this.isClosed) return;
    const { wanted, precision, enough = Number.POSITIVE_INFINITY } = this.options;
    if (reached >= wanted) this.low = this.next;
    else this.high = this.next;
    const { low, high, most, least } = this;
    const isNarrow = high < Number.POSITIVE_INFINITY && high - low <= precision * high;
    this.isClosed = isNarrow || low >= Math.min(most, enough) || high <= least;
    this.next = this.isClosed ? low : this.chosen(reached);
  }

  /**
   * Between two rates their middle is chosen. Above the first ones the rate is raised a little more than the precision.
   * Below them it is lowered to what was served in time, as a model that has too many requests serves as many as it can.
   */
  private chosen(reached: number): number {
    const { low, high, most } = this;
    const { wanted, precision } = this.options;
    if (low > 0 && high < Number.POSITIVE_INFINITY) return (low + high) / 2;
    if (low > 0) return Math.min(low * (1 + RAISE * precision), most);
    return high * Math.min(1 - precision, Math.max(0.5, reached / wanted - precision));
  }
}

/** A rate that is held is raised by so many times the precision. */
const RAISE = 3;

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
