import type { ColumnOptions } from '../../columns/index.js';
import { SLACK } from '../../rounding.js';
import {
  fitsMemory,
  joinedBetween,
  type ModelTable,
  type Slot,
  type SpanLatencies,
  slowerLink,
  spanUs,
  transferUs,
} from '../../tables/index.js';

/** SequenceRunner is a slot at a batch size, on which a partition of a sequence runs. */
export interface SequenceRunner {
  readonly slot: number;
  readonly batch: number;
  readonly size: number;
  readonly virtual: number;
  readonly classIndex: number;
  readonly latencies: SpanLatencies;
  /** The joined time of all units before each of the model's cuts. */
  readonly joinedUs: Float64Array;
  /** A partition that begins at a cut takes at least this more. */
  readonly entryUs: Float64Array;
  /** The time per batch that a transfer over each cut takes on the virtual GPU's share of its server's link. */
  readonly linkUs: Float64Array;
  /** The price of a microsecond of a busy virtual GPU, per request of the batch. */
  readonly price: number;
}

/** SequenceTail is the end of a sequence: a partition's runner and those of all partitions after it. */
export interface SequenceTail {
  readonly runner: SequenceRunner;
  readonly next: SequenceTail | undefined;
  /** From each cut to the end, the tail costs at least this per request per second, whatever the SLO. */
  readonly price: Float64Array;
  /** The least of these prices at each cut and all earlier ones. */
  readonly leastPrice: Float64Array;
  /** From each cut to the end, the tail takes at least this long, with the transfers between its partitions. */
  readonly us: Float64Array;
  /**
   * For each of `LATENESS_PRICES`, the least price and priced time of the tail together, from each cut to the end. Time
   * is priced per `allowedUs` of the model.
   */
  readonly late: readonly Float64Array[];
  /** The partitions on each class. */
  readonly classes: readonly number[];
  /** The index of its partitions' largest batch size. */
  readonly batch: number;
}

/** SlotSequence is the runners of all partitions of a column: the first one, and the tail behind it. */
export interface SlotSequence {
  readonly runner: SequenceRunner;
  readonly next: SequenceTail | undefined;
  readonly classes: readonly number[];
  /** No column of this sequence that meets the SLO costs less per request per second. */
  readonly price: number;
  readonly budgetUs: number;
  /**
   * firstEnds gives where its first partition may end; undefined if there is no other partition, or there are
   * too many figures. They are found when first asked for, and `count` is called with the steps that this
   * takes.
   */
  readonly firstEnds: (count: (steps: number) => void) => FirstEnds | undefined;
}

/**
 * FirstEnds are the cuts at which the first partition of a sequence may end so that the rest can be in time, by rising
 * `price`.
 */
export interface FirstEnds {
  readonly cuts: Int32Array;
  /** No column that is in time costs less per request per second if its first partition ends there. */
  readonly price: Float64Array;
  /** The GPUs that the first partition needs for one request per second. */
  readonly gpus: Float64Array;
  /** The price of the other partitions is at least this per request per second, so that they are in time. */
  readonly restPrice: Float64Array;
  /** The time until the second partition begins. */
  readonly reachedUs: Float64Array;
}

/** SequencePrices holds what GPUs are worth, and how much a pipeline may lose at these prices. */
export interface SequencePrices {
  /** The price of a GPU by class, in requests per second. */
  readonly gpuPrices: readonly number[];
  /** The loss in requests per second past which no pipeline is wanted. */
  readonly budget: number;
}

/**
 * A pipeline has to meet its SLO and to be cheap. Lateness is priced at these parts of the model's price for a whole
 * SLO, one after another; each gives a lower bound on the price of a column in time, of which the largest counts.
 */
export const LATENESS_PRICES = [0.05, 0.15, 0.4, 1, 2.5];

/** More figures than this are not kept for tails, which is 160 MB. */
const MOST_FIGURES = 2e7;

/** Finding out about a cut, and sorting, takes as long as this many steps. */
const STEPS_PER_CUT = 20;

/** More figures than this are not kept for first partitions, which is 80 MB. */
const MOST_FIRST_FIGURES = 1e7;

/**
 * slotSequences lists the sequences of slots and batches that a column within the budget may have: a sequence whose
 * cheapest column loses more, even on the fewest GPUs, is left out.
 * @returns undefined if there are too many
 */
export function slotSequences(
  table: ModelTable,
  options: ColumnOptions,
  prices: SequencePrices,
): SlotSequence[] | undefined {
  if (!(table.allowedUs > 0)) return [];
  const listing = new SequenceListing(table, options, prices);
  return listing.run() ? listing.found : undefined;
}

/** Weights say what is added up over the partitions of a tail. */
interface Weights {
  /** The weight of a microsecond of the first partition. */
  readonly perUs: number;
  /** The sum of the partitions after it, by cut; undefined if there are none. */
  readonly after: Float64Array | undefined;
  /** The weight of a microsecond of the transfer to the next partition. */
  readonly perCrossUs: number;
}

