import { describe, expect, it } from 'vitest';
import { cascadeSpace, KnownModels, type ResolvedCascade } from '../../src/gearplan/index.js';

/** resolvedCascade makes a family of two models of its own each time, as a thread gets it with each job. */
function resolvedCascade(change: Partial<{ devices: number; ns: number; certainty: number }> = {}) {
  const { devices = 1, ns = 5e6, certainty = 0.5 } = change;
  const models = [1e6, ns].map((latencyNs, i) => ({
    name: `m${i}`,
    memoryBytes: 1,
    latencyNs: Float64Array.of(latencyNs),
    correct: Uint8Array.of(1, i, 1),
    certainty: Float64Array.of(0.9, 0.2, certainty),
  }));
  const problem = { devices, models, ranges: [], latencyNs: 1e9, quantile: 0.95, thresholds: 8 };
  const classes = [{ device: 'V100', order: [0, 1], problem: { ...problem, memoryBytes: 2 } }];
  return { objective: 'accuracy', accuracy: 0, classes, unable: [], notes: [] } satisfies ResolvedCascade;
}

const problemOf = (resolved: ResolvedCascade) => {
  const [of] = resolved.classes;
  if (of === undefined) throw new Error('the class is gone');
  return of.problem;
};

describe('KnownModels', () => {
  it('let the cascades of a family be found once for specs that are alike in it', () => {
    const known = new KnownModels();
    const first = problemOf(known.in(resolvedCascade()));
    const second = problemOf(known.in(resolvedCascade({ devices: 3 })));
    expect(second).toMatchObject({ devices: 3 });
    expect(cascadeSpace(second)).toBe(cascadeSpace(first));
    expect(cascadeSpace(problemOf(resolvedCascade()))).not.toBe(cascadeSpace(first));
  });

  it.each([{ ns: 6e6 }, { certainty: 0.6 }])('keep families apart that differ: %j', (change) => {
    const known = new KnownModels();
    const first = problemOf(known.in(resolvedCascade()));
    const other = problemOf(known.in(resolvedCascade(change)));
    expect(other.models).not.toBe(first.models);
    // Only the last family is kept.
    expect(problemOf(known.in(resolvedCascade())).models).not.toBe(first.models);
  });
});
