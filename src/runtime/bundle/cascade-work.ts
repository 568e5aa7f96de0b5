import { itemAt, largestOf, pushAll } from '../../collections/index.js';
import { elementNumbers } from '../../execution/index.js';
import { type CertaintyMeasure, type Fault, fault, type GearPlan } from '../../formats/index.js';
import {
  bundledFile,
  planOf,
  requestKey,
  servedCascadeOf,
  unservedCascadeFaults,
} from '../../plans/index.js';
import { certaintyOf } from '../../records/index.js';
import {
  type BundleParts,
  deviceFaults,
  placedFile,
  sentFaults,
  servedModelFaults,
  stageFaults,
  unplannedModels,
} from './bundle-parts.js';
import type { Fork, LiveModel, PoolWork } from './pool-work.js';

/** CascadeBundle is a bundle of a gear plan that does not contradict itself. */
export interface CascadeBundle extends BundleParts {
  readonly plan: GearPlan;
}

/** The keys under which a row has the outputs of the model that ran last: its answer, unless another model runs. */
const answerKey = (output: string) => `answer.${output}`;

/**
 * cascadeWork gives the work of each model of a gear plan, in its order, and the cascade as the one model that clients
 * see. Every model is fed from the request, and what the last one gives is the answer. It adds to `faults` where the
 * manifest is not that of the plan.
 */
export function cascadeWork(
  bundle: CascadeBundle,
  faults: Fault[],
): { readonly models: LiveModel[]; readonly work: PoolWork[] } {
  const { plan, manifest, folder, sizes } = bundle;
  const lacks = unservedCascadeFaults(plan);
  pushAll(faults, [
    ...lacks.map(({ path, message }) => fault(message, `plan: ${path}`)),
    ...unplannedModels(manifest, [plan.name]),
    ...stageFaults(manifest, plan.stages),
    ...deviceFaults(bundle),
  ]);
  const { inputs, outputs } = servedCascadeOf(plan);
  const inputKeys = inputs.map(({ name }) => requestKey(name));
  const outputKeys = outputs.map(({ name }) => answerKey(name));
  const carried = new Set([...inputKeys, ...outputKeys]);
  const parts = planOf(plan).parts(plan);
  const work = plan.stages.map((stage, i): PoolWork => {
    return {
      ...placedFile({ folder, sizes }, bundledFile(itemAt(parts, i), manifest)),
      carried,
      inputs: inputs.map((spec, i) => ({ spec, from: [itemAt(inputKeys, i)] })),
      outputs: outputs.map((spec, i) => ({ spec, key: itemAt(outputKeys, i) })),
      fork: certaintyFork(stage.output ?? '', plan.certainty),
      answers: stage.name,
    };
  });
  return { models: [cascadeModel(bundle, { inputKeys, outputKeys }, faults)], work };
}

function cascadeModel(
  { plan, manifest, topology }: CascadeBundle,
  keys: Pick<LiveModel, 'inputKeys' | 'outputKeys'>,
  faults: Fault[],
): LiveModel {
  const served = servedCascadeOf(plan);
  pushAll(faults, servedModelFaults(manifest, plan.name, served));
  pushAll(faults, sentFaults(plan.name, [...served.inputs, ...served.outputs]));
  const batched = served.inputs.some(({ batchAxis }) => batchAxis !== undefined);
  return {
    name: plan.name,
    sloNs: itemAt(topology.models, 0).sloNs,
    inputs: [...served.inputs],
    outputs: [...served.outputs],
    ...keys,
    mayLackOutputs: false,
    maxRows: batched ? Math.max(1, largestOf(topology.pools.map(({ batch }) => batch))) : 1,
    plannedRps: plan.maxRps,
    weight: 1,
  };
}

/** certaintyFork reads how certain a model is of a row from the scores that it gives. */
function certaintyFork(output: string, measure: CertaintyMeasure): Fork {
  return {
    verdictOn: (outputs) => {
      const scores = outputs[output];
      if (scores === undefined) throw new Error(`the model gave no ${output}, which says how certain it is`);
      const numbers = elementNumbers(scores);
      if (numbers === undefined) throw new Error('scores are text, and certainty follows from numbers');
      return certaintyOf(numbers, measure);
    },
  };
}
