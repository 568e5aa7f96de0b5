import { pipelinePlanFaults, recountFaults, stageProfileFaults } from '../../checks/index.js';
import { NS_PER_MS } from '../../formats/index.js';
import type { StagePlanOf } from '../plan-of.js';
import { servingFaults } from '../plan-scheduler.js';
import { stageModels, stageParts } from '../stages/index.js';
import { plannedApplications } from './applications.js';
import { conditionalEdges } from './choices.js';
import { diffPipelines, pipelineFieldChanges } from './diff.js';
import { fatesOf } from './fates.js';
import { servedPipelineOf } from './served.js';
import { pipelineTopologyOf } from './topology.js';
import { tunedPipeline } from './tuned-pipeline.js';
import { pipelineWiring } from './wiring.js';

/**
 * PIPELINE_PLAN says what a pipeline plan is: one application, or several that share all stages, whose parts are the
 * stages of a graph.
 */
export const PIPELINE_PLAN: StagePlanOf<'pipeline-plan'> = {
  applications: (plan) => plannedApplications(plan),
  topology: pipelineTopologyOf,
  contradictions: (plan) => {
    const faults = [...servingFaults(plan), ...pipelinePlanFaults(plan)];
    return faults.length > 0 ? faults : recountFaults(plan);
  },
  isReadDespiteFaults: false,
  isOfUsedDevices: false,
  profileFaults: stageProfileFaults,
  recordFaults: () => [],
  parts: stageParts,
  profiled: stageModels,
  profiledWhat: 'stages',
  load: ({ load }) => {
    if (load === undefined) return undefined;
    return 'trace' in load ? { kind: 'trace', load } : { kind: 'drawn', load };
  },
  withSlos: ({ applications, ...plan }, changed) => ({
    ...plan,
    sloMs: changed(plan.sloMs),
    ...(applications && {
      applications: applications.map((one) => ({ ...one, sloMs: changed(one.sloMs) })),
    }),
  }),
  world: (plan) => ({
    fates: (draw) => fatesOf(plan, draw),
    activationDelayNs: Math.round(NS_PER_MS * (plan.cluster.activationDelayMs ?? 0)),
    ...(plan.stages.some((stage) => conditionalEdges(stage).length > 0) ? { pipeline: plan } : {}),
  }),
  tuned: tunedPipeline,
  served: (plan) => {
    const { inputs, outputs } = servedPipelineOf(plan);
    const tensors = { inputs, outputs: outputs.map(({ spec }) => spec) };
    return plannedApplications(plan).map(({ name }) => ({ name, ...tensors }));
  },
  wiring: pipelineWiring,
  unlikeSent: ({ stages }, { verdicts }) =>
    !verdicts && stages.some(({ next }) => next.some(({ when }) => when))
      ? [
          "the simulation draws which edges are taken by the plan's probabilities; the server's models decided it",
        ]
      : [],
  uses: ({ classes }) => classes,
  title: ({ stages }) => `pipeline plan of ${stages.map(({ name }) => name).join(', ')}`,
  models: ({ stages }) => stages,
  diff: (before, after) => ({
    told: diffPipelines(before, after),
    fields: pipelineFieldChanges(before, after),
  }),
};
