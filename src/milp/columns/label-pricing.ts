import { ROUNDING } from '../rounding.js';
import {
  fitsMemory,
  joinedBetween,
  type ModelTable,
  type Slot,
  type SpanLatencies,
  slowerLink,
  spanUs,
  transferUs,
  virtualGpuRps,
} from '../tables/index.js';
import { STOP_EVERY, type Stop } from '../work.js';
import { type ColumnPrices, type ColumnSource, type PricedColumn, useBits } from './column-source.js';
import type { Column, ColumnOptions, ColumnPart } from './columns.js';

/** Runner is a slot at a batch size, with its latencies between the model's cuts. */
interface Runner {
  readonly slot: number;
  readonly batch: number;
  readonly size: number;
  readonly classIndex: number;
  /** Latencies by the table's units, of which `cuts` are some. */
  readonly latencies: SpanLatencies;
  /** The time per batch that a transfer over each cut takes on the virtual GPU's share of its server's link. */
  readonly linkUs: Float64Array;
  /** The price of a microsecond of a busy virtual GPU, per request of the batch. */
  price: number;
}

/** A column is kept if its reduced cost is at least this part of the best one's. */
const WORTH_KEEPING = 0.5;

/**
 * Columns of one sequence of slots count as alike if their cuts fall into the same parts when the model is divided into
 * this many. Only one of them is kept.
 */
const CUT_BUCKETS = 12;

/**
 * LabelPricing prices columns exactly over all cut points by labels (cost, latency) with dominance, for models with too
 * many pipelines to list. A label is a chain of partitions up to a cut. It is extended by one more partition, on every
 * slot and to every later cut. It is dropped if another label is as good in cost, latency, link and batch size, if even
 * the cheapest way to run the remaining layers is not cheap enough, or if even the fastest misses the SLO. At worst it
 * costs cuts² · slots for each number of partitions, and far less once prices are good. `cheaperThan` leaves out
 * columns that save less than half of what the best one saves, and all but one of alike columns: those of the same
 * slots and batches whose cuts lie close together. The last search is kept for the next call at the same prices. Once
 * `stop` returned true, `cheapest` gives a lower bound, and the others give what was found.
 */
export class LabelPricing implements ColumnSource {
  private readonly groups: { readonly runners: Runner[]; readonly budgetUs: number }[];
  private memo: { key: string; below: number; found: PricedColumn[]; least: number | undefined } | undefined;

  constructor(
    readonly table: ModelTable,
    private readonly options: ColumnOptions,
    private readonly stop: Stop = () => false,
  ) {
    const all = table.batches.map((_, b) => this.runnersAt(b));
    this.groups = table.batches.map((_, b) => ({
      runners: options.unifiedBatch ? (all[b] as Runner[]) : all.slice(0, b + 1).flat(),
      budgetUs: table.budgetUs[b] as number,
    }));
  }

  cheapest(prices: ColumnPrices, known: number): number {
    const price = this.priced(known, prices)[0]?.price ?? known;
    // A stopped search may have missed cheaper columns, but none is cheaper than every layer on its cheapest device.
    return this.memo?.least === undefined ? price : Math.min(price, this.memo.least);
  }

  cheaperThan(below: number, prices: ColumnPrices, count: number): PricedColumn[] {
    return this.priced(below, prices).slice(0, count);
  }

  cheapestOf(prices: ColumnPrices, count: number): PricedColumn[] {
    return this.cheaperThan(Infinity, prices, count);
  }

  /**
   * variedBelow gives at most `count` columns below a price, the cheapest first, for the search over whole numbers. Of
   * alike columns (see the class) it gives the cheapest, but unlike `cheaperThan` it also gives those that save little.
   */
  variedBelow(below: number, prices: ColumnPrices, count: number): PricedColumn[] {
    return this.search(below, prices, 0).found.slice(0, count);
  }

  private priced(below: number, prices: ColumnPrices): PricedColumn[] {
    const key = `${Array.from(prices.perGpu).join()};${Array.from(prices.perUse).join()}`;
    if (this.memo?.key !== key || this.memo.below < below)
      this.memo = { key, below, ...this.search(below, prices, WORTH_KEEPING) };
    return this.memo.found.filter(({ price }) => price < below);
  }

