import { itemAt } from '../../../collections/index.js';
import type { EngineGraph, EngineModel, EngineStage } from '../../engine-graph.js';

/** REPOSITORY is the folder of the models in the bundle. */
export const REPOSITORY = 'model_repository';

/** TritonNames are the names that a plan's models have in Triton, each once. */
export interface TritonNames {
  /** The names that clients call, by the graph's models: their own name where a folder can have it. */
  readonly fronts: readonly string[];
  /** The ensembles, by the graph's models and their routes; none where a Python model calls the stages itself. */
  readonly routes: readonly (readonly string[])[];
  /** The ONNX models, by the graph's stages. */
  readonly stages: readonly string[];
}

/** tritonNamesOf names the models of a plan. Clients keep the names of the plan; others that are like one of these get a number. */
export function tritonNamesOf(graph: EngineGraph): TritonNames {
  const taken = new Set<string>();
  const own = (name: string): string => {
    let free = name;
    for (let k = 2; taken.has(free); k++) free = `${name}_${k}`;
    taken.add(free);
    return free;
  };
  const fronts = graph.models.map(({ name }) => own(folderName(name)));
  const routes = graph.models.map((model, m) =>
    frontKind(graph, model) === 'routes' || frontKind(graph, model) === 'gears'
      ? []
      : model.routes.map((_, p) => own(`${fronts[m]}_p${p}`)),
  );
  return { fronts, routes, stages: graph.stages.map(({ name }) => own(name)) };
}

function folderName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9._-]/g, '_').replace(/^(?![A-Za-z0-9])/, 'm');
}

/**
 * FrontKind says how the model that clients call leads to the stages.
 * - ensemble: it has one pipeline, whose stages are always the same.
 * - weights: a Python model lets requests take turns between several pipelines.
 * - routes: a Python model takes a request along the branches that its stages choose.
 * - gears: a Python model takes a request from model to model until one is certain.
 */
export type FrontKind = 'ensemble' | 'weights' | 'routes' | 'gears';

/** frontKind says how a model leads to its stages. */
export function frontKind({ gears, stages }: EngineGraph, model: EngineModel): FrontKind {
  if (gears !== undefined) return 'gears';
  const reached = model.routes.flatMap(({ entry }) => reachedFrom(entry, stages));
  const isChosen = reached.some((one) => {
    const { choices, inputs } = itemAt(stages, one);
    return choices.length > 0 || inputs.some(({ from }) => from.length !== 1);
  });
  if (isChosen) return 'routes';
  return model.routes.length === 1 ? 'ensemble' : 'weights';
}

/** reachedFrom lists a stage and all that can come after it, each after those that lead to it. */
export function reachedFrom(entry: number, stages: readonly EngineStage[]): number[] {
  const reached = new Set([entry]);
  for (let i = entry; i < stages.length; i++)
    if (reached.has(i)) for (const { to } of itemAt(stages, i).next) reached.add(to);
  return [...reached].sort((a, b) => a - b);
}

/** stagesOfRoute lists the stages that a server must hold to serve a route; of gears, the models of all. */
export function stagesOfRoute({ gears, stages }: EngineGraph, entry: number): number[] {
  if (gears === undefined) return reachedFrom(entry, stages);
  const used = new Set(gears.gears.flatMap(({ steps }) => steps.map(({ stage }) => stage)));
  return [...used].sort((a, b) => a - b);
}

/** configPath is where the configuration of a model is: its own, or that for a kind of server. */
export function configPath(model: string, layout?: string): string {
  return `${REPOSITORY}/${model}/${layout === undefined ? 'config.pbtxt' : `configs/${layout}.pbtxt`}`;
}

/** versionPath is where an ensemble has its version: a folder, which a file keeps, since Triton loads no model without one. */
export function versionPath(model: string): string {
  return `${REPOSITORY}/${model}/1/version.txt`;
}
