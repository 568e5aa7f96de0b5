import { itemAt, smallestOf } from '../collections/index.js';
import type { PlannedPartition } from '../formats/index.js';
import type { PlanBody, VirtualGpuCounts } from '../milp/index.js';

/** Variant is a plan's pipelines with some GPUs in other pools. */
export interface Variant {
  readonly counts: VirtualGpuCounts;
  /** The rates that the models' pools then serve, in requests/s. */
  readonly plannedRps: readonly number[];
  /** How many whole GPUs are in another pool than before. */
  readonly moved: number;
}

/** A move takes at most one in this many GPUs of a pool, and at least one. */
const SMALL_PART = 50;
/** Two moves at once are tried where there are no more single ones than this. */
const MOST_PAIRED = 80;

interface Pool {
  readonly at: readonly [model: number, pipeline: number, partition: number];
  readonly partition: PlannedPartition;
}

/** Move takes whole GPUs from a pool, or idle ones, and gives them to another pool of their class. */
interface Move {
  readonly from: Pool | undefined;
  readonly to: Pool;
  readonly gpus: number;
}

/**
 * variantsOf gives the plans that one move of GPUs between two pools of a class makes of a plan, or those of two moves.
 * A move takes a small part of a pool's GPUs, all of them, or one that is idle. No variant comes twice, and none is the
 * plan itself. Whether the GPUs can be placed is not known here. Of single moves there are about as many as the square of
 * the number of pools, and of two moves the square of that.
 */
export function variantsOf(plan: PlanBody, atOnce: 'single' | 'double'): Variant[] {
  const moves = movesOf(plan);
  const lists =
    atOnce === 'single'
      ? moves.map((move) => [move])
      : moves.length > MOST_PAIRED
        ? []
        : moves.flatMap((one, i) => moves.slice(i + 1).map((other) => [one, other]));
  const seen = new Set([JSON.stringify(countsOf(plan))]);
  return lists.flatMap((list) => {
    const variant = moved(plan, list);
    const key = JSON.stringify(variant?.counts);
    if (variant === undefined || seen.has(key)) return [];
    seen.add(key);
    return [variant];
  });
}

function countsOf({ models }: PlanBody): number[][][] {
  return models.map(({ pipelines }) =>
    pipelines.map(({ partitions }) => partitions.map(({ virtualGpus }) => virtualGpus)),
  );
}

function movesOf(plan: PlanBody): Move[] {
  const pools = poolsIn(plan);
  const between = pools.flatMap((from) =>
    pools.flatMap((to): Move[] => {
      if (from === to || from.partition.device !== to.partition.device) return [];
      return takenOf(from.partition).map((gpus) => ({ from, to, gpus }));
    }),
  );
  const isIdle = ({ device }: PlannedPartition) => {
    const { used = 0, count = 0 } = plan.classes[device] ?? {};
    return used < count;
  };
  const idle = pools.filter(({ partition }) => isIdle(partition));
  return [...idle.map((to): Move => ({ from: undefined, to, gpus: 1 })), ...between];
}

function poolsIn({ models }: PlanBody): Pool[] {
  return models.flatMap(({ pipelines }, m) =>
    pipelines.flatMap(({ partitions }, p) =>
      partitions.map((partition, d): Pool => ({ at: [m, p, d], partition })),
    ),
  );
}

/** takenOf says how many whole GPUs a move may take of a pool: a few, or all where the pool shares none. */
function takenOf({ virtualGpus, virtual }: PlannedPartition): number[] {
  const whole = Math.floor(virtualGpus / virtual);
  if (whole === 0) return [];
  const few = Math.max(1, Math.floor(whole / SMALL_PART));
  return virtualGpus % virtual === 0 && whole > few ? [few, whole] : [few];
}

/** moved gives the variant of some moves, undefined where they take more than a pool has. */
function moved(plan: PlanBody, moves: readonly Move[]): Variant | undefined {
  const counts = countsOf(plan);
  const add = ({ at: [m, p, d], partition: { virtual } }: Pool, gpus: number): number => {
    const row = counts[m]?.[p] as number[];
    row[d] = itemAt(row, d) + gpus * virtual;
    return row[d];
  };
  let gpus = 0;
  for (const move of moves) {
    if (move.from !== undefined && add(move.from, -move.gpus) < 0) return undefined;
    add(move.to, move.gpus);
    gpus += move.gpus;
  }
  return { counts, plannedRps: servedRps(plan, counts), moved: gpus };
}

function servedRps({ models }: PlanBody, counts: VirtualGpuCounts): number[] {
  return models.map(({ pipelines }, m) =>
    pipelines.reduce((sum, { partitions }, p) => {
      const rates = partitions.map(
        ({ throughputRps, virtualGpus }, d) =>
          (throughputRps / virtualGpus) * (counts[m]?.[p]?.[d] as number),
      );
      return sum + smallestOf(rates);
    }, 0),
  );
}
