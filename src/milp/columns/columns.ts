import { largestOf } from '../../collections/index.js';
import { ROUNDING } from '../rounding.js';
import {
  fitsMemory,
  leastSpanUs,
  type ModelTable,
  type Slot,
  type SpanLatencies,
  slowerLink,
  spanUs,
  transferUs,
  virtualGpuRps,
} from '../tables/index.js';
import { STOP_EVERY, type Stop } from '../work.js';

/** ColumnPart is one partition of a column. */
export interface ColumnPart {
  /** Half-open range of units. */
  readonly first: number;
  readonly end: number;
  /** Index into the model's slots. */
  readonly slot: number;
  /** Index into the model's batches. */
  readonly batch: number;
  /** Requests per second of one of its virtual GPUs. */
  readonly rps: number;
}

/**
 * Column is one fully specified pooled pipeline: cuts, and the device class, virtual size and batch of every partition,
 * but not the number of GPUs. Its latency includes transfers between partitions and excludes batch formation.
 */
export interface Column {
  readonly model: number;
  readonly parts: readonly ColumnPart[];
  readonly latencyUs: number;
}

/** ColumnOptions holds the planner's settings that decide which columns there are. */
export interface ColumnOptions {
  readonly maxPartitions: number;
  readonly unifiedBatch: boolean;
  readonly linkThroughput: boolean;
}

/**
 * ColumnSet holds columns of one model in flat arrays: column c's partition d is entry c · width + d, of which there
 * are `parts[c]`. A partition takes `gpusPerRps` whole GPUs of its class per request per second: 1/(v·X), with X of
 * PPipe A.2.
 */
export class ColumnSet {
  count = 0;
  parts = new Uint8Array(1024);
  ends: Int32Array;
  slots: Uint16Array;
  batches: Uint16Array;
  gpusPerRps: Float64Array;
  latencyUs = new Float64Array(1024);

  constructor(
    readonly table: ModelTable,
    readonly width: number,
  ) {
    this.ends = new Int32Array(1024 * width);
    this.slots = new Uint16Array(1024 * width);
    this.batches = new Uint16Array(1024 * width);
    this.gpusPerRps = new Float64Array(1024 * width);
  }

  /** reserve makes room for another column, and replaces the arrays by longer ones if they are full. */
  reserve(): void {
    if (this.count < this.parts.length) return;
    const size = this.parts.length * 2;
    this.parts = grown(this.parts, new Uint8Array(size));
    this.latencyUs = grown(this.latencyUs, new Float64Array(size));
    this.ends = grown(this.ends, new Int32Array(size * this.width));
    this.slots = grown(this.slots, new Uint16Array(size * this.width));
    this.batches = grown(this.batches, new Uint16Array(size * this.width));
    this.gpusPerRps = grown(this.gpusPerRps, new Float64Array(size * this.width));
  }

  /**
   * add appends a column of the set's table.
   * @returns its index
   */
  add({ parts, latencyUs }: Column): number {
    this.reserve();
    const c = this.count++;
    this.parts[c] = parts.length;
    this.latencyUs[c] = latencyUs;
    parts.forEach(({ end, slot, batch, rps }, d) => {
      const at = c * this.width + d;
      this.ends[at] = end;
      this.slots[at] = slot;
      this.batches[at] = batch;
      this.gpusPerRps[at] = 1 / (rps * (this.table.slots[slot] as Slot).virtual);
    });
    return c;
  }

  /** column gives column c as an object. */
  column(c: number): Column {
    const { table } = this;
    let first = 0;
    const parts = Array.from({ length: this.parts[c] as number }, (_, d): ColumnPart => {
      const at = c * this.width + d;
      const slot = this.slots[at] as number;
      const rps = 1 / ((this.gpusPerRps[at] as number) * (table.slots[slot] as Slot).virtual);
      const part = { first, end: this.ends[at] as number, slot, batch: this.batches[at] as number, rps };
      first = part.end;
      return part;
    });
    return { model: table.index, parts, latencyUs: this.latencyUs[c] as number };
  }
}

/**
 * columnSetOf makes a set of given columns of one model, in their order. It drops none.
 * @param width the largest number of partitions of a column
 */
export function columnSetOf(table: ModelTable, width: number, columns: readonly Column[]): ColumnSet {
  const set = new ColumnSet(table, width);
  for (const column of columns) set.add(column);
  return set;
}

/**
 * columnsWithin gives the columns of a set of which every partition runs on a slot that is kept, in the same order.
 * @param table the table of the new set, with the same slots, batches and units
 * @param kept whether a slot is kept, by its index
 */
export function columnsWithin(set: ColumnSet, table: ModelTable, kept: readonly boolean[]): ColumnSet {
  const { width } = set;
  const some = new ColumnSet(table, width);
  for (let c = 0; c < set.count; c++) {
    const [first, end] = [c * width, c * width + (set.parts[c] as number)];
    let inside = true;
    for (let at = first; at < end && inside; at++) inside = kept[set.slots[at] as number] as boolean;
    if (inside) copyColumn(set, c, some);
  }
  return some;
}

/** columnsUsing divides a set, in its order, into the columns that use a class for some partition, and the others. */
export function columnsUsing(set: ColumnSet, classIndex: number): { using: ColumnSet; others: ColumnSet } {
  const { width, table } = set;
  const using = new ColumnSet(table, width);
  const others = new ColumnSet(table, width);
  for (let c = 0; c < set.count; c++) {
    const [first, end] = [c * width, c * width + (set.parts[c] as number)];
    let uses = false;
    for (let at = first; at < end && !uses; at++)
      uses = table.slots[set.slots[at] as number]?.classIndex === classIndex;
    copyColumn(set, c, uses ? using : others);
  }
  return { using, others };
}

