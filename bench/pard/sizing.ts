/** SizedStage is a stage of an application as its batch and workers follow from it. */
export interface SizedStage {
  /** What a batch takes, from one of 1 on. */
  readonly latencyMs: readonly number[];
  /** The share of requests that come to it. */
  readonly visits: number;
  /** The stages that its results go to, all of them later ones. */
  readonly next: readonly number[];
}

/** Stages are busy for this share of their time at the mean rate, as the tuner `by-rate` keeps them. */
export const UTILISATION = 0.8;

/** The share of the cluster that is in use at the mean rate. */
const MEAN_SHARE = 1 / 4;
const RATE_STEP_RPS = 10;
const ROUNDING = 1e-9;

/**
 * sizedBatches gives each stage its batch as Nexus does, which PARD names as its model: a request that just misses a batch
 * waits for that one and is in the next, so twice the durations along every path must be within the SLO. Of all such batches
 * those are taken by which a request takes least device time.
 * @throws Error where even batches of 1 take too long
 */
export function sizedBatches(stages: readonly SizedStage[], sloMs: number): number[] {
  const leastAfterMs = stages.map(() => 0);
  const leastRestMs = [...stages.map(() => 0), 0];
  for (let i = stages.length - 1; i >= 0; i--) {
    const { next, latencyMs } = stages[i] as SizedStage;
    for (const to of next) {
      const withIt = 2 * (stages[to]?.latencyMs[0] as number) + (leastAfterMs[to] as number);
      leastAfterMs[i] = Math.max(leastAfterMs[i] as number, withIt);
    }
    leastRestMs[i] = (leastRestMs[i + 1] as number) + workMs(stages[i] as SizedStage, latencyMs.length);
  }
  let best: { workMs: number; batches: number[] } = { workMs: Number.POSITIVE_INFINITY, batches: [] };
  const batches: number[] = [];
  /** choose sets the batch of stage i, where what is before each stage takes `startMs` and a request `sofarMs`. */
  const choose = (i: number, startMs: readonly number[], sofarMs: number): void => {
    const stage = stages[i];
    if (stage === undefined) {
      best = { workMs: sofarMs, batches: [...batches] };
      return;
    }
    for (let batch = stage.latencyMs.length; batch >= 1; batch--) {
      const endMs = (startMs[i] as number) + 2 * (stage.latencyMs[batch - 1] as number);
      if (endMs + (leastAfterMs[i] as number) > sloMs + ROUNDING) continue;
      const workedMs = sofarMs + workMs(stage, batch);
      // Smaller batches take more time for each request.
      if (workedMs + (leastRestMs[i + 1] as number) >= best.workMs) return;
      batches[i] = batch;
      const after = startMs.map((ms, k) => (stage.next.includes(k) ? Math.max(ms, endMs) : ms));
      choose(i + 1, after, workedMs);
    }
  };
  choose(
    0,
    stages.map(() => 0),
    0,
  );
  if (best.batches.length === 0) throw new Error(`no batches keep an SLO of ${sloMs} ms`);
  return best.batches;
}

/** workMs is the device time that a request takes in a stage in full batches. */
function workMs({ latencyMs, visits }: SizedStage, batch: number): number {
  return (visits * (latencyMs[batch - 1] as number)) / batch;
}

/** workers gives each stage the workers that serve a rate at a target utilisation. */
export function workers(
  stages: readonly SizedStage[],
  batches: readonly number[],
  { rps, utilisation = UTILISATION }: { readonly rps: number; readonly utilisation?: number | undefined },
): number[] {
  return stages.map((stage, i) => {
    const busy = (rps * workMs(stage, batches[i] as number)) / 1000;
    return Math.max(1, Math.ceil(busy / utilisation - ROUNDING));
  });
}

/** plannedRps is the largest multiple of ten requests/s whose workers are a quarter of the cluster's GPUs. */
export function plannedRps(
  stages: readonly SizedStage[],
  batches: readonly number[],
  clusterGpus: number,
): number {
  let rps = 0;
  const gpus = (rate: number) =>
    workers(stages, batches, { rps: rate }).reduce((sum, count) => sum + count, 0);
  while (gpus(rps + RATE_STEP_RPS) <= MEAN_SHARE * clusterGpus) rps += RATE_STEP_RPS;
  return rps;
}

/**
 * standby gives the other GPUs of the cluster to stages, as their standby devices: the next one always to the stage that
 * has the smallest share of what its requests need.
 * @throws Error where more GPUs are in use than there are
 */
export function standby(
  stages: readonly SizedStage[],
  batches: readonly number[],
  { replicas, clusterGpus }: { readonly replicas: readonly number[]; readonly clusterGpus: number },
): number[] {
  const needs = stages.map((stage, i) => workMs(stage, batches[i] as number));
  const has = [...replicas];
  const used = has.reduce((sum, count) => sum + count, 0);
  if (used > clusterGpus)
    throw new Error(`${used} GPUs are needed at the mean rate, and there are ${clusterGpus}`);
  const shareOf = (i: number) => (has[i] as number) / (needs[i] as number);
  for (let left = clusterGpus - used; left > 0; left--) {
    const poorest = has.reduce((least, _, i) => (shareOf(i) < shareOf(least) ? i : least), 0);
    has[poorest]! += 1;
  }
  return has.map((count, i) => count - (replicas[i] as number));
}
