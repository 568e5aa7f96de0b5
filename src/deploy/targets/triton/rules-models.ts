import { itemAt } from '../../../collections/index.js';
import type { TensorSpec } from '../../../formats/index.js';
import type { EngineModel, EngineStage } from '../../engine-graph.js';
import type { LintRule, RuleFinding } from '../../lint/lint.js';
import {
  frontBatch,
  isBatchFirst,
  isPython,
  routeBatch,
  stageBatch,
  type TritonPlan,
  tritonPlanOf,
  tritonType,
} from './bundle.js';
import { configDims, configsOn } from './config.js';
import { configPath, versionPath } from './names.js';
import {
  type ConfigOfModel,
  configOn,
  foundIn,
  layoutsWith,
  listIn,
  mapEntries,
  mapIn,
  ofConfigs,
  stageIndexOf,
} from './read-configs.js';
import { isOnCpu, type Layout } from './servers.js';

/** Wanted is what the plan says of a model's batch and tensors. */
interface Wanted {
  readonly batch: number;
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
}

function wantedOf({ graph, names }: TritonPlan, name: string): Wanted | undefined {
  const stage = graph.stages[names.stages.indexOf(name)];
  if (stage !== undefined) return { batch: stageBatch(stage), ...specsOf(stage) };
  const front = names.fronts.indexOf(name);
  const m = front >= 0 ? front : names.routes.findIndex((routes) => routes.includes(name));
  const model = graph.models[m] as EngineModel | undefined;
  if (model === undefined) return undefined;
  const entry = model.routes[names.routes[m]?.indexOf(name) ?? -1]?.entry;
  const batch = entry === undefined ? frontBatch(graph, model) : routeBatch(graph, model, entry);
  return { batch, ...specsOf(model) };
}

function specsOf({
  inputs,
  outputs,
}: Pick<EngineStage | EngineModel, 'inputs' | 'outputs'>): Omit<Wanted, 'batch'> {
  return { inputs: inputs.map(({ spec }) => spec), outputs: outputs.map(({ spec }) => spec) };
}

const SCHEMA: LintRule = ofConfigs('engine-schema', function* ({ config: { file, errors } }) {
  for (const { line, message } of errors) yield { file, line, message };
});

const MODELS: LintRule = {
  name: 'models',
  breaks: 'fault',
  *check(bundle) {
    const triton = tritonPlanOf(bundle);
    const told = new Set<string>();
    for (const layout of triton.layouts)
      for (const { model } of configsOn(triton, layout))
        if (configOn(bundle.files, model, layout) === undefined && !told.has(model)) {
          told.add(model);
          yield { file: configPath(model), message: `is missing: the plan has the model ${model}` };
        }
  },
};

const NAMES = ofConfigs('names', function* ({ config, triton }) {
  const { name } = config.value;
  if (name !== undefined && name !== config.model)
    yield foundIn(
      config,
      ['name'],
      `is ${JSON.stringify(name)}, and must be that of its folder, ${config.model}`,
    );
  if (wantedOf(triton, config.model) === undefined)
    yield foundIn(config, ['name'], `is of the model ${config.model}, which the plan has not`);
});

const BATCH_AXIS = ofConfigs('batch-axis', function* ({ config, triton }) {
  const wanted = wantedOf(triton, config.model);
  const batch = Number(config.value.max_batch_size ?? 0);
  if (wanted === undefined || batch === 0) return;
  const at = ['max_batch_size'];
  for (const spec of [...wanted.inputs, ...wanted.outputs])
    if (!isBatchFirst(spec))
      yield foundIn(config, at, `is ${batch}, and must be 0: the rows of ${spec.name} are not its axis 0`);
});

const BATCH = ofConfigs('batch', function* ({ config, triton }) {
  const wanted = wantedOf(triton, config.model);
  const batch = config.value.max_batch_size ?? 0;
  if (wanted !== undefined && wanted.batch !== batch && (batch === 0 || wanted.batch !== 0))
    yield foundIn(config, ['max_batch_size'], `is ${batch}, and the plan has ${wanted.batch}`);
});

const TENSORS = ofConfigs('tensors', function* ({ config, triton }) {
  const wanted = wantedOf(triton, config.model);
  if (wanted === undefined) return;
  const isBatched = Number(config.value.max_batch_size ?? 0) > 0;
  for (const [field, specs] of [
    ['input', wanted.inputs],
    ['output', wanted.outputs],
  ] as const) {
    const given = listIn(config.value[field]).map(mapIn);
    for (const [i, { name, dims }] of given.entries()) {
      const spec = specs.find((one) => one.name === name);
      if (spec === undefined) {
        const known = specs.map((one) => one.name).join(', ');
        yield foundIn(config, [field, i, 'name'], `is ${name}, which the model has not; it has ${known}`);
        continue;
      }
      const expected = configDims(spec, isBatched);
      const shown = expected.length > 0 ? expected : [1];
      if (listIn(dims).join() !== shown.join())
        yield foundIn(
          config,
          [field, i, 'dims'],
          `are [${listIn(dims).join(', ')}], and the tensor has [${shown.join(', ')}]`,
        );
    }
    for (const { name } of specs)
      if (!given.some((one) => one.name === name)) yield foundIn(config, [field], `lacks the tensor ${name}`);
  }
});

