import type { Column, ColumnOptions, ColumnPart } from '../../columns/index.js';
import { ROUNDING, SLACK } from '../../rounding.js';
import {
  fitsMemory,
  type ModelTable,
  type Slot,
  slowerLink,
  spanUs,
  transferUs,
  virtualGpuRps,
} from '../../tables/index.js';
import { STOP_EVERY, type Stop } from '../../work.js';
import {
  LATENESS_PRICES,
  type SequenceRunner,
  type SequenceTail,
  type SlotSequence,
} from './slot-sequences.js';

/** PricingGoal says which pipelines are sought, and how long. */
interface PricingGoal {
  /** The price of a GPU by class, in requests per second. */
  readonly gpuPrices: readonly number[];
  /** The sequences that are wanted, as `slotSequences` lists them. */
  readonly sequences: readonly SlotSequence[];
  /** GPUs that are worth more, in requests per second, are never given to the model. */
  readonly mostWorth: number;
  /** stop is asked from time to time; true ends the search. */
  readonly stop: Stop;
}

/** PricedSingle is a column that serves a rate with exactly the GPUs that were asked for. */
export interface PricedSingle {
  readonly column: Column;
  readonly rps: number;
}

/** Placeable is a sequence, or a tail of one, of which the first partition is placed next. */
type Placeable = Pick<SequenceTail, 'runner' | 'next' | 'classes'>;

/** Placed is a partition that was chosen during the search: where it ends, its runner, and its GPUs. */
interface Placed {
  readonly end: number;
  readonly runner: SequenceRunner;
  readonly gpus: number;
}

/**
 * WholeGpuPricing finds the one pipeline of a model that serves most with given whole GPUs, of all pipelines that there
 * are, however many. Its pools fill whole GPUs. It makes exact tables (`ModelGrid`) of columns that are too many to
 * list.
 *
 * A pipeline that serves more than a known rate needs partitions that are fast enough for that rate on their GPUs, and
 * tails that are cheap enough for the GPUs that are left. With good known rates hardly any cut meets both.
 */
export class WholeGpuPricing {
  /** stopped is true if `stop` ended a search. Then a better pipeline may have been missed. */
  stopped = false;
  private readonly gpuPrices: readonly number[];
  private readonly mostWorth: number;
  private readonly stop: Stop;
  private readonly groups: readonly SequenceGroup[];
  private readonly left: number[];
  private readonly placed: Placed[] = [];
  private sequence: SlotSequence | undefined;
  private best: readonly Placed[] | undefined;
  /** Only higher rates are sought. */
  private floor = 0;
  private steps = 0;

  constructor(
    private readonly table: ModelTable,
    private readonly options: ColumnOptions,
    { gpuPrices, sequences, mostWorth, stop }: PricingGoal,
  ) {
    this.gpuPrices = gpuPrices;
    this.mostWorth = mostWorth;
    this.stop = stop;
    this.groups = groupsOf(sequences);
    this.left = gpuPrices.map(() => 0);
  }

  /**
   * bestOn finds the pipeline that serves most with exactly these GPUs, if it serves more than `floor`.
   * @param worth the worth of the GPUs, in requests per second
   */
  bestOn(gpus: ArrayLike<number>, worth: number, floor: number): PricedSingle | undefined {
    this.best = undefined;
    if (worth > this.mostWorth) return undefined;
    this.floor = floor;
    for (const { classes, sequences } of this.groups) {
      if (!classes.every((n, k) => (n === 0) === (gpus[k] === 0) && n <= (gpus[k] as number))) continue;
      for (const sequence of sequences) {
        if (this.stopped || sequence.price * this.floor > worth * (1 + SLACK)) break;
        this.sequence = sequence;
        for (let k = 0; k < this.left.length; k++) this.left[k] = gpus[k] as number;
        this.begin(sequence, worth);
      }
    }
    if (this.best === undefined) return undefined;
    return { column: this.columnOf(this.best), rps: this.floor };
  }

