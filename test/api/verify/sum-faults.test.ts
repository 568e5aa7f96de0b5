import { describe, expect, it } from 'vitest';
import { sumFaults } from '../../../src/api/verify/sum-faults.js';
import type { LoadDocument, ModelLoad } from '../../../src/artifacts/index.js';

const latency = (count: number) => ({ count, mean: 5, p50: 4, p90: 8, p95: 9, p99: 9, max: 10 });
const models: ModelLoad[] = [
  {
    ...{ name: 'a', sent: 20, answered: 15, inTime: 12, late: 3, dropped: 1, failed: 0, cancelled: 4 },
    ...{ attainment: 12 / 16, dropRate: 4 / 16, latencyMs: latency(15) },
  },
  { name: 'b', sent: 2, answered: 0, inTime: 0, late: 0, dropped: 0, failed: 0, cancelled: 2 },
];
/** Cancelled requests count in no share: 12 of 16 were in time, not of 22. */
const REPORT = {
  models,
  ...{ elapsedS: 3, sent: 22, answered: 15, inTime: 12, late: 3, dropped: 1, failed: 0, cancelled: 6 },
  ...{ attainment: 12 / 16, dropRate: 4 / 16, throughputRps: 5, goodputRps: 4, latencyMs: latency(15) },
} as LoadDocument;

const told = (change: Partial<LoadDocument>) =>
  sumFaults({ kind: 'load-report', path: 'load.json', sha256: '', value: { ...REPORT, ...change } }).map(
    ({ path, message }) => `${path?.replace('load.json#', '')}: ${message}`,
  );
const changedModel = (index: number, change: Partial<ModelLoad>) =>
  told({ models: models.map((model, i) => (i === index ? { ...model, ...change } : model)) });

describe('sumFaults()', () => {
  it('finds nothing where all follows from the counts, or differs by rounding alone', () => {
    expect(told({})).toEqual([]);
    expect(told({ attainment: 12 / 16 + 1e-12, throughputRps: 5 - 1e-12 })).toEqual([]);
  });

  it('finds outcomes that are not as many as were sent', () => {
    expect(told({ sent: 23, models: [{ ...models[0]!, sent: 21, failed: 1 }, models[1]!] })).toEqual([
      '/sent: is 23, and inTime + late + dropped + failed + cancelled is 22',
      '/models/0/attainment: is 0.75, and by the counts it is 0.7058823529411765',
      '/models/0/dropRate: is 0.25, and by the counts it is 0.23529411764705882',
      '/failed: is 0, and those of the models are 1',
    ]);
    expect(changedModel(1, { sent: 3 })).toEqual([
      '/models/1/sent: is 3, and inTime + late + dropped + failed + cancelled is 2',
      '/sent: is 22, and those of the models are 23',
    ]);
  });

  it('finds shares and rates that do not follow, and those that are missing or of nothing', () => {
    expect(told({ attainment: 12 / 22 })).toEqual([
      `/attainment: is ${12 / 22}, and by the counts it is 0.75`,
    ]);
    expect(told({ dropRate: 0, throughputRps: 4, goodputRps: 5, answered: 16 })).toEqual([
      '/answered: is 16, and inTime + late is 15',
      '/latencyMs/count: is 15, and 16 requests were answered',
      '/dropRate: is 0, and by the counts it is 0.25',
      '/throughputRps: is 4, and by the counts it is 5',
      '/goodputRps: is 5, and by the counts it is 4',
    ]);
    const { attainment, ...without } = models[0]!;
    expect(attainment).toBe(0.75);
    expect(told({ models: [without, models[1]!] })).toEqual([
      '/models/0/attainment: is missing, and by the counts it is 0.75',
    ]);
    expect(changedModel(1, { attainment: 1 })).toEqual([
      '/models/1/attainment: is 1, and there is nothing that it could be of',
    ]);
  });

  it('finds counts of priorities that are not those of all, and shares that do not follow', () => {
    const priorities = models.map(({ name, ...one }, i) => ({ priority: i, share: 0.5, ...one }));
    expect(told({ priorities })).toEqual([]);
    const [first, second] = priorities as [(typeof priorities)[0], (typeof priorities)[0]];
    expect(
      told({ priorities: [first, { ...second, sent: 3, failed: 1, attainment: 0, dropRate: 0 }] }),
    ).toEqual([
      '/sent: is 22, and those of the priorities are 23',
      '/failed: is 0, and those of the priorities are 1',
    ]);
    expect(told({ priorities: [{ ...first, dropRate: 0 }, second] })).toEqual([
      '/priorities/0/dropRate: is 0, and by the counts it is 0.25',
    ]);
  });

  it("finds an accuracy and shares of a cascade's models that do not follow", () => {
    const labelled = { samples: 9, answered: 8, right: 6 };
    const answeredBy = [
      { stage: 'small', rows: 6, share: 0.75 },
      { stage: 'large', rows: 2, share: 0.25 },
    ];
    expect(told({ labelled: { ...labelled, accuracy: 0.75 }, answeredBy })).toEqual([]);
    expect(told({ labelled: { ...labelled, answered: 0, right: 0 } })).toEqual([]);
    answeredBy[1]!.share = 0.3;
    expect(told({ labelled: { ...labelled, accuracy: 0.8 }, answeredBy })).toEqual([
      '/labelled/accuracy: is 0.8, and by the counts it is 0.75',
      '/answeredBy/1/share: is 0.3, and by the counts it is 0.25',
    ]);
  });
});