/** Begun is a tail, or a whole sequence, whose first partition was put before the others. */
interface Begun {
  readonly runner: SequenceRunner;
  readonly next: SequenceTail | undefined;
  readonly classes: readonly number[];
  readonly batch: number;
  readonly budgetUs: number;
  /** The time that the transfer to the next partition takes, by cut. */
  readonly crossUs: Float64Array | undefined;
}

class SequenceListing {
  readonly found: SlotSequence[] = [];
  private readonly runners: readonly SequenceRunner[];
  private readonly crossings = new Map<string, Float64Array>();
  private figures = 0;
  private firstFigures = 0;

  constructor(
    private readonly table: ModelTable,
    private readonly options: ColumnOptions,
    private readonly prices: SequencePrices,
  ) {
    this.runners = table.batches.flatMap((_, b) => this.runnersAt(b));
  }

  /** @returns false if there are too many */
  run(): boolean {
    return this.extend(undefined, 1);
  }

  /** extend puts each runner before a tail, and so on until the sequence has as many partitions as allowed. */
  private extend(next: SequenceTail | undefined, partitions: number): boolean {
    const isLast = partitions === this.options.maxPartitions;
    for (const runner of this.runners) {
      if (this.options.unifiedBatch && next !== undefined && next.runner.batch !== runner.batch) continue;
      const begun = this.begun(runner, next);
      this.take(begun);
      if (isLast) continue;
      const tail = this.tailOf(begun);
      if (!tail.us.some((us) => us <= begun.budgetUs * (1 + SLACK))) continue;
      this.figures += (3 + tail.late.length) * tail.us.length;
      if (this.figures > MOST_FIGURES || !this.extend(tail, partitions + 1)) return false;
    }
    return true;
  }

  private begun(runner: SequenceRunner, next: SequenceTail | undefined): Begun {
    const classes = next === undefined ? this.prices.gpuPrices.map(() => 0) : [...next.classes];
    classes[runner.classIndex] = (classes[runner.classIndex] as number) + 1;
    const batch = Math.max(runner.batch, next?.batch ?? 0);
    const budgetUs = this.table.budgetUs[batch] as number;
    const crossUs = next === undefined ? undefined : this.crossingUs(runner, next.runner);
    return { runner, next, classes, batch, budgetUs, crossUs };
  }

  /** take lists the sequence that begins with a runner at the model's start, if it may be wanted. */
  private take(begun: Begun): void {
    const { runner, next, classes, budgetUs } = begun;
    const us = sumAt(0, begun, { perUs: 1, after: next?.us, perCrossUs: 1 });
    if (us > budgetUs * (1 + SLACK)) return;
    const cheapest = sumAt(0, begun, { perUs: runner.price, after: next?.price, perCrossUs: 0 });
    if (!this.isWanted(cheapest, classes)) return;
    const inTime = budgetUs / this.table.allowedUs;
    let price = cheapest;
    LATENESS_PRICES.forEach((part, l) => {
      const perUs = part / this.table.allowedUs;
      const after = next?.late[l];
      const late = sumAt(0, begun, { perUs: runner.price + perUs, after, perCrossUs: perUs });
      price = Math.max(price, late - part * inTime);
    });
    if (!this.isWanted(price, classes)) return;
    let ends: FirstEnds | undefined | 'unknown' = 'unknown';
    const firstEnds = (count: (steps: number) => void) => {
      if (ends !== 'unknown') return ends;
      count(STEPS_PER_CUT * this.table.cuts.length);
      ends = this.firstEnds(begun);
      return ends;
    };
    this.found.push({ runner, next, classes, price, budgetUs, firstEnds });
  }

  /** firstEnds lists where the first partition of a sequence may end (see `FirstEnds`). */
  private firstEnds({ runner, next, budgetUs, crossUs }: Begun): FirstEnds | undefined {
    const { cuts, weightPrefix, slots, allowedUs } = this.table;
    if (next === undefined || this.firstFigures > MOST_FIRST_FIGURES) return undefined;
    const { latencies, linkUs, virtual, size, slot } = runner;
    const [start] = cuts as unknown as [number];
    const found: { j: number; price: number; gpus: number; restPrice: number; reachedUs: number }[] = [];
    for (let j = 1; j < cuts.length - 1; j++) {
      const end = cuts[j] as number;
      const us = spanUs(latencies, start, end);
      const reachedUs = us + (crossUs?.[j] ?? 0);
      if (reachedUs + (next.us[j] as number) > budgetUs * (1 + SLACK)) continue;
      const weights = (weightPrefix[end] as number) - (weightPrefix[start] as number);
      if (!fitsMemory(slots[slot] as Slot, weights)) continue;
      const left = (budgetUs - reachedUs) / allowedUs;
      const restPrice = next.late.reduce(
        (most, late, l) =>
          Math.max(most, (late[j] as number) / (1 + SLACK) - (LATENESS_PRICES[l] as number) * left),
        next.price[j] as number,
      );
      const busyUs = Math.max(us, linkUs[0] as number, linkUs[j] as number);
      const gpus = busyUs / (virtual * size * 1e6);
      const price = gpus * (this.prices.gpuPrices[runner.classIndex] as number) + restPrice;
      found.push({ j, price, gpus, restPrice, reachedUs });
    }
    found.sort((a, b) => a.price - b.price || a.j - b.j);
    this.firstFigures += 4.5 * found.length;
    return {
      cuts: Int32Array.from(found, ({ j }) => j),
      price: Float64Array.from(found, ({ price }) => price),
      gpus: Float64Array.from(found, ({ gpus }) => gpus),
      restPrice: Float64Array.from(found, ({ restPrice }) => restPrice),
      reachedUs: Float64Array.from(found, ({ reachedUs }) => reachedUs),
    };
  }