const DTYPES_KNOWN = ofConfigs('dtypes', function* ({ config, triton }) {
  const wanted = wantedOf(triton, config.model);
  for (const field of ['input', 'output'])
    for (const [i, one] of listIn(config.value[field]).entries()) {
      const { name, data_type: type } = mapIn(one);
      const spec = [...(wanted?.inputs ?? []), ...(wanted?.outputs ?? [])].find(
        (known) => known.name === name,
      );
      const at = [field, i, 'data_type'];
      if (type === 'TYPE_BF16')
        yield foundIn(config, at, "is TYPE_BF16, which Triton's ONNX Runtime backend has not");
      else if (spec !== undefined && type !== tritonType(spec.dtype))
        yield foundIn(config, at, `is ${type ?? 'absent'}, and the tensor is ${tritonType(spec.dtype)}`);
    }
});

/** instancesOf counts the instances that a configuration asks for, by GPU; −1 stands for processor cores. */
function instancesOf(groups: readonly unknown[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const group of groups.map(mapIn)) {
    const gpus = group.kind === 'KIND_CPU' ? [-1] : listIn(group.gpus).map(Number);
    for (const gpu of gpus) counts.set(gpu, (counts.get(gpu) ?? 0) + Number(group.count ?? 1));
  }
  return counts;
}

function wantedInstances(layout: Layout, stage: number): Map<number, number> {
  const seats = layout.held.get(stage) ?? new Map<number, number>();
  if (!isOnCpu(layout)) return new Map(seats);
  return new Map([[-1, [...seats.values()].reduce((sum, one) => sum + one, 0)]]);
}

const INSTANCES = ofConfigs('instance-groups', function* (one) {
  const { config, triton, files } = one;
  const stage = stageIndexOf(triton, config.model);
  if (stage < 0) return;
  const at = ['instance_group'];
  const groups = listIn(config.value.instance_group);
  if (groups.length === 0) {
    yield foundIn(config, at, 'is absent: Triton would put an instance on every GPU that it sees');
    return;
  }
  for (const [i, group] of groups.map(mapIn).entries())
    if (group.kind !== 'KIND_CPU' && listIn(group.gpus).length === 0)
      yield foundIn(config, [...at, i], 'lists no gpus: its count is then for every GPU that Triton sees');
  for (const layout of layoutsWith(triton, files, config)) {
    if (!layout.held.has(stage)) continue;
    const given = instancesOf(groups);
    const wanted = wantedInstances(layout, stage);
    for (const place of new Set([...given.keys(), ...wanted.keys()])) {
      const [has, plans] = [given.get(place) ?? 0, wanted.get(place) ?? 0];
      const where = place < 0 ? 'on processor cores' : `on GPU ${place}`;
      if (has !== plans)
        yield foundIn(
          config,
          at,
          `has ${has} instances ${where} of ${layout.servers[0]}, and the plan has ${plans} devices there`,
        );
    }
  }
});

const SEATS = ofConfigs('shared-devices', function* ({ config, triton, files }) {
  if (stageIndexOf(triton, config.model) < 0) return;
  if (!layoutsWith(triton, files, config).some(({ isShared }) => isShared)) return;
  for (const [i, group] of listIn(config.value.instance_group).map(mapIn).entries())
    if (listIn(mapIn(group.rate_limiter).resources).length === 0)
      yield foundIn(
        config,
        ['instance_group', i],
        'has no rate_limiter: the devices hold several models, and would run batches of them at the same time',
      );
});

const STEPS = ofConfigs('ensemble-steps', function* (one) {
  const { config, triton } = one;
  const { value } = config;
  if (value.platform !== 'ensemble') return;
  for (const field of ['instance_group', 'dynamic_batching'])
    if (value[field] !== undefined)
      yield foundIn(config, [field], 'does nothing in an ensemble, which only passes tensors on');
  const steps = listIn(mapIn(value.ensemble_scheduling).step).map(mapIn);
  const at = ['ensemble_scheduling', 'step'];
  if (steps.length === 0) yield foundIn(config, ['ensemble_scheduling'], 'has no steps');
  for (const [i, step] of steps.entries()) yield* stepFaults(one, step, [...at, i]);
  yield* unmadeTensors(one, steps);
  const missing = triton.names.routes.flatMap((routes, m) => {
    const p = routes.indexOf(config.model);
    return p < 0 ? [] : [{ m, p }];
  });
  for (const { m, p } of missing) yield* missingStages(one, { m, p }, steps);
});