  /** @returns `least` if it was stopped: no column is cheaper than that */
  private search(
    below: number,
    prices: ColumnPrices,
    keep: number,
  ): { found: PricedColumn[]; least: number | undefined } {
    const found = new Map<string, PricedColumn>();
    let best = below;
    let least = Infinity;
    let stopped = false;
    for (const { runners, budgetUs } of this.groups) {
      for (const runner of runners) {
        const { virtual } = this.table.slots[runner.slot] as Slot;
        runner.price = (prices.perGpu[runner.classIndex] as number) / (virtual * 1e6 * runner.size);
      }
      const run = new LabelRun(this.table, this.options, runners, budgetUs, prices, { below, best, keep });
      stopped = !run.go(stopped ? () => true : this.stop) || stopped;
      least = Math.min(least, run.leastPrice);
      best = run.best;
      for (const [name, column] of run.found) {
        const known = found.get(name);
        if (known === undefined || column.price < known.price) found.set(name, column);
      }
    }
    return {
      found: [...found.values()].sort((a, b) => a.price - b.price),
      least: stopped ? least : undefined,
    };
  }

  private runnersAt(b: number): Runner[] {
    const { table } = this;
    const size = table.batches[b] as number;
    return table.slots.flatMap((slot, s): Runner[] => {
      const latencies = table.latencies[s * table.batches.length + b];
      if (latencies === undefined) return [];
      const share = size * slot.virtual * slot.perServer;
      const linkUs = Float64Array.from(table.cuts, (cut) =>
        this.options.linkThroughput ? share * transferUs(table.cutBytes[cut] as number, slot.gbps) : 0,
      );
      return [{ slot: s, batch: b, size, classIndex: slot.classIndex, latencies, linkUs, price: 0 }];
    });
  }
}

/** LabelRun is one run over the runners of a batch size, with labels by number of partitions and cut. */
class LabelRun {
  readonly found = new Map<string, PricedColumn>();
  best: number;
  private readonly cost: number[] = [0];
  private readonly latency: number[] = [0];
  private readonly runner: number[] = [-1];
  private readonly parent: number[] = [-1];
  private readonly cut: number[] = [0];
  private readonly mask: number[] = [0];
  private readonly last: number;
  private readonly restCost: Float64Array;
  private readonly restUs: Float64Array;
  private readonly refund: number;
  private readonly bitOf: Int32Array;
  /** The latency budget, with room for the rounding of sums. */
  private readonly latestUs: number;
  private readonly weighed: boolean;
  /** The link of each runner's slot; Infinity if nothing bounds it. */
  private readonly linkGbps: Float64Array;
  /** The batch size of each runner. */
  private readonly sizes: Float64Array;
  private steps = 0;

  constructor(
    private readonly table: ModelTable,
    private readonly options: ColumnOptions,
    private readonly runners: readonly Runner[],
    private readonly budgetUs: number,
    private readonly prices: ColumnPrices,
    private readonly goal: { below: number; best: number; keep: number },
  ) {
    this.best = goal.best;
    this.last = table.cuts.length - 1;
    this.latestUs = budgetUs + ROUNDING * Math.abs(budgetUs);
    this.restCost = this.rests((runner, us) => us * runner.price);
    this.restUs = this.rests((_, us) => us);
    this.bitOf = useBits(prices.perUse);
    this.refund = Array.from(prices.perUse).reduce((sum, price) => sum + price, 0);
    this.weighed = table.slots.some((slot) => slot.memoryBytes !== undefined);
    this.linkGbps = Float64Array.from(runners, ({ slot }) => (table.slots[slot] as Slot).gbps ?? Infinity);
    this.sizes = Float64Array.from(runners, ({ size }) => size);
  }

  /**
   * leastPrice is less than any column's price: it takes every layer on the runner that is cheapest for it, whatever
   * the SLO.
   */
  get leastPrice(): number {
    return (this.restCost[0] as number) - this.refund;
  }

