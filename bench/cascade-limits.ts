/**
 * This benchmark draws families of 10,000 samples, and tells how far the limits of their cascades lie above the best cascades
 * that were found, and what counting them costs:
 *
 *     node dist/bench/cascade-limits.js [--samples 10000] [--families 5] [--models 3] [--json file]
 *
 * The distance is told of the rightest cascade, and, as the largest and the mean one over all amounts of work, of the
 * rightest cascade with no more work. Times are of the processor.
 */
import { type CascadeSpace, cascadeSpace, type FamilyModel } from '../src/gearplan/index.js';
import { streamOf } from '../src/random/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { saveResult } from './results/result.js';
import { tableText } from './results/table.js';

const USAGE = 'node dist/bench/cascade-limits.js [--samples 10000] [--families 5] [--models 3] [--json file]';
const THRESHOLDS = 32;
const QUANTILE = 0.95;
const COUNTS = [3, 4, 5, 8];

const { values } = benchArguments(USAGE, {
  samples: { type: 'string', default: '10000' },
  families: { type: 'string', default: '5' },
  models: { type: 'string' },
  json: { type: 'string' },
});
const samples = benchNumber(USAGE, '--samples', values.samples);
const families = benchNumber(USAGE, '--families', values.families);
const counts = values.models === undefined ? COUNTS : [benchNumber(USAGE, '--models', values.models)];
const rows = counts.flatMap((count) =>
  [false, true].flatMap((isApart) =>
    Array.from({ length: families }, (_, seed) => measured({ seed: seed + 1, count, isApart })),
  ),
);
process.stdout.write(
  tableText([
    ['models', 'on a device', 'family', 'above the best', 'most above', 'above on average', 'CPU s'],
    ...rows.map(({ count, isApart, seed, atTop, most, mean, cpuS }) => [
      ...[String(count), isApart ? 'some' : 'all', String(seed)],
      ...[atTop, most, mean].map((distance) => distance.toFixed(4)),
      cpuS.toFixed(1),
    ]),
  ]),
);
saveResult(values.json, { bench: 'cascade-limits', options: { samples, families }, measures: [], rows });

function measured({ seed, count, isApart }: { seed: number; count: number; isApart: boolean }) {
  const models = drawnFamily(seed, count);
  const memoryBytes = isApart ? models.length - 1 : models.length;
  const before = process.cpuUsage();
  const space = cascadeSpace({ models, thresholds: THRESHOLDS, quantile: QUANTILE, memoryBytes });
  const { user, system } = process.cpuUsage(before);
  return { count, isApart, seed, ...distancesOf(space), cpuS: (user + system) / 1e6 };
}

/** distancesOf sets each limit beside the rightest cascade that has no more work and no higher floor. */
function distancesOf({ cascades, limits }: CascadeSpace) {
  const distances = limits.flatMap((limit) => {
    const best = cascades.find(
      ({ workNs, floorNs }) => workNs <= limit.workNs * (1 + 1e-12) && floorNs <= limit.floorNs,
    );
    return best === undefined ? [] : [Math.max(0, limit.accuracy - best.accuracy)];
  });
  return {
    atTop: (limits[0]?.accuracy ?? 0) - (cascades[0]?.accuracy ?? 0),
    most: Math.max(...distances),
    mean: distances.reduce((sum, distance) => sum + distance, 0) / distances.length,
  };
}

/** drawnFamily draws models that are right and certain about much the same samples, the dearer ones more often. */
function drawnFamily(seed: number, count: number): FamilyModel[] {
  const stream = streamOf(seed, `limits of ${count} models`);
  const ease = Float64Array.from({ length: samples }, () => stream.normal());
  let ns = 1e6;
  return Array.from({ length: count }, (_, model): FamilyModel => {
    ns *= 1.5 + 2 * stream.uniform();
    const own = ease.map((z) => 0.3 + (0.9 * model) / count + z + 0.5 * stream.normal());
    return {
      name: `m${model}`,
      latencyNs: Float64Array.from({ length: 8 }, (_, b) => Math.round(ns * (1 + 0.4 * b))),
      memoryBytes: 1,
      correct: Uint8Array.from(own, (x) => (x > 0 ? 1 : 0)),
      certainty: own.map((x) => Math.tanh(Math.abs(x + 0.3 * stream.normal()))),
    };
  });
}