  /** A column of this price loses at least the part price − 1 of its rate, and its GPUs are worth at least its own. */
  private isWanted(price: number, classes: readonly number[]): boolean {
    const { gpuPrices, budget } = this.prices;
    const worth = classes.reduce((sum, n, k) => sum + n * (gpuPrices[k] as number), 0);
    return worth <= budget || price * (worth - budget) <= worth * (1 + SLACK);
  }

  private tailOf(begun: Begun): SequenceTail {
    const { runner, next, classes, batch } = begun;
    const price = sums(begun, { perUs: runner.price, after: next?.price, perCrossUs: 0 });
    const us = sums(begun, { perUs: 1, after: next?.us, perCrossUs: 1 });
    const late = LATENESS_PRICES.map((part, l) => {
      const perUs = part / this.table.allowedUs;
      return sums(begun, { perUs: runner.price + perUs, after: next?.late[l], perCrossUs: perUs });
    });
    const leastPrice = Float64Array.from(price);
    for (let i = 1; i < leastPrice.length; i++)
      leastPrice[i] = Math.min(leastPrice[i] as number, leastPrice[i - 1] as number);
    return { runner, next, price, leastPrice, us, late, classes, batch };
  }

  /** crossingUs is the time of a transfer over each cut. Few links and batch sizes differ, so it is kept. */
  private crossingUs(from: SequenceRunner, to: SequenceRunner): Float64Array {
    const { slots, cutBytes, cuts } = this.table;
    const link = slowerLink(slots[from.slot] as Slot, slots[to.slot] as Slot);
    const key = `${from.size} ${link}`;
    const known = this.crossings.get(key);
    if (known !== undefined) return known;
    const made = Float64Array.from(cuts, (cut) => from.size * transferUs(cutBytes[cut] as number, link));
    this.crossings.set(key, made);
    return made;
  }

  private runnersAt(b: number): SequenceRunner[] {
    const { table, options, prices } = this;
    const size = table.batches[b] as number;
    return table.slots.flatMap((slot, s): SequenceRunner[] => {
      const latencies = table.latencies[s * table.batches.length + b];
      if (latencies === undefined) return [];
      const { virtual, classIndex, perServer, gbps } = slot;
      const share = size * virtual * perServer;
      const linkUs = Float64Array.from(table.cuts, (cut) =>
        options.linkThroughput ? share * transferUs(table.cutBytes[cut] as number, gbps) : 0,
      );
      const joinedUs = Float64Array.from(table.cuts, (cut) => joinedBetween(latencies, 0, cut));
      const entryUs = Float64Array.from(table.cuts, (cut) => latencies.leastEntryUs[cut] ?? 0);
      const price = (prices.gpuPrices[classIndex] as number) / (virtual * 1e6 * size);
      return [{ slot: s, batch: b, size, virtual, classIndex, latencies, linkUs, joinedUs, entryUs, price }];
    });
  }
}

/** sums is for each cut the least of what a partition from there counts, with all that comes after it. */
function sums(begun: Begun, weights: Weights): Float64Array {
  const { joinedUs } = begun.runner;
  const all = new Float64Array(joinedUs.length).fill(Infinity);
  sumAt(0, begun, weights, all);
  return all;
}

/** sumAt is that figure of one cut; it also fills `all` for this cut and later ones, if it is given. */
function sumAt(
  cut: number,
  { runner: { joinedUs, entryUs }, crossUs }: Begun,
  { perUs, after, perCrossUs }: Weights,
  all?: Float64Array,
): number {
  const last = joinedUs.length - 1;
  let least = after === undefined ? perUs * (joinedUs[last] as number) : Infinity;
  let sum = Infinity;
  for (let i = last - 1; i >= cut; i--) {
    if (after !== undefined) {
      const cross = crossUs === undefined ? 0 : perCrossUs * (crossUs[i + 1] as number);
      const behind = perUs * (joinedUs[i + 1] as number) + cross + (after[i + 1] as number);
      if (behind < least) least = behind;
    }
    if (all === undefined && i > cut) continue;
    sum = least + perUs * ((entryUs[i] as number) - (joinedUs[i] as number));
    if (all !== undefined) all[i] = sum;
  }
  return sum;
}
