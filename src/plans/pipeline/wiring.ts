import { itemAt } from '../../collections/index.js';
import type { PipelinePlan } from '../../formats/index.js';
import { requestKey } from '../request-key.js';
import type { PartWiring, Wiring } from '../wiring.js';
import { plannedApplications } from './applications.js';
import { verdictChoices } from './choices.js';
import { type ServedStages, servedPipelineOf } from './served.js';

/** Keys are written as the sources of inputs are in plans. */
const keyOf = (stage: string, tensor: string) => `${stage}.${tensor}`;
/** No other key begins with a space. */
const endKeyOf = (key: string) => ` end ${key}`;

/** answerKeys gives the keys of the pipeline's outputs, in their order. */
export function answerKeys(plan: ServedStages): string[] {
  return servedPipelineOf(plan).outputs.map(({ stage, tensor, mayLeadOn }) => {
    const key = keyOf(itemAt(plan.stages, stage).name, tensor);
    return mayLeadOn ? endKeyOf(key) : key;
  });
}

/** pipelineWiring joins the stages of a pipeline plan, whose applications all take and give the same. */
export function pipelineWiring(plan: PipelinePlan): Wiring {
  const { inputs, outputs } = servedPipelineOf(plan);
  const keys = answerKeys(plan);
  const application = {
    inputs: inputs.map((spec) => ({ spec, key: requestKey(spec.name) })),
    outputs: outputs.map(({ spec }, i) => ({ spec, key: itemAt(keys, i) })),
    mayLackOutputs: true,
  };
  return { applications: plannedApplications(plan).map(() => application), parts: stageWiring(plan) };
}

/**
 * stageWiring gives, for each stage, what its model is fed and gives, and which edges its outputs choose. Outputs that
 * nothing takes or reads are left out.
 */
export function stageWiring(plan: ServedStages): PartWiring[] {
  const { outputs: answers } = servedPipelineOf(plan);
  const used = new Set(plan.stages.flatMap(({ inputs = [] }) => inputs.flatMap(({ from }) => from)));
  return plan.stages.map((stage, i) => {
    const read = new Set(stage.next.flatMap(({ when }) => (when === undefined ? [] : [when.output])));
    const outputs = (stage.outputs ?? []).flatMap((spec) => {
      const key = keyOf(stage.name, spec.name);
      const answer = answers.find((output) => output.stage === i && output.tensor === spec.name);
      if (answer === undefined && !used.has(key) && !read.has(spec.name)) return [];
      return [{ spec, key, ...(answer?.mayLeadOn ? { endKey: endKeyOf(key) } : {}) }];
    });
    const choices = verdictChoices(stage, plan.exclusive ?? []);
    return {
      inputs: (stage.inputs ?? []).map(({ from, ...spec }) => ({ spec, from })),
      outputs,
      ...(choices.length === 0 ? {} : { choices }),
    };
  });
}
