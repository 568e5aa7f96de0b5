import { itemAt } from '../../../collections/index.js';
import type { EngineModel } from '../../engine-graph.js';
import { pythonSource, VERDICTS, verdictsSource } from '../python-source.js';
import { frontBatch, type TritonPlan } from './bundle.js';
import { type FrontKind, frontKind, REPOSITORY, reachedFrom } from './names.js';

/** WALKS are the sources of the Python models that clients call, by how they lead to stages. */
const WALKS: { readonly [K in Exclude<FrontKind, 'ensemble'>]: string } = {
  weights: 'weights.py',
  routes: 'routes.py',
  gears: 'gears.py',
};

/** pythonModels writes the Python models of a plan: their code, and what differs between plans. */
export function pythonModels(triton: TritonPlan): Map<string, string> {
  const { graph, names } = triton;
  const texts = new Map<string, string>();
  graph.models.forEach((model, m) => {
    const kind = frontKind(graph, model);
    if (kind === 'ensemble') return;
    const folder = `${REPOSITORY}/${names.fronts[m]}/1`;
    texts.set(`${folder}/model.py`, pythonSource('triton', WALKS[kind]));
    texts.set(`${folder}/members.py`, pythonSource('triton', 'members.py'));
    if (kind !== 'weights') texts.set(`${folder}/${VERDICTS}`, verdictsSource());
    texts.set(`${folder}/routes.json`, `${JSON.stringify(ROUTES_OF[kind](triton, model), undefined, 1)}\n`);
  });
  return texts;
}

type RoutesOf = (triton: TritonPlan, model: EngineModel) => object;

const ROUTES_OF: { readonly [K in Exclude<FrontKind, 'ensemble'>]: RoutesOf } = {
  weights: (_, model) => clientTensors(model),
  routes: branches,
  gears: gearsOfPlan,
};

function clientTensors({ sloMs, inputs, outputs }: EngineModel): object {
  return {
    slo_ms: sloMs,
    inputs: inputs.map(({ spec: { name } }) => ({ name })),
    outputs: outputs.map(({ spec: { name } }) => name),
  };
}

/** branches says what each stage is fed, and where its outputs lead. */
function branches({ graph: { stages }, names }: TritonPlan, model: EngineModel): object {
  const [{ entry }] = model.routes as [EngineModel['routes'][number]];
  const reached = reachedFrom(entry, stages);
  const nameOf = (stage: number) => itemAt(names.stages, stage);
  const stageOf = (index: number): object => {
    const { inputs, outputs, next, choices, leastMs } = itemAt(stages, index);
    return {
      least_ms: leastMs,
      inputs: inputs.map(({ spec, from }) => ({ name: spec.name, from })),
      outputs: outputs.map(({ spec, key, endKey }) => ({
        name: spec.name,
        key,
        ...(endKey === undefined ? {} : { end_key: endKey }),
      })),
      before: reached.filter((one) => itemAt(stages, one).next.some(({ to }) => to === index)).map(nameOf),
      next: next.map(({ to, bit }) => ({ to: nameOf(to), ...(bit === undefined ? {} : { bit }) })),
      choices: choices.map(({ isExclusive, edges }) => ({
        exclusive: isExclusive,
        edges: edges.map(({ bit, when }) => ({
          bit,
          ...(when === undefined ? {} : { output: when.output, index: when.index ?? 0 }),
          ...(when?.atLeast === undefined ? {} : { at_least: when.atLeast }),
          ...(when?.below === undefined ? {} : { below: when.below }),
        })),
      })),
    };
  };
  return {
    slo_ms: model.sloMs,
    entry: nameOf(entry),
    inputs: model.inputs.map(({ spec: { name }, key }) => ({ name, key })),
    outputs: model.outputs.map(({ spec: { name }, key }) => ({ name, key })),
    stages: Object.fromEntries(reached.map((index) => [nameOf(index), stageOf(index)])),
  };
}

/** gearsOfPlan lists all gears; config.pbtxt says which one is active. */
function gearsOfPlan({ graph, names }: TritonPlan, model: EngineModel): object {
  const nameOf = (stage: number) => itemAt(names.stages, stage);
  const measure = graph.stages.find(({ certainty }) => certainty !== undefined)?.certainty?.measure;
  return {
    ...clientTensors(model),
    batched: frontBatch(graph, model) > 0,
    certainty: measure,
    stages: Object.fromEntries(
      graph.stages.map(({ certainty, leastMs }, i) => [
        nameOf(i),
        { least_ms: leastMs, scores: certainty?.output },
      ]),
    ),
    gears: (graph.gears?.gears ?? []).map(({ toRps, steps }) => ({
      to_rps: toRps,
      steps: steps.map(({ stage, below }) => ({
        stage: nameOf(stage),
        ...(below === undefined ? {} : { below }),
      })),
    })),
  };
}
