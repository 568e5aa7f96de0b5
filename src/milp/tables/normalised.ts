import { largestOf } from '../../collections/index.js';
import { scaledSpans, spanUs } from './span-latencies.js';
import type { ClassTable, ModelTable, Slot } from './tables.js';

/**
 * Scale holds the powers of two that bring a problem's figures near 1, so that absolute tolerances mean the same in
 * whatever units a spec counts. Powers of two change no digit, so the conversion back is exact.
 */
export interface Scale {
  /** The requests per second of each model that the search counts as 1. */
  readonly rps: readonly number[];
  /** The throughput/weight, or the price, that the search counts as 1. */
  readonly value: number;
}

/** Normalised holds tables in the search's own units, and the units. */
export interface Normalised {
  readonly classes: ClassTable;
  readonly tables: readonly ModelTable[];
  readonly scale: Scale;
}

/**
 * normalised gives new tables in which rates, weights and prices lie near 1. A model's unit of rate is the highest rate
 * of one GPU or, for a price, the rate that the model must meet, rounded down to a power of two. Its times, and the
 * bytes that cross its cuts, grow as its rates shrink. The largest weight or price is from 1 to below 2. Links, memory
 * and weight bytes stay as they are.
 */
export function normalised(
  classes: ClassTable,
  tables: readonly ModelTable[],
  objective: 'throughput' | 'price',
): Normalised {
  const rps = tables.map((table) =>
    powerOfTwo(objective === 'price' ? (table.rps ?? 0) : fastestGpuRps(table)),
  );
  const weights = tables.map(({ weight }, m) => weight / (rps[m] as number));
  const largest = objective === 'price' ? largestOf(classes.unitCost) : largestOf(weights);
  const unit = powerOfTwo(largest);
  return {
    classes: { ...classes, unitCost: classes.unitCost.map((cost) => cost / unit) },
    tables: tables.map((table, m) => scaledTable(table, rps[m] as number, unit)),
    scale: { rps, value: objective === 'price' ? unit : 1 / unit },
  };
}

function scaledTable(table: ModelTable, unitRps: number, unitWeight: number): ModelTable {
  const scaled = (row: Float64Array) => row.map((figure) => figure * unitRps);
  return {
    ...table,
    cutBytes: scaled(table.cutBytes),
    latencies: table.latencies.map((one) => (one === undefined ? undefined : scaledSpans(one, unitRps))),
    allowedUs: table.allowedUs * unitRps,
    budgetUs: scaled(table.budgetUs),
    batchFormationUsPerRequest: table.batchFormationUsPerRequest * unitRps,
    weight: table.weight / unitRps / unitWeight,
    rps: table.rps === undefined ? undefined : table.rps / unitRps,
  };
}

/**
 * fastestGpuRps is the highest rate (requests/s) of one whole GPU of any class that runs the whole model, at its best
 * virtual size and batch, whatever the SLO and memory; 0 if none was measured.
 */
export function fastestGpuRps({ slots, batches, latencies, units }: ModelTable): number {
  let best = 0;
  slots.forEach(({ virtual }: Slot, s) => {
    batches.forEach((size, b) => {
      const row = latencies[s * batches.length + b];
      if (row !== undefined) best = Math.max(best, (1e6 * size * virtual) / spanUs(row, 0, units));
    });
  });
  return best;
}

/** powerOfTwo is the largest power of two that is not larger than a positive finite figure, and 1 for other figures. */
export function powerOfTwo(figure: number): number {
  if (!(figure > 0) || figure === Infinity) return 1;
  const power = 2 ** Math.floor(Math.log2(figure));
  if (power > figure) return power / 2;
  return 2 * power <= figure ? 2 * power : power;
}