function copyColumn(from: ColumnSet, c: number, to: ColumnSet): void {
  const { width } = from;
  const [first, end] = [c * width, c * width + (from.parts[c] as number)];
  to.reserve();
  const at = to.count++;
  to.parts[at] = from.parts[c] as number;
  to.latencyUs[at] = from.latencyUs[c] as number;
  to.ends.set(from.ends.subarray(first, end), at * width);
  to.slots.set(from.slots.subarray(first, end), at * width);
  to.batches.set(from.batches.subarray(first, end), at * width);
  to.gpusPerRps.set(from.gpusPerRps.subarray(first, end), at * width);
}

function grown<T extends Uint8Array | Uint16Array | Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/**
 * enumerateColumns lists every column of a model that meets its SLO (with margin and batch formation) and fits its
 * GPUs' memory, in a fixed order: depth first over batches, slots and cuts, or batch by batch if batches are unified.
 * It gives up past `limit` columns, which are too many to hold and must be priced instead, or when `stop`, which gets
 * the number of cuts looked at, returns true.
 * @returns undefined if it gave up; an empty set if no column meets the SLO
 */
export function enumerateColumns(
  table: ModelTable,
  options: ColumnOptions,
  { limit, stop = () => false }: { readonly limit: number; readonly stop?: Stop },
): ColumnSet | undefined {
  const set = new ColumnSet(table, options.maxPartitions);
  const search = new Enumeration(table, options, set, limit, stop);
  return search.run() ? set : undefined;
}

class Enumeration {
  private readonly ends: number[] = [];
  private readonly slots: number[] = [];
  private readonly batches: number[] = [];
  private readonly gpusPerRps: number[] = [];
  private steps = 0;

  constructor(
    private readonly table: ModelTable,
    private readonly options: ColumnOptions,
    private readonly set: ColumnSet,
    private readonly limit: number,
    private readonly stop: Stop,
  ) {}

  run(): boolean {
    if (!this.options.unifiedBatch) return this.extend(0, 0, undefined);
    return this.table.batches.every((_, batch) => this.extend(0, 0, batch));
  }

  /**
   * extend adds a partition from unit `first` on.
   * @returns false past the limit
   */
  private extend(first: number, latencyUs: number, batch: number | undefined): boolean {
    const { table, options } = this;
    const last = this.slots.length === options.maxPartitions - 1;
    const cuts = table.cuts;
    for (let b = batch ?? 0; b <= (batch ?? table.batches.length - 1); b++) {
      for (let s = 0; s < table.slots.length; s++) {
        const latencies = table.latencies[s * table.batches.length + b];
        if (latencies === undefined) continue;
        const arrived = latencyUs + this.transferInUs(first, s);
        this.steps += cuts.length;
        if (this.isOver()) return false;
        for (let e = last ? cuts.length - 1 : 0; e < cuts.length; e++) {
          const end = cuts[e] as number;
          if (end <= first) continue;
          const budgetUs = this.budgetUs(b);
          const leastUs = arrived + leastSpanUs(latencies, first, end);
          if (leastUs > budgetUs + ROUNDING * Math.abs(budgetUs)) break;
          const reached = arrived + spanUs(latencies, first, end);
          if (reached > budgetUs) continue;
          if (!this.step(first, end, s, b, reached, batch)) return false;
        }
      }
    }
    return true;
  }

  private step(
    first: number,
    end: number,
    s: number,
    b: number,
    reachedUs: number,
    batch: number | undefined,
  ) {
    const { table } = this;
    const slot = table.slots[s] as Slot;
    if (!fitsMemory(slot, (table.weightPrefix[end] as number) - (table.weightPrefix[first] as number)))
      return true;
    const size = table.batches[b] as number;
    const ownUs = spanUs(table.latencies[s * table.batches.length + b] as SpanLatencies, first, end);
    const inBytes = table.cutBytes[first] as number;
    const outBytes = table.cutBytes[end] as number;
    const rps = virtualGpuRps(slot, size, ownUs, inBytes, outBytes, this.options.linkThroughput);
    this.ends.push(end);
    this.slots.push(s);
    this.batches.push(b);
    this.gpusPerRps.push(1 / (rps * slot.virtual));
    const go = end === table.units ? this.record(reachedUs) : this.extend(end, reachedUs, batch);
    this.ends.pop();
    this.slots.pop();
    this.batches.pop();
    this.gpusPerRps.pop();
    return go;
  }

  /** A batch crosses at the slower link between the partition before and this one, in the sender's batch size. */
  private transferInUs(first: number, s: number): number {
    const from = this.slots.at(-1);
    if (from === undefined) return 0;
    const link = slowerLink(this.table.slots[from] as Slot, this.table.slots[s] as Slot);
    const size = this.table.batches[this.batches.at(-1) as number] as number;
    return size * transferUs(this.table.cutBytes[first] as number, link);
  }

  /** Batch formation is counted for the largest batch of the pipeline. */
  private budgetUs(b: number): number {
    const largest = this.batches.length === 0 ? b : Math.max(b, largestOf(this.batches));
    return this.table.budgetUs[largest] as number;
  }

  private isOver(): boolean {
    if (this.steps < STOP_EVERY) return false;
    const steps = this.steps;
    this.steps = 0;
    return this.stop(steps);
  }

  private record(latencyUs: number): boolean {
    const { set } = this;
    if (set.count >= this.limit) return false;
    set.reserve();
    const c = set.count++;
    set.parts[c] = this.ends.length;
    set.latencyUs[c] = latencyUs;
    set.ends.set(this.ends, c * set.width);
    set.slots.set(this.slots, c * set.width);
    set.batches.set(this.batches, c * set.width);
    set.gpusPerRps.set(this.gpusPerRps, c * set.width);
    return true;
  }
}
