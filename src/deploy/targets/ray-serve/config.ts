import { stringify } from 'yaml';
import { itemAt, largestOf } from '../../../collections/index.js';
import { oipDatatype } from '../../../execution/index.js';
import type { TensorSpec } from '../../../formats/index.js';
import { stageFields } from '../../../formats/index.js';
import { type KeyedTensor, planOf, type StagePlan } from '../../../plans/index.js';
import { RAY_SERVE_GATHER_MS } from '../../../serving/index.js';
import type { DeviceGroup, EngineGraph, EngineModel, EngineStage, EngineStep } from '../../engine-graph.js';
import type { EngineBundle } from '../engine-target.js';

/** INGRESS_REPLICAS is two, since replacing the only one loses the requests that it holds. */
export const INGRESS_REPLICAS = 2;
/** Below this many, Ray Serve's replicas idle while its router waits to ask them again. */
const LEAST_ONGOING = 100;
const ONGOING_BATCHES = 10;
const INGRESS_ONGOING = 1000;
/** A request that lasts this many SLOs is ended by Ray; the batchers drop it long before. */
const TIMEOUT_SLOS = 4;
const LEAST_DRAIN_S = 20;
/** Ray counts resources in ten thousandths. */
const RESOURCE_UNITS = 10_000;

/** classResource is the resource that the nodes of a device class offer, as many as they have devices. */
export function classResource(deviceClass: string): string {
  return `inferplan/${deviceClass}`;
}

/** leastOngoing is the smallest `max_ongoing_requests` that lets a replica fill its batches. */
export function leastOngoing(batch: number): number {
  return Math.max(LEAST_ONGOING, ONGOING_BATCHES * batch);
}

/** largestBatch is the largest batch of the stages that a group holds. */
export function largestBatch({ stages: held }: DeviceGroup, { stages }: EngineGraph): number {
  return largestOf(held.map(({ stage }) => itemAt(stages, stage).batch));
}

/** isOnCpu returns whether the devices of a group are processor cores, emulated ones included. */
export function isOnCpu({ run }: DeviceGroup): boolean {
  return run?.provider === 'cpu';
}

/**
 * actorOptions gives what a replica of a group asks of its node: its part of a device of the class, and of a GPU the same
 * part of one that Ray counts, or of a class on processor cores its threads.
 */
export function actorOptions(group: DeviceGroup): Record<string, unknown> {
  const part = Math.floor(RESOURCE_UNITS / group.virtual) / RESOURCE_UNITS;
  const resources = { [classResource(group.deviceClass)]: part };
  return isOnCpu(group)
    ? { num_cpus: group.run?.threads ?? 1, resources }
    : { num_cpus: part, num_gpus: part, resources };
}

/** ServePlace is where Ray Serve listens, and what an ingress asks of its node besides a processor core. */
export interface ServePlace {
  readonly host: string;
  readonly ingressResources?: Readonly<Record<string, number>>;
}

