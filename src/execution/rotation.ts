import { setTimeout as sleep } from 'node:timers/promises';
import { itemAt } from '../collections/index.js';
import { monotonicNs } from './clock.js';
import type { Executor } from './executor.js';
import { freeMemory } from './free-memory.js';
import type { Tensors } from './protocol.js';

/**
 * MeasurePace says how long a measurement pauses before each run, and when it ends: after `minRuns` rotations and
 * `minMs`, pauses included, or after `maxMs` in any case. Rotations are whole, and at least one is made.
 */
export interface MeasurePace {
  /** The number of rotations before those that count; they are not part of the times. */
  readonly warmupRuns: number;
  readonly minRuns: number;
  readonly minMs: number;
  readonly maxMs: number;
  readonly pauseMs: number;
}

/** FedModel is a model of an executor, with what it is fed in every run. */
export interface FedModel {
  readonly model: number;
  readonly feeds: Tensors;
}

/** Measured holds every measured run of a model, in order. */
export interface Measured {
  /** When its feeds were handed over (CLOCK_MONOTONIC, ns). */
  readonly startedNs: Float64Array;
  /** The time from then until its outputs were here: how long a batch occupies the executor of a server. */
  readonly durationUs: Float64Array;
  /** The part of it that the executor's run took, with the hold-back of an emulated device. */
  readonly executionUs: Float64Array;
}

/**
 * measureRotation runs loaded models in turn as a server runs batches: it sends the feeds of the first, waits for its
 * outputs, goes on to the last, and begins again with the first. It times every run after the warm-up. All models get
 * equally many runs, and each finds the caches as the others left them. The answer has one entry per model, in the order
 * of `parts`.
 * @throws as `Executor.run` does
 */
export async function measureRotation(
  executor: Pick<Executor, 'run'>,
  parts: readonly FedModel[],
  { warmupRuns, minRuns, minMs, maxMs, pauseMs }: MeasurePace,
): Promise<Measured[]> {
  for (let i = 0; i < warmupRuns; i++) for (const part of parts) await timedRun(executor, part);
  const turns = parts.map((): OneRun[] => []);
  const beginNs = monotonicNs();
  for (let rotations = 1; ; rotations++) {
    for (const [i, part] of parts.entries()) {
      if (pauseMs > 0) await sleep(pauseMs);
      itemAt(turns, i).push(await timedRun(executor, part));
    }
    const elapsedMs = (monotonicNs() - beginNs) / 1e6;
    if (elapsedMs >= maxMs || (rotations >= minRuns && elapsedMs >= minMs)) break;
  }
  return turns.map((runs) => ({
    startedNs: Float64Array.from(runs, (run) => run.startedNs),
    durationUs: Float64Array.from(runs, (run) => run.durationUs),
    executionUs: Float64Array.from(runs, (run) => run.executionUs),
  }));
}

interface OneRun {
  readonly startedNs: number;
  readonly durationUs: number;
  readonly executionUs: number;
}

async function timedRun(executor: Pick<Executor, 'run'>, { model, feeds }: FedModel): Promise<OneRun> {
  const startedNs = monotonicNs();
  const { executionUs, outputs } = await executor.run(model, feeds);
  const durationUs = (monotonicNs() - startedNs) / 1000;
  // Outputs may be large, and a rotation makes many of them.
  const memory = Object.values(outputs).flatMap(({ data }) => ('buffer' in data ? [data.buffer] : []));
  for (const shared of new Set(memory)) freeMemory(new Uint8Array(shared));
  return { startedNs, durationUs, executionUs };
}
