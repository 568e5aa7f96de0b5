import { itemAt, pushAll, smallestOf } from '../../collections/index.js';
import { type CascadeSpec, type Fault, fault, InputError, type OpenCluster } from '../../formats/index.js';
import { type ResolvedCascade, resolveCascade } from '../../gearplan/index.js';
import { type CompareCases, rowFaults } from '../asked-cases.js';
import { oneClassMixes } from '../budget.js';
import { mixedClusters, type OpenMix, openMix, parseMix, withMix } from '../mixes.js';
import { type MsPoint, msPoints, pointsOf, type Range, sweepOf } from '../sweeps.js';
import type { LoadedCascade } from './cascade.js';

/** CascadeCase is one question of a comparison of cascades: a spec and a cluster. */
export interface CascadeCase extends OpenMix {
  /** The point of the sweep of latencies as it was asked for. */
  readonly slo?: string;
  /** The point of the sweep of accuracies. */
  readonly sloAccuracy?: number;
  readonly spec: CascadeSpec;
  readonly cluster: OpenCluster;
}

/**
 * cascadeCases lists every case of a comparison of a cascade, ordered by mix, then latency, then accuracy. A budget buys
 * devices of one class, since a plan has no other. Sweeps of SLOs change `slo.latencyMs`, and sweeps of accuracies
 * `slo.accuracy`.
 * @param told the faults that were found before
 * @throws InputError with every fault of the mixes and sweeps, also where they ask for nothing or for more than 1000 cases
 */
export function cascadeCases(loaded: LoadedCascade, asked: CompareCases, told: Fault[]): CascadeCase[] {
  const { value: spec, path } = loaded.spec;
  const { cluster: own } = loaded.files;
  const sweeps = sweepOf(asked.sweeps, told, { margin: 'sweeps margins, which only pooled specs have' });
  const classes = classesOf(loaded);
  const isUsable = (name: string): boolean => classes.some(({ device }) => device === name);
  const { budget } = asked;
  const bought = budget === undefined ? [] : oneClassMixes(own, { budget, isUsable }, told);
  const mixes = [...asked.mixes.flatMap((mix) => parseMix(mix, own, told)), ...bought];
  const isMixed = asked.mixes.length > 0 || budget !== undefined;
  const clusters = isMixed ? mixedClusters(own, mixes) : [own];
  if (!isMixed && asked.sweeps.length === 0)
    told.push(fault('nothing to compare: name mixes (--mix, --budget) or a sweep (--sweep)'));
  const slos = sweeps.slo === undefined ? [undefined] : latenciesOf(classes, sweeps.slo);
  const accuracies = sweeps.accuracy === undefined ? [undefined] : pointsOf(sweeps.accuracy);
  pushAll(told, rowFaults(clusters.length * slos.length * accuracies.length));
  if (told.length > 0) throw new InputError(`compare ${path}`, told);
  return clusters.flatMap((cluster) =>
    slos.flatMap((slo) =>
      accuracies.map((accuracy) => ({
        ...openMix(cluster),
        ...(slo === undefined ? {} : { slo: slo.text }),
        ...(accuracy === undefined ? {} : { sloAccuracy: accuracy }),
        spec: { ...spec, slo: sloOf(spec, slo?.sloMs, accuracy) },
        cluster,
      })),
    ),
  );
}

function sloOf({ slo }: CascadeSpec, latencyMs = slo.latencyMs, accuracy = slo.accuracy): CascadeSpec['slo'] {
  return {
    ...slo,
    ...(latencyMs === undefined ? {} : { latencyMs }),
    ...(accuracy === undefined ? {} : { accuracy }),
  };
}

/** classesOf gives the classes that could serve the family, whether the spec's cluster has devices of them or not. */
function classesOf({ spec, files }: LoadedCascade): ResolvedCascade['classes'] {
  const each = Object.fromEntries(Object.keys(files.cluster.devices).map((name) => [name, 1]));
  const outcome = resolveCascade(spec.value, { ...files, cluster: withMix(files.cluster, each) });
  return 'resolved' in outcome ? outcome.resolved.classes : [];
}

/**
 * latenciesOf lists the latencies of a sweep. Latencies in the unit `x` are multiples of the family's least
 * latency: that of its fastest model on its fastest class at batch 1.
 */
function latenciesOf(classes: ResolvedCascade['classes'], range: Range): MsPoint[] {
  const leastNs = smallestOf(
    classes.flatMap(({ problem }) => problem.models.map(({ latencyNs }) => itemAt(latencyNs, 0))),
  );
  return msPoints(range, leastNs / 1e6);
}
