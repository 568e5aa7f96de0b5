import type { GearPlan } from '../../formats/index.js';
import { requestKey } from '../request-key.js';
import type { Wiring } from '../wiring.js';
import { servedCascadeOf } from './served-cascade.js';

/** The keys under which a row has the outputs of the model that ran last: its answer, unless another model runs. */
const answerKey = (output: string) => `answer.${output}`;

/** gearWiring joins the models of a gear plan: each is fed from the request, and what the last one gives is the answer. */
export function gearWiring(plan: GearPlan): Wiring {
  const served = servedCascadeOf(plan);
  const inputs = served.inputs.map((spec) => ({ spec, key: requestKey(spec.name) }));
  const outputs = served.outputs.map((spec) => ({ spec, key: answerKey(spec.name) }));
  return {
    applications: [{ inputs, outputs, mayLackOutputs: false }],
    parts: plan.stages.map(({ name, output = '' }) => ({
      inputs: inputs.map(({ spec, key }) => ({ spec, from: [key] })),
      outputs,
      certainty: { output, measure: plan.certainty },
      answers: name,
    })),
  };
}
