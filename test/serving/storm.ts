import { expect } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import type { StageTopology } from '../../src/serving/index.js';
import { arrivalTimes } from '../../src/workload/index.js';
import { type Run, runVirtual } from './virtual-driver.js';

const MS = 1e6;

/**
 * surviveStorm runs a core through a second in which everything may go wrong at once. Requests have several rows and
 * short deadlines, and some are cancelled. Every device is lost once, some for good. Batches fail, and in every fourth
 * storm the server drains. The driver throws where a core breaks its rules; this function also checks that every
 * outcome agrees with the clock.
 * @param choices how this run differs from the default of `runVirtual`; with `comesBack`, no device is lost for good
 */
export function surviveStorm(
  seed: number,
  topology: StageTopology,
  rps: number,
  {
    comesBack = false,
    ...choices
  }: Pick<Run, 'makeCore' | 'handsAhead' | 'shed'> & { readonly comesBack?: boolean } = {},
): void {
  const stream = streamOf(seed, 'storm');
  const times = arrivalTimes({ process: 'poisson', rps, durationS: 1, stream: streamOf(seed, 'arrivals') });
  const arrivals = Array.from(times, (at) => ({
    at,
    rows: 1 + stream.integer(4),
    weight: [1, 1, 4, 10][stream.integer(4)]!,
    ...(topology.models.length > 1 ? { model: stream.integer(topology.models.length) } : {}),
    deadline: at + (20 + stream.integer(150)) * MS,
    ...(stream.uniform() < 0.1 ? { cancelAt: at + stream.integer(120) * MS } : {}),
  }));
  const outages = topology.devices.map((_, device) => {
    const at = stream.integer(1000) * MS;
    return {
      at,
      device,
      ...(stream.uniform() < 0.7 || comesBack ? { until: at + 1 + stream.integer(300) * MS } : {}),
    };
  });
  const { ended } = runVirtual({
    topology,
    arrivals,
    outages,
    fails: () => stream.uniform() < 0.05,
    ...choices,
    ...(seed % 4 === 0 ? { drainAt: 700 * MS } : {}),
  });
  for (const { arrival, outcome, at } of ended) {
    const { deadline } = arrivals[arrival]!;
    if (outcome === 'inTime') expect(at).toBeLessThanOrEqual(deadline);
    if (outcome === 'late') expect(at).toBeGreaterThan(deadline);
  }
}
