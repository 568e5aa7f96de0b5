import { itemAt, largestOf, pushAll } from '../../collections/index.js';
import { type Fault, fault, type PipelinePlan } from '../../formats/index.js';
import {
  ancestorsOf,
  answerKeys,
  applicationsOf,
  bundledFile,
  planOf,
  readStageGraph,
  requestKey,
  servedPipelineOf,
  unservedFaults,
} from '../../plans/index.js';
import { areChains } from '../../serving/index.js';
import {
  type BundleParts,
  deviceFaults,
  placedFile,
  sentFaults,
  servedModelFaults,
  stageFaults,
  unplannedModels,
} from './bundle-parts.js';
import type { LiveModel, PoolWork } from './pool-work.js';
import { stageTensors } from './stage-tensors.js';

/** PipelineBundle is a bundle of a pipeline plan that does not contradict itself. */
export interface PipelineBundle extends BundleParts {
  readonly plan: PipelinePlan;
}

/**
 * pipelineWork gives the work of each stage of a pipeline, in its order, and the pipeline as the model that clients see, or
 * each of its applications as one. It adds to `faults` where the manifest's stages are not the plan's.
 */
export function pipelineWork(
  bundle: PipelineBundle,
  faults: Fault[],
): { readonly models: LiveModel[]; readonly work: PoolWork[] } {
  const { plan, manifest } = bundle;
  pushAll(faults, [
    ...unservedFaults(plan).map(({ path, message }) => fault(message, `plan: ${path}`)),
    ...unplannedModels(
      manifest,
      applicationsOf(plan).map(({ name }) => name),
    ),
    ...stageFaults(manifest, plan.stages),
    ...deviceFaults(bundle),
  ]);
  return { models: pipelineModels(bundle, faults), work: stageWork(bundle) };
}

function pipelineModels({ plan, manifest, topology }: PipelineBundle, faults: Fault[]): LiveModel[] {
  const { inputs, outputs } = servedPipelineOf(plan);
  const served = { inputs: [...inputs], outputs: outputs.map(({ spec }) => spec) };
  const batched = inputs.some(({ batchAxis }) => batchAxis !== undefined);
  const common = {
    ...served,
    inputKeys: inputs.map(({ name }) => requestKey(name)),
    outputKeys: answerKeys(plan),
    mayLackOutputs: true,
    maxRows: batched ? Math.max(1, largestOf(topology.pools.map(({ batch }) => batch))) : 1,
  };
  return applicationsOf(plan).map(({ name, throughputRps, heldRps, weight, dropWeight }, m) => {
    pushAll(faults, servedModelFaults(manifest, name, served));
    pushAll(faults, sentFaults(name, [...served.inputs, ...served.outputs]));
    return {
      name,
      sloNs: itemAt(topology.models, m).sloNs,
      ...common,
      plannedRps: heldRps ?? throughputRps,
      weight,
      ...(dropWeight === undefined ? {} : { dropWeight }),
    };
  });
}

function stageWork({ plan, topology, manifest, folder, sizes }: PipelineBundle): PoolWork[] {
  const parts = planOf(plan).parts(plan);
  const carried = areChains(topology.routes) ? carriedInChain(plan) : carriedAfter(plan);
  return stageTensors(plan).map((tensors, i) => {
    return {
      ...placedFile({ folder, sizes }, bundledFile(itemAt(parts, i), manifest)),
      carried: itemAt(carried, i),
      ...tensors,
    };
  });
}

/**
 * carriedInChain gives the same for stages that follow one another. There, as in a pooled plan, a row may begin again at
 * the first stage, so that it keeps what comes from the request.
 */
function carriedInChain(plan: PipelinePlan): Set<string>[] {
  const taken = plan.stages.map(({ inputs = [] }) => inputs.flatMap(({ from }) => from));
  const ofRequest = taken.flat().filter((key) => key.startsWith(requestKey('')));
  const answers = answerKeys(plan);
  return plan.stages.map((_, i) => new Set([...ofRequest, ...taken.slice(i + 1).flat(), ...answers]));
}

/**
 * carriedAfter gives, for each stage, the keys of the tensors that a row still needs once the stage has run for it: all
 * but those whose last takers are this stage and stages before it, which have run for the row by then or never will.
 */
function carriedAfter(plan: PipelinePlan): Set<string>[] {
  const { graph } = readStageGraph(plan);
  const before = ancestorsOf(graph);
  const answers = answerKeys(plan);
  return plan.stages.map(
    (_, i) =>
      new Set([
        ...answers,
        ...plan.stages.flatMap(({ inputs = [] }, taker) =>
          taker === i || before[i]?.has(taker) ? [] : inputs.flatMap(({ from }) => from),
        ),
      ]),
  );
}