  /**
   * begin places the first partition of a sequence. For each end of the partition it is known which GPUs the
   * partition needs for the floor, and which it leaves to the others for the least that these cost.
   */
  private begin(sequence: SlotSequence, worth: number): void {
    const { runner, next } = sequence;
    const firstEnds = sequence.firstEnds((steps) => this.look(steps));
    if (firstEnds === undefined || next === undefined) {
      this.place(sequence, 0, 0, worth);
      return;
    }
    const k = runner.classIndex;
    const all = this.left[k] as number;
    const most = all - (sequence.classes[k] as number) + 1;
    const least = sequence.classes[k] === 1 ? most : 1;
    const price = this.gpuPrices[k] as number;
    for (let e = 0; e < firstEnds.cuts.length && !this.stopped; e++) {
      this.look();
      if ((firstEnds.price[e] as number) * this.floor > worth * (1 + 2 * SLACK)) return;
      const j = firstEnds.cuts[e] as number;
      const gpus = firstEnds.gpus[e] as number;
      const restPrice = firstEnds.restPrice[e] as number;
      for (let n = Math.max(least, Math.ceil((gpus * this.floor) / (1 + SLACK))); n <= most; n++) {
        this.look();
        const rest = worth - n * price + SLACK * worth;
        if (this.stopped || restPrice * this.floor > rest) break;
        this.left[k] = all - n;
        const slowest = this.slowestUs(next.runner, this.left[next.runner.classIndex] as number);
        if ((next.runner.linkUs[j] as number) <= slowest) {
          this.placed.push({ end: j, runner, gpus: n });
          this.place(next, j, firstEnds.reachedUs[e] as number, rest);
          this.placed.pop();
        }
      }
      this.left[k] = all;
    }
  }

  /** place gives each number of GPUs that may do to the first partition of a tail, which begins at cut i. */
  private place(tail: Placeable, i: number, latencyUs: number, worth: number): void {
    const { runner, next, classes } = tail;
    const k = runner.classIndex;
    const most = (this.left[k] as number) - (classes[k] as number) + 1;
    // The last partition on a class takes all of its GPUs that are left.
    const least = classes[k] === 1 ? most : 1;
    const price = this.gpuPrices[k] as number;
    for (let n = least; n <= most && !this.stopped; n++) {
      this.look();
      const rest = worth - n * price;
      if (
        next !== undefined &&
        (next.leastPrice[next.leastPrice.length - 2] as number) * this.floor > rest + SLACK * worth
      )
        return;
      this.left[k] = (this.left[k] as number) - n;
      if (next === undefined) this.close(runner, i, n, latencyUs);
      else this.cut(tail, next, { i, n, latencyUs, rest: rest + SLACK * worth });
      this.left[k] = (this.left[k] as number) + n;
    }
  }

  /** cut tries the ends of a partition at which it is fast enough and the tail behind it cheap enough. */
  private cut(
    { runner }: Placeable,
    next: SequenceTail,
    { i, n, latencyUs, rest }: { i: number; n: number; latencyUs: number; rest: number },
  ): void {
    const { cuts } = this.table;
    const { budgetUs } = this.sequence as SlotSequence;
    const first = cuts[i] as number;
    const most = this.slowestUs(runner, n);
    if ((runner.linkUs[i] as number) > most) return;
    const mostNext = this.slowestUs(next.runner, this.left[next.runner.classIndex] as number);
    for (let j = this.lastEnd(runner, i, most); j > i; j--) {
      this.look();
      if (this.stopped || (next.leastPrice[j] as number) * this.floor > rest) return;
      if ((next.price[j] as number) * this.floor > rest) continue;
      if ((runner.linkUs[j] as number) > most || (next.runner.linkUs[j] as number) > mostNext) continue;
      const end = cuts[j] as number;
      const us = spanUs(runner.latencies, first, end);
      if (us > most) continue;
      const reachedUs = latencyUs + us + this.crossUs(runner, next.runner, end);
      if (reachedUs + (next.us[j] as number) > budgetUs * (1 + SLACK) || !this.fits(runner, first, end))
        continue;
      if (!this.isCheapInTime(next, j, rest / this.floor, budgetUs - reachedUs)) continue;
      this.placed.push({ end: j, runner, gpus: n });
      this.place(next, j, reachedUs, rest);
      this.placed.pop();
    }
  }

  /** isCheapInTime is false if no tail from cut j is cheap enough and at the same time fast enough. */
  private isCheapInTime({ late }: SequenceTail, j: number, price: number, leftUs: number): boolean {
    const left = leftUs / this.table.allowedUs;
    for (let l = 0; l < late.length; l++)
      if (
        ((late[l] as Float64Array)[j] as number) >
        (price + (LATENESS_PRICES[l] as number) * left) * (1 + SLACK)
      )
        return false;
    return true;
  }

