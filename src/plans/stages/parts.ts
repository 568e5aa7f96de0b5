import type { PlannedStage } from '../../formats/index.js';
import type { PlanPart } from '../plan-of.js';

/** StagedPlan is what plans of whole models have in common. */
export interface StagedPlan {
  readonly name: string;
  readonly stages: readonly Pick<
    PlannedStage,
    'name' | 'model' | 'device' | 'virtual' | 'batch' | 'latencyUsByBatch' | 'latencyQuantile' | 'others'
  >[];
}

/**
 * stageParts lists the stages of a plan, each of which executes a whole model. A plan of one application has
 * all of them.
 */
export function stageParts({ name, stages }: StagedPlan): PlanPart[] {
  return stages.map((stage, partition) => {
    const { model, device, virtual, batch, latencyUsByBatch, latencyQuantile, others } = stage;
    return {
      application: 0,
      name,
      pipeline: 0,
      partition,
      stage: stage.name,
      model,
      profile: model,
      device,
      virtual,
      batch,
      latencyUsByBatch,
      bundled: { among: 'stages', stage: stage.name },
      ...(latencyQuantile === undefined ? {} : { latencyQuantile }),
      ...(others === undefined ? {} : { otherClasses: others.map((other) => other.device) }),
    };
  });
}

/** stageModels lists the model of each stage: a plan names the profile of each of them. */
export function stageModels({ stages }: StagedPlan): string[] {
  return stages.map(({ model }) => model);
}