/** serveConfig writes serve_config.yaml, as `serve deploy` takes it. */
export function serveConfig(bundle: EngineBundle, place: ServePlace = { host: '127.0.0.1' }): string {
  const { graph } = bundle;
  const config = {
    proxy_location: 'EveryNode',
    http_options: { host: place.host, port: 8000, request_timeout_s: longestRequestS(graph) },
    applications: [
      {
        name: 'inferplan',
        route_prefix: '/',
        import_path: 'app:build',
        args: staticArgs(bundle),
        deployments: [
          ingress(bundle, place),
          counters(),
          ...graph.groups.map((group) => deployment(group, graph)),
        ],
      },
    ],
  };
  return `${HEAD}${stringify(config, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

const HEAD = `# This file runs a plan on Ray Serve: serve deploy serve_config.yaml
# What stands in user_config can be changed and deployed again: replicas and requests stay. What stands in args needs a new deployment.
`;

/**
 * COUNTS_KEPT is the variable of how long an ingress goes by what it last heard of a replica's ongoing requests, 10 s
 * by default.
 */
export const COUNTS_KEPT = 'RAY_SERVE_QUEUE_LENGTH_CACHE_TIMEOUT_S';

/**
 * ROUTER is the class of Ray by which an ingress chooses among the replicas of a deployment. It is also the default, but named by
 * its module it reads COUNTS_KEPT where it runs: Ray's controller sends the default with its own values of all variables in it.
 */
export const ROUTER = 'ray.serve._private.request_router.pow_2_router:PowerOfTwoChoicesRequestRouter';

/** longestRequestS is after how many seconds Ray ends a request. */
export function longestRequestS({ models }: EngineGraph): number {
  return Math.max(1, Math.ceil((TIMEOUT_SLOS * largestOf(models.map(({ sloMs }) => sloMs))) / 1e3));
}

/** drainS is how long a replica that is replaced may take to end what it has begun, by default 20 s. */
function drainS(graph: EngineGraph): number {
  return Math.max(LEAST_DRAIN_S, longestRequestS(graph));
}

/** plannedInFlight is how many requests are in the cluster at once, at the planned rates, where each takes as long as its SLO. */
export function plannedInFlight({ models }: EngineGraph): number {
  return Math.ceil(models.reduce((sum, { plannedRps, sloMs }) => sum + (plannedRps * sloMs) / 1e3, 0));
}

function ingress(bundle: EngineBundle, { ingressResources: resources }: ServePlace): object {
  const { graph } = bundle;
  return {
    name: 'ingress',
    num_replicas: INGRESS_REPLICAS,
    max_ongoing_requests: Math.max(INGRESS_ONGOING, TIMEOUT_SLOS * plannedInFlight(graph)),
    graceful_shutdown_timeout_s: drainS(graph),
    ray_actor_options: {
      num_cpus: 1,
      ...(resources === undefined ? {} : { resources }),
      runtime_env: { env_vars: { [COUNTS_KEPT]: '0' } },
    },
    user_config: ingressConfig(bundle),
  };
}

function counters(): object {
  return {
    name: 'counters',
    num_replicas: 1,
    max_ongoing_requests: INGRESS_ONGOING,
    ray_actor_options: { num_cpus: 0 },
  };
}

function deployment(group: DeviceGroup, graph: EngineGraph): object {
  return {
    name: group.name,
    num_replicas: group.replicas,
    max_ongoing_requests: leastOngoing(largestBatch(group, graph)),
    graceful_shutdown_timeout_s: drainS(graph),
    request_router_config: { request_router_class: ROUTER },
    ray_actor_options: actorOptions(group),
    user_config: groupConfig(group, graph),
  };
}

/**
 * ingressConfig gives the settings of the ingress that may change while it runs: SLOs, shares of routes and
 * groups, and gears.
 */
function ingressConfig({ plan, planSha256, graph }: EngineBundle): object {
  const nameOf = (stage: number) => itemAt(graph.stages, stage).name;
  const sharesOf = (stage: number) =>
    Object.fromEntries(
      graph.groups.flatMap(({ name, stages }) =>
        stages.flatMap((held) => (held.stage === stage ? [[name, held.share]] : [])),
      ),
    );
  const step = ({ stage, below, shares }: EngineStep) => ({
    stage: nameOf(stage),
    ...(below === undefined ? {} : { below }),
    groups: Object.fromEntries(
      shares.flatMap(({ group, share }) => (share > 0 ? [[graph.groups[group]?.name, share]] : [])),
    ),
  });
  return {
    plan_sha256: planSha256,
    ingress_replicas: INGRESS_REPLICAS,
    models: Object.fromEntries(
      graph.models.map((model) => [
        model.name,
        {
          slo_ms: model.sloMs,
          routes: Object.fromEntries(model.routes.map(({ entry, share }) => [nameOf(entry), share])),
          properties: toldProperties(model, plan),
        },
      ]),
    ),
    ...(graph.gears === undefined
      ? { stages: Object.fromEntries(graph.stages.map(({ name }, stage) => [name, sharesOf(stage)])) }
      : {
          gears: {
            interval_ms: graph.gears.intervalMs,
            alpha: graph.gears.alpha,
            ...(graph.gears.plannedRps === undefined ? {} : { planned_rps: graph.gears.plannedRps }),
            gears: graph.gears.gears.map(({ toRps, steps }) => ({ to_rps: toRps, steps: steps.map(step) })),
          },
        }),
  };
}

/** toldProperties are the properties of a model that a load client gets, as from our own server. */
function toldProperties(model: EngineModel, plan: StagePlan): Record<string, string> {
  const fills = model.inputs.flatMap(({ spec: { name, fill } }) =>
    fill === undefined ? [] : [[`fill.${name}`, String(fill)]],
  );
  return {
    slo_ms: String(model.sloMs),
    max_rows: String(model.maxRows),
    planned_rps: String(model.plannedRps),
    weight: String(model.weight),
    plan_notes: JSON.stringify(plan.notes ?? []),
    scheduler: 'ray-serve',
    policy: '{}',
    ...Object.fromEntries(fills),
  };
}

/**
 * groupConfig gives the settings of a group's replicas that may change while they run: batches, planned
 * times, and how gears form batches.
 */
function groupConfig({ stages: held }: DeviceGroup, { stages, gears }: EngineGraph): object {
  const names = new Map(held.map(({ stage }) => [stage, itemAt(stages, stage).name]));
  const minQueues = (steps: readonly EngineStep[]) =>
    Object.fromEntries(
      steps.flatMap(({ stage, minQueue }) => (names.has(stage) ? [[names.get(stage), minQueue]] : [])),
    );
  return {
    stages: Object.fromEntries(
      held.map(({ stage, latencyMs }) => {
        const { batch, leastMs, fullRestMs } = itemAt(stages, stage);
        const fullMs = Math.max(leastMs, itemAt(latencyMs, batch - 1) + fullRestMs);
        return [names.get(stage), { batch, latency_ms: latencyMs, least_ms: leastMs, full_ms: fullMs }];
      }),
    ),
    ...(gears === undefined
      ? { gather_ms: RAY_SERVE_GATHER_MS }
      : {
          gears: gears.gears.map(({ timeoutMs, steps }) => ({
            timeout_ms: timeoutMs,
            min_queue: minQueues(steps),
          })),
        }),
  };
}

/** staticArgs gives what does not change while the application runs: tensors, files, and how stages lead on. */
function staticArgs({ plan, graph }: EngineBundle): object {
  const { models, stages, groups } = graph;
  const measure = stages.find(({ certainty }) => certainty !== undefined)?.certainty?.measure;
  return {
    models: Object.fromEntries(
      models.map(({ name, maxRows, inputs, outputs }) => [
        name,
        { max_rows: maxRows, inputs: inputs.map(sentTensor), outputs: outputs.map(sentTensor) },
      ]),
    ),
    stages: Object.fromEntries(stages.map((stage, i) => [stage.name, stageArgs(stage, i, { plan, graph })])),
    groups: Object.fromEntries(
      groups.map(({ name, deviceClass, virtual, run, stages: held }) => [
        name,
        {
          name,
          class: deviceClass,
          virtual,
          provider: run?.provider ?? 'cuda',
          ...(run?.threads === undefined ? {} : { threads: run.threads }),
          ...(run?.slowdown === undefined ? {} : { slowdown: run.slowdown }),
          stages: held.map(({ stage }) => itemAt(stages, stage).name),
        },
      ]),
    ),
    ...(measure === undefined ? {} : { certainty: measure }),
  };
}

function stageArgs(
  stage: EngineStage,
  index: number,
  { plan, graph: { stages } }: Pick<EngineBundle, 'plan' | 'graph'>,
): object {
  const nameOf = (one: number) => itemAt(stages, one).name;
  const applications = planOf(plan).applications(plan);
  const shared = applications[stage.part.application]?.loadOf !== undefined;
  return {
    file: stage.file,
    models: shared ? applications.map(({ name }) => name) : [stage.part.name],
    place: stageFields(stage.part.stage),
    inputs: stage.inputs.map(({ spec, from }) => ({ ...tensor(spec), from: [...from] })),
    outputs: stage.outputs.map(({ spec, key, endKey }) => ({
      ...tensor(spec),
      shape: spec.shape,
      key,
      ...(endKey === undefined ? {} : { end_key: endKey }),
    })),
    next: stage.next.map(({ to, bit }) => ({ to: nameOf(to), ...(bit === undefined ? {} : { bit }) })),
    before: stages.flatMap(({ name, next }) => (next.some(({ to }) => to === index) ? [name] : [])),
    reaches: reachedFrom(index, stages).map(nameOf),
    choices: stage.choices.map(({ isExclusive, edges }) => ({
      exclusive: isExclusive,
      edges: edges.map(({ bit, when }) => ({
        bit,
        ...(when === undefined ? {} : { output: when.output, index: when.index ?? 0 }),
        ...(when?.atLeast === undefined ? {} : { at_least: when.atLeast }),
        ...(when?.below === undefined ? {} : { below: when.below }),
      })),
    })),
    ...(stage.certainty === undefined ? {} : { scores: stage.certainty.output }),
  };
}

/** reachedFrom lists a stage and all that can come after it, each after those that lead to it. */
function reachedFrom(entry: number, stages: readonly EngineStage[]): number[] {
  const reached = new Set([entry]);
  for (let i = entry; i < stages.length; i++)
    if (reached.has(i)) for (const { to } of itemAt(stages, i).next) reached.add(to);
  return [...reached].sort((a, b) => a - b);
}

function tensor({ name, dtype, batchAxis }: TensorSpec): {
  name: string;
  datatype: string;
  axis: number | null;
} {
  return { name, datatype: oipDatatype(dtype) ?? dtype, axis: batchAxis ?? null };
}

/** sentTensor is a tensor as clients send or get it: a size of −1 is one of rows, or depends on the data. */
function sentTensor({ spec, key }: KeyedTensor): object {
  const { shape, batchAxis, variableAxes = [] } = spec;
  const sizes = shape.map((size, axis) => (axis === batchAxis || variableAxes.includes(axis) ? -1 : size));
  return {
    ...tensor(spec),
    shape: sizes,
    key,
    ...(batchAxis === undefined ? {} : { row_size: shape[batchAxis] }),
  };
}
