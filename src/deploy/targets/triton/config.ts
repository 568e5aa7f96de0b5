import { itemAt } from '../../../collections/index.js';
import type { TensorSpec } from '../../../formats/index.js';
import type { KeyedTensor } from '../../../plans/index.js';
import type { EngineModel } from '../../engine-graph.js';
import {
  type FrontOn,
  frontBatch,
  frontsOn,
  plannedGear,
  queueDelayUs,
  routeBatch,
  stageBatch,
  type TritonPlan,
  tritonType,
} from './bundle.js';
import { configPath, frontKind, reachedFrom, versionPath } from './names.js';
import { isOnCpu, type Layout } from './servers.js';

/** The resource of which each virtual GPU has one, where it holds several stages and runs one batch at a time. */
export const SEAT = 'virtual_gpu';
/** Shares are written with this many digits. */
const SHARE_DIGITS = 6;

/**
 * configsOf writes the configuration of each model, by its path. Where a kind of server needs another one than the first that
 * has the model, it is beside it under `configs`, where Triton finds it by `--model-config-name`.
 */
export function configsOf(triton: TritonPlan): Map<string, string> {
  const texts = new Map<string, string>();
  for (const layout of triton.layouts)
    for (const { model, text } of configsOn(triton, layout)) {
      const known = texts.get(configPath(model));
      if (known === undefined) texts.set(configPath(model), text);
      else if (known !== text) texts.set(configPath(model, layout.name), text);
    }
  return texts;
}

const VERSION =
  'Triton loads no model without the folder of a version. That of an ensemble holds nothing else.\n';

/** ensembleVersions gives the file that keeps the folder of each ensemble's version. */
export function ensembleVersions(configs: ReadonlyMap<string, string>): Map<string, string> {
  const ensembles = [...configs].flatMap(([path, text]) =>
    text.includes('platform: "ensemble"') ? [itemAt(path.split('/'), 1)] : [],
  );
  return new Map(ensembles.map((model) => [versionPath(model), VERSION]));
}

/** hasOwnConfigs returns whether a kind of server needs another configuration of a model than the first that has it. */
export function hasOwnConfigs(triton: TritonPlan, layout: Layout): boolean {
  const texts = configsOf(triton);
  return configsOn(triton, layout).some(({ model }) => texts.has(configPath(model, layout.name)));
}

/** ModelConfigText is the configuration of a model. */
export interface ModelConfigText {
  readonly model: string;
  readonly text: string;
}

/** configsOn gives the configurations of the models that a server loads: stages first, then what calls them. */
export function configsOn(triton: TritonPlan, layout: Layout): ModelConfigText[] {
  const { graph, names } = triton;
  const configs: ModelConfigText[] = [];
  for (const stage of layout.held.keys())
    configs.push({ model: itemAt(names.stages, stage), text: stageConfig(triton, layout, stage) });
  for (const front of frontsOn(triton, layout)) {
    const routes = itemAt(names.routes, front.index);
    routes.forEach((name, p) => {
      const entry = front.model.routes[p]?.entry as number;
      if (itemAt(front.shares, p) > 0)
        configs.push({ model: name, text: routeConfig(triton, name, front.model, entry) });
    });
    const isEnsemble = frontKind(graph, front.model) === 'ensemble';
    const own = isEnsemble ? aliasConfig(triton, front) : pythonConfig(triton, front);
    const text = `${own}${toldParameters(triton, front)}`;
    configs.push({ model: front.name, text });
  }
  return configs;
}

/** quotedText writes a string of protobuf's text format. */
export function quotedText(text: string): string {
  return JSON.stringify(text);
}

/** configDims gives the dims of a tensor: without the batch where Triton batches, and −1 for a size that is not fixed. */
export function configDims(
  { shape, batchAxis, variableAxes = [] }: TensorSpec,
  isBatched: boolean,
): number[] {
  const dims = shape.map((size, axis) => (axis === batchAxis || variableAxes.includes(axis) ? -1 : size));
  return isBatched ? dims.slice(1) : dims;
}

function tensors(what: 'input' | 'output', specs: readonly TensorSpec[], isBatched: boolean): string {
  const lines = specs.map((spec) => {
    const dims = configDims(spec, isBatched);
    // Triton takes no empty dims: such a tensor has one of size 1 outside.
    const shown = dims.length > 0 ? `dims: [ ${dims.join(', ')} ]` : 'dims: [ 1 ] reshape { shape: [ ] }';
    return `  { name: ${quotedText(spec.name)} data_type: ${tritonType(spec.dtype)} ${shown} }`;
  });
  return `${what} [\n${lines.join(',\n')}\n]\n`;
}

