import type { ClassTable, ModelTable, Slot } from './tables.js';

/**
 * The powers of two that bring a problem's figures near 1. Absolute tolerances, our own and the solver's, then mean the same
 * whatever units a spec counts in. Powers of two change no digit, so figures come back as they went in.
 */
export interface Scale {
  /** By model: requests per second that the search counts as 1. */
  readonly rps: readonly number[];
  /** Throughput/weight, or price, that the search counts as 1. */
  readonly value: number;
}

/** Tables in the search's own units, and what a unit is. */
export interface Normalised {
  readonly classes: ClassTable;
  readonly tables: readonly ModelTable[];
  readonly scale: Scale;
}

/**
 * Tables whose rates, weights and prices lie near 1. A model's unit of rate is what one GPU serves at most, or the rate it is
 * to meet; its times, and the bytes that cross its cuts, grow by as much as its rates fall. The largest weight or price is
 * between 1 and 2.
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
  const largest = objective === 'price' ? Math.max(...classes.unitCost) : Math.max(...weights);
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
    prefixUs: table.prefixUs.map((row) => (row === undefined ? undefined : scaled(row))),
    allowedUs: table.allowedUs * unitRps,
    budgetUs: scaled(table.budgetUs),
    batchFormationUsPerRequest: table.batchFormationUsPerRequest * unitRps,
    weight: table.weight / unitRps / unitWeight,
    rps: table.rps === undefined ? undefined : table.rps / unitRps,
  };
}

/** Requests per second of the GPU that is fastest with the whole model, whatever the SLO; 0 where none was measured. */
export function fastestGpuRps({ slots, batches, prefixUs, units }: ModelTable): number {
  let best = 0;
  slots.forEach(({ virtual }: Slot, s) => {
    batches.forEach((size, b) => {
      const us = prefixUs[s * batches.length + b]?.[units];
      if (us !== undefined) best = Math.max(best, (1e6 * size * virtual) / us);
    });
  });
  return best;
}

/** The largest power of two that is not larger; 1 for what is not positive. */
export function powerOfTwo(figure: number): number {
  if (!(figure > 0) || figure === Infinity) return 1;
  const power = 2 ** Math.floor(Math.log2(figure));
  if (power > figure) return power / 2;
  return 2 * power <= figure ? 2 * power : power;
}
