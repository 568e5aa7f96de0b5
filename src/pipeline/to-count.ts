import { distinctFaults, type Fault, fault, type PipelineSpec, type TensorSpec } from '../formats/index.js';
import {
  countFaults,
  edgeOf,
  type GivenEdge,
  readStageGraph,
  type ServedStage,
  type StageGraph,
  unservedFaults,
  wireStages,
} from '../plans/index.js';
import type { StageProfile } from './problem.js';
import { conditionFaults, exclusiveConditionFaults, modelTensors, whenFaults } from './resolve.js';

/** RunPipeline is a spec whose models can be run, and what their verdicts choose be counted. Stages stand as in the spec. */
export interface RunPipeline {
  readonly graph: StageGraph;
  readonly stages: readonly ServedStage[];
  readonly exclusive: readonly (readonly string[])[];
}

/**
 * The value that replaces probabilities that are to be counted, so that the rest of a spec can be checked.
 */
const ANY_SHARE = 0.5;

/**
 * resolveRun joins a spec with its profiles so that its models can be run. Probabilities of edges with conditions, and of
 * exclusive edges, count for nothing and may be missing: they are to be found.
 * @returns every fault of the graph, the tensors and the conditions, where there is any
 */
export function resolveRun(
  spec: PipelineSpec,
  profiles: readonly StageProfile[],
): { readonly pipeline: RunPipeline; readonly faults?: undefined } | { readonly faults: readonly Fault[] } {
  const many = countFaults(spec);
  if (many.length > 0) return { faults: many };
  const open = withAnyShares(spec);
  const { exclusive = [] } = open;
  const read = readStageGraph(open);
  const wiring = wireStages(
    read,
    open.stages.map(({ inputs }, i) => ({ ...modelTensors(profiles[i]), given: inputs })),
  );
  const stages = open.stages.map(({ name, next = [] }, i): ServedStage => {
    const inputs = wiring.inputs[i];
    const outputs: readonly TensorSpec[] | undefined = profiles[i]?.profile.model.outputs;
    return {
      name,
      ...(inputs === undefined ? {} : { inputs }),
      ...(outputs === undefined ? {} : { outputs: [...outputs] }),
      next: next.map(edgeOf),
    };
  });
  const early = [
    ...read.faults,
    ...wiring.faults,
    ...open.stages.flatMap(conditionFaults),
    ...exclusiveConditionFaults(open),
    ...open.stages.flatMap((stage, i) => whenFaults(stage, i, profiles[i])),
  ];
  // The later checks are only for a graph without faults.
  const faults = early.length > 0 ? early : [...unservedFaults({ stages, exclusive }), ...unforked(open)];
  if (faults.length > 0) return { faults: distinctFaults(faults) };
  return { pipeline: { graph: read.graph, stages, exclusive } };
}

function unforked({ stages }: PipelineSpec): Fault[] {
  const edges = stages.flatMap(({ next = [] }) => next.map(edgeOf));
  if (edges.some(({ probability }) => probability !== undefined)) return [];
  return [fault('have no edge with a condition, so there is nothing to count', '/stages')];
}

/** withAnyShares gives edges whose probabilities are to be counted some, of which those of an exclusive list sum to 1. */
function withAnyShares(spec: PipelineSpec): PipelineSpec {
  const { exclusive = [] } = spec;
  return {
    ...spec,
    stages: spec.stages.map((stage) => {
      const next = (stage.next ?? []).map(edgeOf);
      return {
        ...stage,
        ...(stage.next && { next: next.map((edge) => withAnyShare(edge, next, exclusive)) }),
      };
    }),
  };
}

function withAnyShare(
  edge: GivenEdge,
  next: readonly GivenEdge[],
  exclusive: readonly (readonly string[])[],
): GivenEdge {
  const list = exclusive.find(
    (names) => names.includes(edge.to) && names.every((name) => next.some(({ to }) => to === name)),
  );
  if (list !== undefined) return { ...edge, probability: 1 / list.length };
  return edge.when === undefined ? edge : { ...edge, probability: ANY_SHARE };
}
