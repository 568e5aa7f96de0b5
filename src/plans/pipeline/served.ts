import { itemAt } from '../../collections/index.js';
import { type Fault, fault, type PlannedStage, type TensorSpec } from '../../formats/index.js';
import { REQUEST } from '../request-key.js';
import { CERTAIN } from './choices.js';
import { type GivenEdge, type GraphEdge, readStageGraph, type StageGraph } from './graph.js';
import { narrower, wireStages } from './tensors.js';

/** ServedPipeline is a pipeline as its clients see it: as one model. */
export interface ServedPipeline {
  /** The tensors that stages take from the request. */
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly ServedOutput[];
}

/** ServedOutput is a tensor that a request may be answered with. */
export interface ServedOutput {
  /** The name by which clients call the tensor, and its type and shape. */
  readonly spec: TensorSpec;
  /** The stage that gives it, and what its model calls it. */
  readonly stage: number;
  readonly tensor: string;
  /** mayLeadOn says whether the stage may lead on, so that its tensor is an answer only where it does not. */
  readonly mayLeadOn: boolean;
}

/** ServedStage is what running a stage's model and following its edges takes. */
export interface ServedStage extends Pick<PlannedStage, 'name' | 'inputs' | 'outputs'> {
  readonly next: readonly GivenEdge[];
}

/** ServedStages is what a plan says of its stages. */
export interface ServedStages {
  readonly stages: readonly ServedStage[];
  readonly exclusive?: readonly (readonly string[])[];
}

/**
 * servedPipelineOf gives a pipeline's inputs, which are all tensors that its stages take from the request, and its outputs:
 * those of every stage with which a request may end. An output has the name that its model gives it, or `stage.tensor`
 * where several stages give one of that name.
 */
export function servedPipelineOf({ stages, exclusive = [] }: ServedStages): ServedPipeline {
  const { graph } = readStageGraph({ stages, exclusive });
  const inputs = new Map<string, TensorSpec>();
  for (const input of stages.flatMap((stage) => stage.inputs ?? []))
    for (const name of input.from.flatMap(ofRequest)) {
      const { from: _, ...spec } = input;
      inputs.set(name, narrower({ ...spec, name }, inputs.get(name)));
    }
  const ends = stages.flatMap(({ outputs = [] }, stage) =>
    canEnd(graph.edges[stage] ?? [])
      ? outputs.map((spec) => ({ spec, stage, mayLeadOn: (graph.edges[stage] ?? []).length > 0 }))
      : [],
  );
  const named = (wanted: string) => ends.filter(({ spec }) => spec.name === wanted).length;
  const outputs = ends.map(({ spec, stage, mayLeadOn }) => {
    const name = named(spec.name) === 1 ? spec.name : `${graph.names[stage]}.${spec.name}`;
    return { spec: { ...spec, name }, stage, tensor: spec.name, mayLeadOn };
  });
  return { inputs: [...inputs.values()], outputs };
}

/** ofRequest is the name of the request's tensor where an input comes from the request. */
function ofRequest(from: string): string[] {
  return from.startsWith(`${REQUEST}.`) ? [from.slice(REQUEST.length + 1)] : [];
}

/** canEnd says whether the verdicts on a stage's result can be such that it leads nowhere. */
function canEnd(edges: readonly GraphEdge[]): boolean {
  return edges.every(({ probability, group }) => probability < 1 && group === undefined);
}

/**
 * unservedFaults reports what a plan lacks for its models to be run: tensors that its profiles do not describe or that do
 * not fit, and conditional edges of which no output says whether they are taken.
 */
export function unservedFaults(plan: ServedStages): Fault[] {
  const read = readStageGraph(plan);
  const { faults: wiring } = wireStages(
    read,
    plan.stages.map(({ inputs, outputs }) => ({ inputs, outputs, given: givenBy(inputs) })),
  );
  return [
    ...plan.stages.flatMap((stage, i) => stageFaults(stage, i, read.graph)),
    ...wiring,
    ...nameFaults(plan),
  ];
}

/** nameFaults finds outputs that would have one name, as an output `a.y` of a model and the output `y` of a stage `a`. */
function nameFaults(plan: ServedStages): Fault[] {
  const { outputs } = servedPipelineOf(plan);
  const names = outputs.map(({ spec }) => spec.name);
  return outputs.flatMap(({ spec: { name }, stage, tensor }, i) =>
    names.indexOf(name) === i
      ? []
      : [
          fault(
            `has ${tensor}, which clients would call ${name} like another output`,
            `/stages/${stage}/outputs`,
          ),
        ],
  );
}

function givenBy(inputs: PlannedStage['inputs']): Record<string, string[]> {
  return Object.fromEntries((inputs ?? []).map(({ name, from }) => [name, from]));
}

function stageFaults(stage: ServedStage, i: number, { edges }: StageGraph): Fault[] {
  const at = `/stages/${i}`;
  const unknown = [
    ...(stage.inputs === undefined ? ['inputs'] : []),
    ...(stage.outputs === undefined ? ['outputs'] : []),
  ];
  return [
    ...unknown.map((which) =>
      fault(`has none: its profile does not say the model's ${which}`, `${at}/${which}`),
    ),
    ...conditionFaults(stage, at, edges[i] ?? []),
  ];
}

function conditionFaults(
  { next, outputs = [] }: ServedStage,
  at: string,
  edges: readonly GraphEdge[],
): Fault[] {
  return edges.flatMap(({ at: k, group }) => {
    const { to, probability, when } = itemAt(next, k);
    const path = `${at}/next/${k}`;
    if (when !== undefined) {
      if (probability === 1) return [fault(CERTAIN, path)];
      const dtype = outputs.find(({ name }) => name === when.output)?.dtype;
      return dtype === 'string'
        ? [fault(`reads ${when.output}, which is text; read an output of numbers`, `${path}/when`)]
        : [];
    }
    const isElse = group !== undefined && edges.findLast((edge) => edge.group === group)?.at === k;
    if (probability === undefined || isElse) return [];
    const text = `leads to ${to} with probability ${probability}, and no output says when; add a condition, such as when: { output: …, atLeast: 0.5 }`;
    return [fault(text, path)];
  });
}
