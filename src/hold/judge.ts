import { itemAt } from '../collections/index.js';
import { attainmentOverRuns, highestLowerEnd, meanOverRuns, type RunsFigure } from '../metrics/index.js';

/** SimulatedRates simulates one plan at the rates of its models, in requests/s, and gives what each model reached. */
export type SimulatedRates = (
  rps: readonly number[],
  seed: number,
) => Promise<readonly { readonly attainment?: number | undefined; readonly arrived: number }[]>;

/** JudgedBy says by what rates are judged: lists are by model. */
export interface JudgedBy {
  readonly attainment: readonly number[];
  readonly seeds: readonly number[];
  readonly judge: 'mean' | 'lower-end';
}

/** Judged says what rates have reached. */
export interface Judged {
  /**
   * The mean attainment of each model, or the lower end of its interval; 1 of a model without requests. Of a model that
   * was lost before all seeds were simulated, it is what is to be expected by those that were.
   */
  readonly reached: readonly number[];
  readonly held: readonly boolean[];
  /** Undefined for models that are not served, where means were asked for, and where seeds were left out. */
  readonly attainment: readonly (RunsFigure | undefined)[];
}

/** This many seeds are simulated side by side where lower ends are asked for. Less than four say nothing of an interval. */
const SIDE_BY_SIDE = 4;

/** Judge simulates a plan at rates under all seeds, as far as they can change what is said of the plan. */
export class Judge {
  /** The requests that were simulated. */
  requests = 0;
  private readonly known = new Map<string, Judged>();

  constructor(
    private readonly simulate: SimulatedRates,
    private readonly by: JudgedBy,
  ) {}

  /**
   * judged gives what the rates reach.
   * @param isEnough is asked between seeds whether the others may be left out, with a function that tells whether a model
   *   cannot reach its share any more, whatever they give
   */
  async judged(
    rps: readonly number[],
    isEnough: (isLost: (m: number) => boolean) => boolean = () => false,
  ): Promise<Judged> {
    const key = rps.join();
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const { seeds, judge } = this.by;
    const values: number[][] = rps.map(() => []);
    const arrived = rps.map(() => 0);
    const step = judge === 'mean' ? 1 : SIDE_BY_SIDE;
    const isLost = (m: number) => itemAt(rps, m) > 0 && this.highest(itemAt(values, m)) < this.wanted(m);
    const runs = rps.some((rate) => rate > 0) ? seeds.length : 0;
    let done = 0;
    while (done < runs && !(done > 0 && isEnough(isLost))) {
      const some = seeds.slice(done, done + step);
      for (const models of await Promise.all(some.map((seed) => this.simulate(rps, seed))))
        models.forEach((model, m) => {
          values[m]?.push(model.attainment ?? 1);
          arrived[m] = itemAt(arrived, m) + model.arrived;
        });
      done += some.length;
    }
    this.requests += sumOf(arrived);
    const isWhole = done === runs;
    const judged = this.summary(rps, values, isWhole ? arrived : undefined);
    if (isWhole) this.known.set(key, judged);
    return judged;
  }

  /** @param arrived by model, the requests of all seeds; undefined where some were left out */
  private summary(
    rps: readonly number[],
    values: readonly (readonly number[])[],
    arrived: readonly number[] | undefined,
  ): Judged {
    const attainment = rps.map((rate, m) =>
      rate === 0 || this.by.judge === 'mean' || arrived === undefined
        ? undefined
        : attainmentOverRuns(values[m] as number[], itemAt(arrived, m)),
    );
    const reached = rps.map((rate, m) => {
      const mine = values[m] as number[];
      if (rate === 0 || mine.length === 0) return 1;
      if (this.by.judge === 'mean') return sumOf(mine) / mine.length;
      return attainment[m]?.low ?? this.expected(mine);
    });
    return { reached, held: reached.map((share, m) => share >= this.wanted(m)), attainment };
  }

  /**
   * expected gives the lower end that all seeds give where the others repeat those that are known. It is at most `highest`, which
   * is that of any others.
   */
  private expected(known: readonly number[]): number {
    return meanOverRuns(this.by.seeds.map((_, i) => itemAt(known, i % known.length))).low;
  }

  private wanted(m: number): number {
    return itemAt(this.by.attainment, m);
  }

  /** highest gives the most that a model can reach, whatever the seeds give that are left. */
  private highest(values: readonly number[]): number {
    const { seeds, judge } = this.by;
    const left = seeds.length - values.length;
    return judge === 'mean' ? (sumOf(values) + left) / seeds.length : highestLowerEnd(values, left);
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
