import type { EngineStage } from '../../engine-graph.js';
import type { LintedBundle, LintRule, RuleFinding } from '../../lint/lint.js';
import type { Place } from '../../lint/yaml-file.js';
import { type Deployment, deploymentsOf, found, listOf, mapOf } from './read-config.js';

/** Shares are written with all their digits. */
const SHARE_ERROR = 1e-6;

const BATCH_TIMEOUT: LintRule = {
  name: 'batch-timeout',
  breaks: 'fault',
  *check(bundle) {
    for (const { at, fields } of deploymentsOf(bundle))
      for (const key of ['batch_wait_timeout_s', 'max_batch_size'])
        if (Object.hasOwn(mapOf(fields.user_config), key))
          yield found(
            [...at, 'user_config', key],
            'is an option of serve.batch, which an idle replica waits out; app.py forms the batches of the plan',
          );
  },
};

const SHARES: LintRule = {
  name: 'shares',
  breaks: 'fault',
  *check(bundle) {
    for (const { place, config } of ingressConfigs(bundle)) {
      for (const [model, told] of Object.entries(mapOf(config.models)))
        yield* sharesOf(mapOf(told).routes, [...place, 'models', model, 'routes'], names(bundle, 'stages'));
      for (const [stage, shares] of Object.entries(mapOf(config.stages)))
        yield* sharesOf(shares, [...place, 'stages', stage], names(bundle, 'groups'));
      for (const { at, fields } of stepsOf(config, place))
        yield* sharesOf(fields.groups, [...at, 'groups'], names(bundle, 'groups'));
    }
  },
};

/** BATCHES are the settings that replicas get of their stages: app.py cannot serve without. */
const BATCHES: LintRule = {
  name: 'batches',
  breaks: 'fault',
  *check(bundle) {
    for (const { at, fields, group } of deploymentsOf(bundle)) {
      if (group === undefined) continue;
      const place = [...at, 'user_config', 'stages'];
      const stages = mapOf(mapOf(fields.user_config).stages);
      for (const { stage } of group.stages) {
        const { name } = bundle.graph.stages[stage] as EngineStage;
        yield* batchFaults(mapOf(stages[name]), [...place, name]);
      }
    }
  },
};

function* batchFaults(told: Readonly<Record<string, unknown>>, at: Place): Generator<RuleFinding> {
  const { batch, latency_ms: latencies } = told;
  if (!(Number.isInteger(batch) && Number(batch) >= 1))
    return yield found([...at, 'batch'], `is ${told.batch ?? 'absent'}, and must be a whole number of rows`);
  const times = listOf(latencies);
  if (!times.every(isTime))
    yield found([...at, 'latency_ms'], 'must be the milliseconds of batches, from that of one row on');
  else if (times.length < Number(batch))
    yield found(
      [...at, 'latency_ms'],
      `has the times of batches up to ${times.length}, and batches have up to ${batch} rows`,
    );
  for (const key of ['least_ms', 'full_ms'])
    if (!isTime(told[key]))
      yield found([...at, key], `is ${told[key] ?? 'absent'}, and must be a number of milliseconds`);
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && value >= 0;
}

/** MODELS are the settings that the ingress gets of models and gears. */
const MODELS: LintRule = {
  name: 'models',
  breaks: 'fault',
  *check(bundle) {
    for (const { place, config } of ingressConfigs(bundle)) {
      const told = mapOf(config.models);
      for (const { name } of bundle.graph.models) {
        const { slo_ms: sloMs } = mapOf(told[name]);
        if (!(typeof sloMs === 'number' && sloMs > 0))
          yield found(
            [...place, 'models', name, 'slo_ms'],
            `is ${sloMs ?? 'absent'}, and must be milliseconds above 0`,
          );
      }
      yield* gearFaults(bundle, config, place);
    }
  },
};

function* gearFaults(
  bundle: LintedBundle,
  config: Readonly<Record<string, unknown>>,
  place: Place,
): Generator<RuleFinding> {
  if (bundle.graph.gears === undefined) return;
  const gears = listOf(mapOf(config.gears).gears).map(mapOf);
  if (gears.length === 0) yield found([...place, 'gears'], 'has no gears, and the plan is of gears');
  for (const [g, { to_rps: toRps }] of gears.entries())
    if (!(typeof toRps === 'number' && toRps > Number(gears[g - 1]?.to_rps ?? 0)))
      yield found(
        [...place, 'gears', 'gears', g, 'to_rps'],
        `is ${toRps ?? 'absent'}, and must be more than that of the gear before`,
      );
  const known = names(bundle, 'stages');
  for (const { at, fields } of stepsOf(config, place))
    if (!known.includes(String(fields.stage)))
      yield found([...at, 'stage'], `is ${fields.stage ?? 'absent'}, which there is not`);
}

/** PLANNED compares what may be edited with the plan, whose promises are of what it says. */
const PLANNED: LintRule = {
  name: 'as-planned',
  breaks: 'warning',
  *check(bundle) {
    const { graph } = bundle;
    const differs = (at: Place, given: unknown, planned: unknown) =>
      given === undefined || given === planned
        ? []
        : [found(at, `is ${String(given)}, and the plan has ${planned}: what it promises is of that`)];
    for (const { place, config } of ingressConfigs(bundle))
      for (const { name, sloMs } of graph.models)
        yield* differs([...place, 'models', name, 'slo_ms'], mapOf(mapOf(config.models)[name]).slo_ms, sloMs);
    for (const { at, fields, group } of deploymentsOf(bundle))
      for (const { stage } of group?.stages ?? []) {
        const { name, batch } = graph.stages[stage] as EngineStage;
        const told = mapOf(mapOf(mapOf(fields.user_config).stages)[name]);
        yield* differs([...at, 'user_config', 'stages', name, 'batch'], told.batch, batch);
      }
  },
};

interface Told {
  readonly place: Place;
  readonly config: Readonly<Record<string, unknown>>;
}

function ingressConfigs(bundle: LintedBundle): Told[] {
  return deploymentsOf(bundle)
    .filter(({ name }) => name === 'ingress')
    .map(({ at, fields }) => ({ place: [...at, 'user_config'], config: mapOf(fields.user_config) }));
}

/** stepsOf lists the steps of all gears, with their places. */
function stepsOf(
  config: Readonly<Record<string, unknown>>,
  place: Place,
): Pick<Deployment, 'at' | 'fields'>[] {
  return listOf(mapOf(config.gears).gears).flatMap((gear, g) =>
    listOf(mapOf(gear).steps).map((step, s) => ({
      at: [...place, 'gears', 'gears', g, 'steps', s],
      fields: mapOf(step),
    })),
  );
}

function names({ graph }: LintedBundle, of: 'stages' | 'groups'): string[] {
  return graph[of].map(({ name }) => name);
}

function* sharesOf(value: unknown, at: Place, known: readonly string[]): Generator<RuleFinding> {
  const shares = mapOf(value);
  for (const name of Object.keys(shares))
    if (!known.includes(name)) yield found([...at, name], `leads to ${name}, which there is not`);
  const sum = Object.values(shares).reduce<number>((all, share) => all + Number(share), 0);
  if (!(Math.abs(sum - 1) <= SHARE_ERROR)) yield found(at, `sums to ${sum}, and shares sum to 1`);
}

/** USER_CONFIG_RULES are the rules of what may be changed while requests are served. */
export const USER_CONFIG_RULES: readonly LintRule[] = [BATCH_TIMEOUT, SHARES, BATCHES, MODELS, PLANNED];
