import { NS_PER_S } from '../formats/index.js';
import type { PlanningProblem, StageCandidate } from './problem.js';

/** A ratio of decimal numbers may come out a little above the whole number that it is. */
const ROUNDING = 1e-9;

/** KeptUp is a class and a batch of a stage. */
interface KeptUp {
  readonly stage: number;
  readonly candidate: StageCandidate;
  readonly batch: number;
}

/**
 * keepingUp is how many replicas of a stage serve the mean rate of the load with full batches, at least 1. With fewer, a
 * backlog grows as long as the load lasts: a sample that ends before requests are late does not show it.
 */
export function keepingUp({ load }: Pick<PlanningProblem, 'load'>, { stage, ...one }: KeptUp): number {
  if (load === undefined) return 1;
  const visitsPerS = load.rps * (load.visits[stage] as number);
  return Math.max(1, Math.ceil(visitsPerS / replicaRps(one) - ROUNDING));
}

/** replicaRps is the throughput of a replica with full batches, in tasks per second. */
export function replicaRps({ candidate, batch }: Omit<KeptUp, 'stage'>): number {
  return (NS_PER_S * batch) / (candidate.latencyNs[batch - 1] as number);
}