  /** @returns false where it was stopped */
  go(stop: Stop): boolean {
    let here: number[][] = Array.from({ length: this.last + 1 }, () => []);
    here[0] = [0];
    for (let d = 0; d < this.options.maxPartitions; d++) {
      const next: number[][] = Array.from({ length: this.last + 1 }, () => []);
      const closing = d === this.options.maxPartitions - 1;
      for (let i = 0; i < this.last; i++) {
        if (stop(this.steps)) return false;
        this.steps = 0;
        for (const label of here[i] as number[]) {
          this.extend(label, i, closing, next);
          if (this.steps < STOP_EVERY) continue;
          if (stop(this.steps)) return false;
          this.steps = 0;
        }
      }
      here = next;
    }
    return true;
  }

  /**
   * rests is at most the sum over all partitions after each cut, whatever they are: every layer joined to its
   * neighbours on its best runner, and every cut that saves time.
   */
  private rests(of: (runner: Runner, us: number) => number): Float64Array {
    const { cuts } = this.table;
    const rest = new Float64Array(this.last + 1);
    for (let j = this.last - 1; j >= 0; j--) {
      const [from, to] = [cuts[j] as number, cuts[j + 1] as number];
      let least = Infinity;
      let entry = 0;
      for (const runner of this.runners) {
        const { leastEntryUs } = runner.latencies;
        least = Math.min(least, of(runner, joinedBetween(runner.latencies, from, to)));
        entry = Math.min(entry, of(runner, leastEntryUs[from] as number));
      }
      rest[j] = (rest[j + 1] as number) + least + entry;
    }
    return rest;
  }

  /** threshold is the price from which columns are no longer wanted. It falls as better columns are found. */
  private threshold(): number {
    const { below, keep } = this.goal;
    if (below === Infinity) return this.best === Infinity ? Infinity : 2 * this.best;
    return below - keep * (below - this.best);
  }

  private extend(label: number, i: number, closing: boolean, next: number[][]): void {
    for (let r = 0; r < this.runners.length; r++) {
      const runner = this.runners[r] as Runner;
      const arrivedUs = (this.latency[label] as number) + this.crossUs(label, i, runner);
      const mask = (this.mask[label] as number) | (this.bitOf[runner.classIndex] as number);
      const bonus = mask === this.mask[label] ? 0 : (this.prices.perUse[runner.classIndex] as number);
      const base = (this.cost[label] as number) - bonus;
      this.ends(label, i, closing, next, r, arrivedUs, base, mask);
    }
  }

  private ends(
    label: number,
    i: number,
    closing: boolean,
    next: number[][],
    r: number,
    arrivedUs: number,
    base: number,
    mask: number,
  ): void {
    const { latencies, linkUs, price } = this.runners[r] as Runner;
    const { restCost, restUs, latestUs, last, refund } = this;
    const { cuts } = this.table;
    const first = cuts[i] as number;
    const leastEntryUs = latencies.leastEntryUs[first] as number;
    const isTimed = latencies.timedUs[first] !== undefined;
    const entryUs = latencies.entryUs[first] as number;
    const inUs = linkUs[i] as number;
    let threshold = this.threshold() + refund;
    this.steps++;
    for (let j = closing ? last : i + 1; j <= last; j++) {
      this.steps++;
      const end = cuts[j] as number;
      // As leastSpanUs() and spanUs() give them, with what depends on the first cut looked up once.
      const togetherUs = joinedBetween(latencies, first, end);
      const leastUs = togetherUs + leastEntryUs;
      if (arrivedUs + leastUs + (restUs[j] as number) > latestUs) break;
      if (base + leastUs * price + (restCost[j] as number) >= threshold) break;
      const us = isTimed ? spanUs(latencies, first, end) : togetherUs + entryUs;
      const reachedUs = arrivedUs + us;
      if (reachedUs + (restUs[j] as number) > latestUs) continue;
      const outUs = linkUs[j] as number;
      const busyUs = Math.max(us, inUs, outUs);
      const cost = base + busyUs * price;
      if (cost + (restCost[j] as number) >= threshold) continue;
      if (this.weighed && !this.fits(r, i, j)) break;
      if (j === last) {
        this.complete(label, r, cost, reachedUs);
        threshold = this.threshold() + refund;
      } else this.keep(label, r, j, cost, reachedUs, mask, next[j] as number[]);
    }
  }