function specsOf(keyed: readonly { readonly spec: TensorSpec }[]): TensorSpec[] {
  return keyed.map(({ spec }) => spec);
}

function stageConfig(triton: TritonPlan, layout: Layout, index: number): string {
  const stage = itemAt(triton.graph.stages, index);
  const batch = stageBatch(stage);
  const { name, model, stage: of } = stage.part;
  const what =
    of.kind === 'partition' ? `stage ${of.partition} of pipeline ${of.pipeline} of ${name}` : of.name;
  return [
    `# ${JSON.stringify(`${what}: ${model}, in batches of up to ${stage.batch}`).slice(1, -1)}\n`,
    `name: ${quotedText(itemAt(triton.names.stages, index))}\nbackend: "onnxruntime"\n`,
    `max_batch_size: ${batch}\n`,
    tensors('input', specsOf(stage.inputs), batch > 0),
    tensors('output', specsOf(stage.outputs), batch > 0),
    instanceGroups(layout, index),
    batching(queueDelayUs(triton, index), itemAt(triton.timeouts.stageUs, index)),
    threadsAndAccelerators(layout),
  ].join('');
}

/** instanceGroups says on which GPUs a stage has how many instances: one for each virtual GPU that holds it. */
function instanceGroups(layout: Layout, stage: number): string {
  const seats = layout.held.get(stage) as ReadonlyMap<number, number>;
  const limited = layout.isShared ? ` rate_limiter { resources [ { name: "${SEAT}" count: 1 } ] }` : '';
  if (isOnCpu(layout)) {
    const count = [...seats.values()].reduce((sum, one) => sum + one, 0);
    return `instance_group [\n  { count: ${count} kind: KIND_CPU${limited} }\n]\n`;
  }
  const byCount = new Map<number, number[]>();
  for (const [gpu, count] of [...seats].sort(([a], [b]) => a - b))
    byCount.set(count, [...(byCount.get(count) ?? []), gpu]);
  const groups = [...byCount].map(
    ([count, gpus]) => `  { count: ${count} kind: KIND_GPU gpus: [ ${gpus.join(', ')} ]${limited} }`,
  );
  return `instance_group [\n${groups.join(',\n')}\n]\n`;
}

/** batching writes the queue of a model. Its policy has no other place, also where nothing is batched. */
function batching(delayUs: number, timeoutUs: number): string {
  return `dynamic_batching {
  max_queue_delay_microseconds: ${delayUs}
  default_queue_policy {
    timeout_action: REJECT
    default_timeout_microseconds: ${timeoutUs}
    allow_timeout_override: true
  }
}
`;
}

function threadsAndAccelerators({ run }: Layout): string {
  if (run?.provider === 'tensorrt')
    return 'optimization { execution_accelerators { gpu_execution_accelerator [ { name: "tensorrt" } ] } }\n';
  if (run?.provider !== 'cpu' || run.threads === undefined) return '';
  return parameter('intra_op_thread_count', `${run.threads}`);
}

/** routeConfig writes the ensemble of a pipeline: its stages, joined by the tensors that they pass on. */
function routeConfig(triton: TritonPlan, name: string, model: EngineModel, entry: number): string {
  const { graph, names } = triton;
  const reached = reachedFrom(entry, graph.stages);
  const tensorOf = tensorNames(model);
  const stages = reached.map((one) => itemAt(graph.stages, one));
  const used = new Set([
    ...stages.flatMap(({ inputs }) => inputs.flatMap(({ from }) => from)),
    ...model.outputs.map(({ key }) => key),
  ]);
  const steps = reached.map((index) => {
    const { inputs, outputs } = itemAt(graph.stages, index);
    return step(itemAt(names.stages, index), {
      inputs: inputs.map(({ spec, from }) => [spec.name, tensorOf(itemAt(from, 0))]),
      outputs: outputs.filter(({ key }) => used.has(key)).map(({ spec, key }) => [spec.name, tensorOf(key)]),
    });
  });
  return ensemble(name, model, routeBatch(graph, model, entry), steps);
}

/** tensorNames gives the names of an ensemble's tensors: those of clients at its ends, and keys between stages. */
function tensorNames({ inputs, outputs }: EngineModel): (key: string) => string {
  const known = new Map([...inputs, ...outputs].map(({ spec, key }) => [key, spec.name]));
  return (key) => known.get(key) ?? key;
}

