/** Larger batches count only where they have more rows a second by more than this. */
const LEAST_GAIN = 0.01;

/** BatchTime is how long a batch of a size takes. */
export interface BatchTime {
  readonly batch: number;
  readonly latencyUs: number;
}

/**
 * steadyBatch is the batch from which throughput grows no more (DyOrc §5.1): the smallest one that no larger one exceeds in rows a
 * second by more than 1 %.
 * @param times of at least one batch, by their sizes
 */
export function steadyBatch(times: readonly BatchTime[]): number {
  let [steady] = times.slice(-1) as [BatchTime];
  let most = rowsPerUs(steady);
  for (const time of times.toReversed()) {
    const rows = rowsPerUs(time);
    if (most <= rows * (1 + LEAST_GAIN)) steady = time;
    most = Math.max(most, rows);
  }
  return steady.batch;
}

function rowsPerUs({ batch, latencyUs }: BatchTime): number {
  return batch / latencyUs;
}