  private fits(r: number, i: number, j: number): boolean {
    const { weightPrefix, cuts, slots } = this.table;
    const bytes = (weightPrefix[cuts[j] as number] as number) - (weightPrefix[cuts[i] as number] as number);
    return fitsMemory(slots[(this.runners[r] as Runner).slot] as Slot, bytes);
  }

  private crossUs(label: number, i: number, to: Runner): number {
    const from = this.runners[this.runner[label] as number];
    if (from === undefined) return 0;
    const { slots, cutBytes, cuts } = this.table;
    const link = slowerLink(slots[from.slot] as Slot, slots[to.slot] as Slot);
    return from.size * transferUs(cutBytes[cuts[i] as number] as number, link);
  }

  /**
   * keep adds a label unless a known label is as good in every respect, and drops labels that the new one is as good
   * as.
   */
  private keep(
    label: number,
    r: number,
    j: number,
    cost: number,
    us: number,
    mask: number,
    at: number[],
  ): void {
    const { cost: costs, latency } = this;
    this.steps += at.length;
    for (let n = 0; n < at.length; n++) {
      const other = at[n] as number;
      if ((costs[other] as number) > cost || (latency[other] as number) > us) continue;
      if (this.asFree(this.runner[other] as number, this.mask[other] as number, r, mask)) return;
    }
    let kept = 0;
    for (let n = 0; n < at.length; n++) {
      const other = at[n] as number;
      const isWorse =
        cost <= (costs[other] as number) &&
        us <= (latency[other] as number) &&
        this.asFree(r, mask, this.runner[other] as number, this.mask[other] as number);
      if (!isWorse) at[kept++] = other;
    }
    at.length = kept;
    at.push(costs.length);
    costs.push(cost);
    latency.push(us);
    this.runner.push(r);
    this.parent.push(label);
    this.cut.push(j);
    this.mask.push(mask);
  }

  /** asFree says whether runner a goes on at least as well as b: as to refunds, links and batches. */
  private asFree(a: number, maskA: number, b: number, maskB: number): boolean {
    if (this.refund !== 0 && (maskA & ~maskB) !== 0) return false;
    return (
      (this.linkGbps[a] as number) >= (this.linkGbps[b] as number) &&
      (this.sizes[a] as number) <= (this.sizes[b] as number)
    );
  }

  private complete(label: number, r: number, price: number, us: number): void {
    if (us > this.budgetUs || price >= this.goal.below - ROUNDING * Math.abs(price)) return;
    this.best = Math.min(this.best, price);
    const chain = [{ runner: r, cut: this.last }];
    for (let at = label; at > 0; at = this.parent[at] as number)
      chain.unshift({ runner: this.runner[at] as number, cut: this.cut[at] as number });
    const name = chain
      .map(({ runner, cut }) => {
        const { slot, batch } = this.runners[runner] as Runner;
        return `${slot},${batch},${Math.floor((cut * CUT_BUCKETS) / this.last)}`;
      })
      .join(';');
    const known = this.found.get(name);
    if (known !== undefined && known.price <= price) return;
    this.found.set(name, { column: this.columnOf(chain, us), price });
  }

  private columnOf(chain: readonly { runner: number; cut: number }[], latencyUs: number): Column {
    const { table } = this;
    let i = 0;
    const parts = chain.map(({ runner, cut }): ColumnPart => {
      const { slot, batch, size, latencies } = this.runners[runner] as Runner;
      const [first, end] = [table.cuts[i] as number, table.cuts[cut] as number];
      const us = spanUs(latencies, first, end);
      const [inBytes, outBytes] = [table.cutBytes[first] as number, table.cutBytes[end] as number];
      i = cut;
      const rps = virtualGpuRps(
        table.slots[slot] as Slot,
        size,
        us,
        inBytes,
        outBytes,
        this.options.linkThroughput,
      );
      return { first, end, slot, batch, rps };
    });
    return { model: table.index, parts, latencyUs };
  }
}