/** aliasConfig writes what clients call, where a model has one pipeline: an ensemble of the pipeline's. */
function aliasConfig({ graph, names }: TritonPlan, { model, index, name }: FrontOn): string {
  const same = (keyed: readonly KeyedTensor[]): Maps['inputs'] =>
    keyed.map(({ spec }) => [spec.name, spec.name]);
  const route = names.routes[index]?.[0] as string;
  const steps = [step(route, { inputs: same(model.inputs), outputs: same(model.outputs) })];
  return ensemble(name, model, frontBatch(graph, model), steps);
}

interface Maps {
  readonly inputs: readonly (readonly [tensor: string, of: string])[];
  readonly outputs: readonly (readonly [tensor: string, of: string])[];
}

/** Without a version a step means version 0, and not the latest. */
function step(model: string, { inputs, outputs }: Maps): string {
  const maps = [
    ...inputs.map(
      ([key, value]) => `      input_map { key: ${quotedText(key)} value: ${quotedText(value)} }\n`,
    ),
    ...outputs.map(
      ([key, value]) => `      output_map { key: ${quotedText(key)} value: ${quotedText(value)} }\n`,
    ),
  ].join('');
  return `    {\n      model_name: ${quotedText(model)}\n      model_version: -1\n${maps}    }`;
}

function ensemble(name: string, model: EngineModel, batch: number, steps: readonly string[]): string {
  return [
    `name: ${quotedText(name)}\nplatform: "ensemble"\nmax_batch_size: ${batch}\n`,
    tensors('input', specsOf(model.inputs), batch > 0),
    tensors('output', specsOf(model.outputs), batch > 0),
    `ensemble_scheduling {\n  step [\n${steps.join(',\n')}\n  ]\n}\n`,
  ].join('');
}

/** pythonConfig writes a Python model that calls others: it has an instance for each request in flight, which keeps it busy. */
function pythonConfig(triton: TritonPlan, front: FrontOn): string {
  const { graph, names, timeouts } = triton;
  const { model, index, name, inFlight } = front;
  const batch = frontBatch(graph, model);
  const gear = plannedGear(graph);
  const shares =
    frontKind(graph, model) === 'weights'
      ? front.shares.flatMap((share, p) =>
          share > 0 ? [[`share.${names.routes[index]?.[p]}`, rounded(share)] as const] : [],
        )
      : [];
  const parameters = [...shares, ...(gear === undefined ? [] : [['gear', `${gear.index}`] as const])];
  return [
    `name: ${quotedText(name)}\nbackend: "python"\nmax_batch_size: ${batch}\n`,
    tensors('input', specsOf(model.inputs), batch > 0),
    tensors('output', specsOf(model.outputs), batch > 0),
    `instance_group [\n  { count: ${inFlight} kind: KIND_CPU }\n]\n`,
    batching(0, itemAt(timeouts.frontUs, index)),
    ...parameters.map(
      ([key, value]) =>
        `parameters { key: ${quotedText(key)} value { string_value: ${quotedText(value)} } }\n`,
    ),
  ].join('');
}

/** toldParameters writes what a load client is told of a model, as by our own server: Triton reports its configuration alone. */
function toldParameters({ plan, planSha256, graph }: TritonPlan, { model, rps }: FrontOn): string {
  const isBranching = frontKind(graph, model) === 'routes' && model.mayLackOutputs;
  const told: Record<string, string | undefined> = {
    plan_sha256: planSha256,
    slo_ms: `${model.sloMs}`,
    planned_rps: `${rps}`,
    weight: `${model.weight}`,
    scheduler: 'triton',
    policy: '{}',
    ...(isBranching ? { may_lack_outputs: 'true' } : {}),
    ...(plan.notes === undefined ? {} : { plan_notes: JSON.stringify(plan.notes) }),
    ...Object.fromEntries(model.inputs.map(({ spec }) => [`fill.${spec.name}`, spec.fill?.toString()])),
  };
  return Object.entries(told)
    .flatMap(([key, text]) => (text === undefined ? [] : [parameter(`inferplan.${key}`, text)]))
    .join('');
}

function parameter(key: string, text: string): string {
  return `parameters { key: ${quotedText(key)} value { string_value: ${quotedText(text)} } }\n`;
}

function rounded(share: number): string {
  return `${Number(share.toFixed(SHARE_DIGITS))}`;
}