const VERSIONS = ofConfigs('versions', function* ({ config: { model, value }, files }) {
  const file = versionPath(model);
  if (value.platform === 'ensemble' && !files.has(file))
    yield { file, message: `is missing: Triton loads ${model} only with the folder of a version` };
});

type Step = Readonly<Record<string, unknown>>;

function* stepFaults(
  { config, triton, files }: ConfigOfModel,
  step: Step,
  at: readonly (string | number)[],
): Generator<RuleFinding> {
  const { model_name: name, model_version: version } = step;
  if (version === undefined || version === 0)
    yield foundIn(
      config,
      [...at, 'model_version'],
      'is absent or 0, which is version 0 and not the latest; write -1',
    );
  const member = typeof name === 'string' ? wantedOf(triton, name) : undefined;
  if (member === undefined) {
    yield foundIn(config, [...at, 'model_name'], `is ${name ?? 'absent'}, which the plan has not`);
    return;
  }
  const read = triton.layouts
    .map((layout) => configOn(files, String(name), layout))
    .find((one) => one !== undefined);
  const [own, theirs] = [
    Number(config.value.max_batch_size ?? 0),
    Number(read?.value.max_batch_size ?? member.batch),
  ];
  if (own > theirs)
    yield foundIn(
      config,
      ['max_batch_size'],
      `is ${own}, and its step ${name} takes batches of ${theirs} at most`,
    );
  const fed = mapEntries(step.input_map).map(({ key }) => key);
  for (const { name: input } of member.inputs)
    if (!fed.includes(input))
      yield foundIn(config, [...at, 'input_map'], `does not feed the input ${input} of ${name}`);
  for (const [field, known] of [
    ['input_map', member.inputs],
    ['output_map', member.outputs],
  ] as const)
    for (const [k, { key }] of mapEntries(step[field]).entries())
      if (!known.some((spec) => spec.name === key))
        yield foundIn(config, [...at, field, k, 'key'], `is ${key}, which ${name} has not`);
}

/** unmadeTensors finds tensors of an ensemble that nothing gives. */
function* unmadeTensors({ config }: ConfigOfModel, steps: readonly Step[]): Generator<RuleFinding> {
  const inputs = listIn(config.value.input).map((one) => String(mapIn(one).name));
  const made = new Set([
    ...inputs,
    ...steps.flatMap((step) => mapEntries(step.output_map).map(({ value }) => String(value))),
  ]);
  for (const [i, step] of steps.entries())
    for (const [k, { value }] of mapEntries(step.input_map).entries())
      if (!made.has(String(value)))
        yield foundIn(
          config,
          ['ensemble_scheduling', 'step', i, 'input_map', k, 'value'],
          `is ${value}, which no step gives`,
        );
  for (const [i, one] of listIn(config.value.output).entries())
    if (!made.has(String(mapIn(one).name)))
      yield foundIn(config, ['output', i, 'name'], `is ${mapIn(one).name}, which no step gives`);
}

function* missingStages(
  { config, triton }: ConfigOfModel,
  { m, p }: { m: number; p: number },
  steps: readonly Step[],
): Generator<RuleFinding> {
  const { graph, names } = triton;
  const entry = graph.models[m]?.routes[p]?.entry as number;
  const named = steps.map((step) => step.model_name);
  for (const stage of stagesAfter(triton, entry))
    if (!named.includes(names.stages[stage]))
      yield foundIn(config, ['ensemble_scheduling', 'step'], `lacks the stage ${names.stages[stage]}`);
}

function stagesAfter({ graph }: TritonPlan, entry: number): number[] {
  const reached = new Set([entry]);
  for (const one of reached) for (const { to } of itemAt(graph.stages, one).next) reached.add(to);
  return [...reached];
}

const FRONTS = ofConfigs('fronts', function* ({ config, triton }) {
  const m = triton.names.fronts.indexOf(config.model);
  const model = triton.graph.models[m];
  if (model === undefined) return;
  const wanted = isPython(triton, model) ? 'backend "python"' : 'platform "ensemble"';
  const { backend, platform } = config.value;
  if ((isPython(triton, model) ? backend === 'python' : platform === 'ensemble') === false)
    yield foundIn(
      config,
      [backend === undefined ? 'platform' : 'backend'],
      `is not ${wanted}, by which the plan answers ${model.name}`,
    );
});

/** MODEL_RULES look at what the configurations say of models, tensors, instances and steps. */
export const MODEL_RULES: readonly LintRule[] = [
  ...[
    SCHEMA,
    MODELS,
    NAMES,
    FRONTS,
    BATCH_AXIS,
    BATCH,
    TENSORS,
    DTYPES_KNOWN,
    INSTANCES,
    SEATS,
    STEPS,
    VERSIONS,
  ],
];
