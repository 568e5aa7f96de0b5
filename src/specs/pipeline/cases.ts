import { itemAt, pushAll, smallestOf } from '../../collections/index.js';
import {
  type Fault,
  fault,
  InputError,
  type OpenCluster,
  option,
  type PipelineSpec,
  pipelineMethodOf,
} from '../../formats/index.js';
import { longestPath, type OpenProblem } from '../../pipeline/index.js';
import { type CompareCases, rowFaults } from '../asked-cases.js';
import { mixedClusters, type OpenMix, openMix, parseMix } from '../mixes.js';
import { type MsPoint, msPoints, type Range, sweepOf } from '../sweeps.js';
import type { LoadedPipeline } from './pipeline.js';

/** PipelineCase is one question of a comparison of pipelines: a spec and a cluster. */
export interface PipelineCase extends OpenMix {
  /** The point of the sweep as it was asked for. */
  readonly slo?: string;
  readonly spec: PipelineSpec;
  readonly cluster: OpenCluster;
}

/**
 * pipelineCases lists every case of a comparison of a pipeline, ordered by mix, then SLO. Sweeps change `sloMs`; further
 * objectives stay as they are.
 * @param told the faults that were found before
 * @throws InputError with every fault of the mixes and sweeps, also where they ask for nothing or for more than 1000 cases
 */
export function pipelineCases(loaded: LoadedPipeline, asked: CompareCases, told: Fault[]): PipelineCase[] {
  const { value: spec, path } = loaded.spec;
  if (pipelineMethodOf(spec) === 'given')
    told.push(fault('is given: there is nothing to plan for other clusters or SLOs', '/planner/method'));
  if (asked.budget !== undefined)
    told.push(fault('is for pooled specs: a pipeline costs as little as it can', option('budget')));
  const sweeps = sweepOf(asked.sweeps, told, {
    margin: 'sweeps margins, which only pooled specs have',
    accuracy: 'sweeps accuracies, which only cascades promise',
    ...(spec.applications === undefined
      ? {}
      : { slo: 'sweeps one SLO, and each application of the spec has its own' }),
  });
  const { cluster: own } = loaded.files;
  const mixes = asked.mixes.flatMap((mix) => parseMix(mix, own, told));
  const clusters = asked.mixes.length === 0 ? [own] : mixedClusters(own, mixes);
  if (asked.mixes.length === 0 && asked.sweeps.length === 0)
    told.push(fault('nothing to compare: name mixes (--mix) or a sweep (--sweep)'));
  const slos = sweeps.slo === undefined ? [undefined] : slosOf(loaded.open, sweeps.slo, told);
  pushAll(told, rowFaults(clusters.length * slos.length));
  if (told.length > 0) throw new InputError(`compare ${path}`, told);
  return clusters.flatMap((cluster) =>
    slos.map((slo) => ({
      ...openMix(cluster),
      ...(slo === undefined ? {} : { slo: slo.text }),
      spec: slo === undefined ? spec : { ...spec, sloMs: slo.sloMs },
      cluster,
    })),
  );
}

/**
 * slosOf lists the SLOs of a sweep. SLOs in the unit `x` are multiples of the longest path with each stage on
 * its fastest class, one row at a time and without transfers.
 */
function slosOf(open: OpenProblem | undefined, range: Range, told: Fault[]): MsPoint[] {
  if (range.unit !== 'x') return msPoints(range, 0);
  const fastestUs = (open?.stages ?? []).map(({ candidates }) =>
    smallestOf(candidates.map(({ latencyUsByBatch }) => latencyUsByBatch[0] ?? Number.POSITIVE_INFINITY)),
  );
  const pathUs = open && longestPath(open.graph, { stageUs: (i) => itemAt(fastestUs, i), edgeUs: () => 0 });
  const ms = (pathUs?.latencyUs ?? 0) / 1e3;
  if (open !== undefined && !(ms > 0 && ms < Number.POSITIVE_INFINITY))
    told.push(fault('needs a latency at batch 1 of every stage, which profiles lack', option('sweeps')));
  return msPoints(range, ms);
}
