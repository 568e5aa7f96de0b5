import { itemAt, pushAll } from '../../collections/index.js';
import { type Cluster, type Fault, fault, InputError, type PooledSpec } from '../../formats/index.js';
import { type CompareCases, rowFaults } from '../asked-cases.js';
import { type Mix, mixText, parseMix, withMix } from '../mixes.js';
import { pointsOf, sweepOf } from '../sweeps.js';
import { budgetMixes } from './budget-mixes.js';
import type { LoadedPooled } from './pooled.js';
import { type SloPoint, slosOf } from './slos.js';

/** CompareCase is one question of a comparison: a spec, a cluster, and what distinguishes them from the others. */
export interface CompareCase {
  /** The number of GPUs by class; the spec's own where no mix was asked for. */
  readonly mix: Mix;
  /** The point of the sweep as it was asked for: `5x`, `120 ms`. */
  readonly slo?: string;
  readonly margin?: number;
  readonly spec: PooledSpec;
  readonly cluster: Cluster;
}

/**
 * compareCases lists every case of a comparison, ordered by mix, then SLO, then margin. Equal mixes count once. Without
 * mixes and budget, every case has the spec's own cluster. A swept margin replaces all margins of the spec.
 * @param told the faults that were found before
 * @throws InputError with every fault of the mixes and sweeps, also where there are none of either, or more than 1000
 *   cases
 */
export function compareCases(loaded: LoadedPooled, asked: CompareCases, told: Fault[]): CompareCase[] {
  const mixes = clustersOf(loaded, asked, told);
  const sweeps = sweepOf(asked.sweeps, told, { accuracy: 'sweeps accuracies, which only cascades promise' });
  if (asked.mixes.length === 0 && asked.budget === undefined && asked.sweeps.length === 0)
    told.push(fault('nothing to compare: name mixes (--mix, --budget) or a sweep (--sweep)'));
  const slos = sweeps.slo === undefined ? [undefined] : slosOf(loaded, sweeps.slo, told);
  const margins = sweeps.margin === undefined ? [undefined] : pointsOf(sweeps.margin);
  const rows = mixes.length * slos.length * margins.length;
  pushAll(told, rowFaults(rows));
  if (told.length > 0) throw new InputError(`compare ${loaded.spec.path}`, told);
  return mixes.flatMap(({ mix, cluster }) =>
    slos.flatMap((slo) =>
      margins.map((margin): CompareCase => {
        const spec = withMargin(withSlos(loaded.spec.value, slo), margin);
        return {
          mix,
          ...(slo === undefined ? {} : { slo: slo.text }),
          ...(margin === undefined ? {} : { margin }),
          spec,
          cluster,
        };
      }),
    ),
  );
}

interface MixedCluster {
  readonly mix: Mix;
  readonly cluster: Cluster;
}

function clustersOf(loaded: LoadedPooled, { mixes, budget }: CompareCases, told: Fault[]): MixedCluster[] {
  const { cluster } = loaded;
  if (mixes.length === 0 && budget === undefined) return [{ mix: freeGpus(cluster), cluster }];
  const named = mixes.flatMap((mix) => parseMix(mix, cluster, told));
  const bought = budget === undefined ? [] : budgetMixes(loaded, budget, told);
  const distinct = new Map([...named, ...bought].map((mix) => [mixText(mix), mix]));
  return [...distinct.values()].map((mix) => ({ mix, cluster: withMix(cluster, mix) }));
}

function freeGpus({ devices }: Cluster): Mix {
  return Object.fromEntries(
    Object.entries(devices).map(([name, { count, taken = 0 }]) => [name, Math.max(0, count - taken)]),
  );
}

function withSlos(spec: PooledSpec, slo: SloPoint | undefined): PooledSpec {
  if (slo === undefined) return spec;
  const models = spec.models.map((model, m) => ({ ...model, sloMs: itemAt(slo.sloMs, m) }));
  return { ...spec, models };
}

/** withMargin sets one margin for all. It replaces the margins of single models, and one in milliseconds. */
function withMargin(spec: PooledSpec, margin: number | undefined): PooledSpec {
  if (margin === undefined) return spec;
  const models = spec.models.map(({ sloMargin: _, sloMarginMs: __, ...model }) => model);
  const { sloMarginMs: _, ...planner } = spec.planner ?? {};
  return { ...spec, models, planner: { ...planner, sloMargin: margin } };
}
