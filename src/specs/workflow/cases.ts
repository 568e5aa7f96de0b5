import { pushAll } from '../../collections/index.js';
import { leastMeanMs } from '../../dyorc/index.js';
import {
  type Fault,
  fault,
  InputError,
  type OpenCluster,
  option,
  type WorkflowSpec,
  workflowMethodOf,
} from '../../formats/index.js';
import { type CompareCases, rowFaults } from '../asked-cases.js';
import { mixedClusters, type OpenMix, openMix, parseMix } from '../mixes.js';
import { msPoints, sweepOf } from '../sweeps.js';
import type { LoadedWorkflows } from './workflow.js';

/** WorkflowCase is one question of a comparison of workflows: a spec and a cluster. */
export interface WorkflowCase extends OpenMix {
  /** The point of the sweep as it was asked for. */
  readonly slo?: string;
  readonly spec: WorkflowSpec;
  readonly cluster: OpenCluster;
}

/**
 * workflowCases lists every case of a comparison of workflows, ordered by mix, then SLO. A sweep changes the SLO of the
 * one workflow that has one.
 * @param told the faults that were found before
 * @throws InputError with every fault of the mixes and sweeps, also where they ask for nothing or for more than 1000 cases
 */
export function workflowCases(loaded: LoadedWorkflows, asked: CompareCases, told: Fault[]): WorkflowCase[] {
  const { value: spec, path } = loaded.spec;
  const timed = spec.workflows.filter(({ sloMs }) => sloMs !== undefined);
  if (workflowMethodOf(spec) === 'given')
    told.push(fault('is given: there is nothing to plan for other clusters or SLOs', '/planner/method'));
  if (asked.budget !== undefined) told.push(fault('is not for workflows: name mixes', option('budget')));
  const sweeps = sweepOf(asked.sweeps, told, {
    margin: 'sweeps margins, which only pooled specs have',
    accuracy: 'sweeps accuracies, which only cascades promise',
    ...(timed.length === 1
      ? {}
      : {
          slo: `sweeps one SLO, and ${timed.length === 0 ? 'no workflow has any' : `${timed.length} workflows have their own`}`,
        }),
  });
  const { cluster: own } = loaded.files;
  const mixes = asked.mixes.flatMap((mix) => parseMix(mix, own, told));
  const clusters = asked.mixes.length === 0 ? [own] : mixedClusters(own, mixes);
  if (asked.mixes.length === 0 && asked.sweeps.length === 0)
    told.push(fault('nothing to compare: name mixes (--mix) or a sweep (--sweep)'));
  const name = timed[0]?.name;
  const slos =
    sweeps.slo === undefined || name === undefined
      ? [undefined]
      : msPoints(sweeps.slo, sweeps.slo.unit === 'x' ? leastMeanMs(loaded.resolved, name) : 0);
  pushAll(told, rowFaults(clusters.length * slos.length));
  if (told.length > 0) throw new InputError(`compare ${path}`, told);
  return clusters.flatMap((cluster) =>
    slos.map((slo) => ({
      ...openMix(cluster),
      ...(slo === undefined ? {} : { slo: slo.text }),
      spec: slo === undefined ? spec : withSlo(spec, slo.sloMs),
      cluster,
    })),
  );
}

/** withSlo gives the workflow that has an SLO another one. */
function withSlo(spec: WorkflowSpec, sloMs: number): WorkflowSpec {
  const workflows = spec.workflows.map((workflow) =>
    workflow.sloMs === undefined ? workflow : { ...workflow, sloMs },
  );
  return { ...spec, workflows };
}