  /** close ends the pipeline with a partition up to the end of the model. */
  private close(runner: SequenceRunner, i: number, n: number, latencyUs: number): void {
    const { cuts } = this.table;
    this.look();
    const last = cuts.length - 1;
    const [first, end] = [cuts[i] as number, cuts[last] as number];
    const us = spanUs(runner.latencies, first, end);
    if (Math.max(us, runner.linkUs[i] as number) > this.slowestUs(runner, n)) return;
    if (latencyUs + us > (this.sequence as SlotSequence).budgetUs || !this.fits(runner, first, end)) return;
    const all = [...this.placed, { end: last, runner, gpus: n }];
    const rps = this.rpsOf(all);
    if (rps <= this.floor * (1 + ROUNDING)) return;
    this.floor = rps;
    this.best = all;
  }

  /** slowestUs is the longest that n GPUs may take for a batch to serve more than the floor. */
  private slowestUs({ size, virtual }: SequenceRunner, n: number): number {
    return ((n * virtual * size * 1e6) / this.floor) * (1 + SLACK);
  }

  /** lastEnd is the last cut but the model's end up to which a partition may take as little as `mostUs`. */
  private lastEnd({ latencies }: SequenceRunner, i: number, mostUs: number): number {
    const { cuts } = this.table;
    const { leastJoinedUs, joinedUs, leastEntryUs } = latencies;
    const first = cuts[i] as number;
    const before = (joinedUs[first] as number) * (1 + SLACK);
    const most = mostUs + before - (leastEntryUs[first] as number);
    let low = i;
    let high = cuts.length - 2;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((leastJoinedUs[cuts[middle] as number] as number) <= most) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private crossUs(from: SequenceRunner, to: SequenceRunner, end: number): number {
    const { slots, cutBytes } = this.table;
    const link = slowerLink(slots[from.slot] as Slot, slots[to.slot] as Slot);
    return from.size * transferUs(cutBytes[end] as number, link);
  }

  private fits({ slot }: SequenceRunner, first: number, end: number): boolean {
    const { weightPrefix, slots } = this.table;
    return fitsMemory(slots[slot] as Slot, (weightPrefix[end] as number) - (weightPrefix[first] as number));
  }

  private look(steps = 1): void {
    this.steps += steps;
    if (this.steps < STOP_EVERY) return;
    if (this.stop(this.steps)) this.stopped = true;
    this.steps = 0;
  }

  /** The rate of a pipeline, as its column and its virtual GPUs give it. */
  private rpsOf(placed: readonly Placed[]): number {
    const { parts } = this.columnOf(placed);
    return parts.reduce((least, { rps }, d) => {
      const { runner, gpus } = placed[d] as Placed;
      const gpusPerRps = 1 / (rps * runner.virtual);
      return Math.min(least, gpus * (1 / gpusPerRps));
    }, Infinity);
  }

  private columnOf(placed: readonly Placed[]): Column {
    const { table, options } = this;
    const { cuts, cutBytes } = table;
    let first = 0;
    let latencyUs = 0;
    const parts = placed.map(({ end: j, runner }, d): ColumnPart => {
      const end = cuts[j] as number;
      const slot = table.slots[runner.slot] as Slot;
      const us = spanUs(runner.latencies, first, end);
      const rps = virtualGpuRps(
        slot,
        runner.size,
        us,
        cutBytes[first] as number,
        cutBytes[end] as number,
        options.linkThroughput,
      );
      const part = { first, end, slot: runner.slot, batch: runner.batch, rps };
      const next = placed[d + 1];
      latencyUs += us + (next === undefined ? 0 : this.crossUs(runner, next.runner, end));
      first = end;
      return part;
    });
    return { model: table.index, parts, latencyUs };
  }
}

/** SequenceGroup holds the sequences that have as many partitions on each class, by rising price. */
interface SequenceGroup {
  readonly classes: readonly number[];
  readonly sequences: readonly SlotSequence[];
}

function groupsOf(sequences: readonly SlotSequence[]): SequenceGroup[] {
  const groups = new Map<string, SlotSequence[]>();
  for (const sequence of [...sequences].sort((a, b) => a.price - b.price)) {
    const key = sequence.classes.join();
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [sequence]);
    else group.push(sequence);
  }
  return [...groups.values()].map((own) => ({
    classes: (own[0] as SlotSequence).classes,
    sequences: own,
  }));
}
