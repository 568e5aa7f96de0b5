import { type ServedStages, servedPipelineOf } from '../plans/index.js';
import { forkOf } from './fork.js';
import type { StageTensors } from './pool-work.js';

/** Keys are written as the sources of inputs are in plans. */
const keyOf = (stage: string, tensor: string) => `${stage}.${tensor}`;
/** requestKey is the key under which a row has a tensor of its request. */
export const requestKey = (tensor: string) => keyOf('request', tensor);
/** No other key begins with a space. */
const endKeyOf = (key: string) => ` end ${key}`;

/** answerKeys gives the keys of the pipeline's outputs, in their order. */
export function answerKeys(plan: ServedStages): string[] {
  return servedPipelineOf(plan).outputs.map(({ stage, tensor, mayLeadOn }) => {
    const key = keyOf(plan.stages[stage]!.name, tensor);
    return mayLeadOn ? endKeyOf(key) : key;
  });
}

/**
 * stageTensors gives, for each stage, what its model is fed and gives, and what that says of where a row goes on. Outputs
 * that nothing takes or reads are left out.
 */
export function stageTensors(plan: ServedStages): StageTensors[] {
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
    const fork = forkOf(stage, plan.exclusive ?? []);
    return {
      inputs: (stage.inputs ?? []).map(({ from, ...spec }) => ({ spec, from })),
      outputs,
      ...(fork === undefined ? {} : { fork }),
    };
  });
}
