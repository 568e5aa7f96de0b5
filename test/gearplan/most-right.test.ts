import { describe, expect, it } from 'vitest';
import { allCascades } from '../../bench/refute/cascades/every-cascade.js';
import { levelsOf } from '../../src/gearplan/levels.js';
import { MostRightSearch } from '../../src/gearplan/most-right.js';
import { streamOf } from '../../src/random/index.js';
import { seeds } from '../cases.js';
import { randomFamily } from './families.js';

describe('The most right answers of a sequence', () => {
  it('are those of its best cascade by brute force, and a bound on these where the work ends before', () => {
    for (const seed of seeds(25, 250)) {
      const stream = streamOf(seed, 'most right');
      const count = 2 + stream.integer(3);
      const samples = count === 4 ? 7 : 12;
      const models = randomFamily(stream, count, samples).map((model) => ({
        ...model,
        certainty: model.certainty.map(() => stream.integer(9)),
        correct: model.correct.map(() => stream.integer(2)),
      }));
      const search = new MostRightSearch(
        models,
        models.map(({ certainty }) => levelsOf(certainty)),
      );
      const sequence = models.map((_, model) => model).sort(() => stream.uniform() - 0.5);
      // A cascade of the first models is one of the sequence whose last thresholds nothing is below.
      // One that every sample passes by is as right as the sequence without that model.
      const own = allCascades(models, { quantile: 0.9 }).filter((one) =>
        one.models.every((model, step) => {
          const passed = (one.thresholds[step] ?? 0) > Math.max(...models[model]!.certainty);
          return model === sequence[step] && !passed;
        }),
      );
      const most = Math.round(samples * Math.max(...own.map(({ accuracy }) => accuracy)));
      const { bound, ranks } = search.of(sequence, -1, { left: 1e9 });
      expect(bound, `seed ${seed}`).toBe(most);
      expect(ranks, `seed ${seed}`).toBeDefined();
      expect(search.of(sequence, most, { left: 1e9 }), `seed ${seed}`).toEqual({ bound: most });
      expect(search.of(sequence, 0, { left: 0 }).bound, `seed ${seed}`).toBeGreaterThanOrEqual(most);
    }
  });
});
