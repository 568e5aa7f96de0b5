import {
  type Cluster,
  type Fault,
  fault,
  InputError,
  type OpenCluster,
  option,
  type PipelineSpec,
} from '../../artifacts/index.js';
import type { OpenProblem } from '../../pipeline/index.js';
import type { LoadedPipeline } from '../solve/index.js';
import type { CompareCases } from './cases.js';
import { type Mix, mixText, parseMix, withMix } from './mixes.js';
import { type Range, sloPoints, sweepOf } from './sweeps.js';

/** PipelineCase is one question of a comparison of pipelines: a spec and a cluster. */
export interface PipelineCase {
  /** The number of GPUs of the classes that have a limit. */
  readonly mix: Mix;
  /** The classes without a limit. */
  readonly unlimited: readonly string[];
  /** The point of the sweep as it was asked for. */
  readonly slo?: string;
  readonly spec: PipelineSpec;
  readonly cluster: OpenCluster;
}

/** A comparison with more rows than this would be too long to read. */
const MOST_ROWS = 1000;

/**
 * pipelineCases lists every case of a comparison of a pipeline, ordered by mix, then SLO. Sweeps change `sloMs`; further
 * objectives stay as they are.
 * @throws InputError with every fault of the mixes and sweeps, also where they ask for nothing or for more than 1000 cases
 */
export async function pipelineCases(loaded: LoadedPipeline, asked: CompareCases): Promise<PipelineCase[]> {
  const told: Fault[] = [];
  const { value: spec, path } = loaded.spec;
  const { cluster } = loaded.files;
  if (spec.planner.method === 'given')
    told.push(fault('is given: there is nothing to plan for other clusters or SLOs', '/planner/method'));
  if (asked.budget !== undefined)
    told.push(fault('is for pooled specs: a pipeline costs as little as it can', option('budget')));
  const sweeps = sweepOf(asked.sweeps, told);
  if (sweeps.margin !== undefined)
    told.push(fault('sweeps margins, which only pooled specs have', option('sweeps')));
  const mixes = asked.mixes.flatMap((mix) => parseMix(mix, cluster, told));
  if (asked.mixes.length === 0 && asked.sweeps.length === 0)
    told.push(fault('nothing to compare: name mixes (--mix) or a sweep (--sweep)'));
  const slos = sweeps.slo === undefined ? [undefined] : await slosOf(loaded.open, sweeps.slo, told);
  const distinct = new Map(mixes.map((mix) => [mixText(mix), mix]));
  const clusters = distinct.size === 0 ? [cluster] : [...distinct.values()].map((mix) => mixed(cluster, mix));
  const rows = clusters.length * slos.length;
  if (rows > MOST_ROWS) told.push(fault(`${rows} plans are asked for; at most ${MOST_ROWS} are compared`));
  if (told.length > 0) throw new InputError(`compare ${path}`, told);
  return clusters.flatMap((one) =>
    slos.map((slo) => ({
      ...gpusOf(one),
      ...(slo === undefined ? {} : { slo: slo.text }),
      spec: slo === undefined ? spec : { ...spec, sloMs: slo.sloMs },
      cluster: one,
    })),
  );
}

function mixed(cluster: OpenCluster, mix: Mix): OpenCluster {
  return withMix(cluster as Cluster, mix);
}

function gpusOf({ devices }: OpenCluster): Pick<PipelineCase, 'mix' | 'unlimited'> {
  const mix: Record<string, number> = {};
  const unlimited: string[] = [];
  for (const [name, { count, taken = 0 }] of Object.entries(devices))
    if (count === undefined) unlimited.push(name);
    else mix[name] = Math.max(0, count - taken);
  return { mix, unlimited };
}

/**
 * slosOf lists the SLOs of a sweep. Those in the unit `x` are multiples of the longest path with each stage on its fastest
 * class, one row at a time and without transfers.
 */
async function slosOf(open: OpenProblem | undefined, range: Range, told: Fault[]) {
  const points = sloPoints(range);
  if (range.unit !== 'x')
    return points.map(({ text, n }) => ({ text, sloMs: range.unit === 's' ? n * 1e3 : n }));
  const fastestUs = (open?.stages ?? []).map(({ candidates }) =>
    Math.min(...candidates.map(({ latencyUsByBatch }) => latencyUsByBatch[0] ?? Number.POSITIVE_INFINITY)),
  );
  const { longestPath } = await import('../../pipeline/index.js');
  const pathUs = open && longestPath(open.graph, { stageUs: (i) => fastestUs[i] as number, edgeUs: () => 0 });
  const ms = (pathUs?.latencyUs ?? 0) / 1e3;
  if (open !== undefined && !(ms > 0 && ms < Number.POSITIVE_INFINITY))
    told.push(fault('needs a latency at batch 1 of every stage, which profiles lack', option('sweeps')));
  return points.map(({ text, n }) => ({ text, sloMs: n * ms }));
}
