import { itemAt } from '../../../collections/index.js';
import { US_PER_MS } from '../../../formats/index.js';
import type { LintRule } from '../../lint/lint.js';
import { frontsOn, isPython, type TritonPlan, tritonPlanOf } from './bundle.js';
import { frontKind } from './names.js';
import {
  configOn,
  foundIn,
  layoutsWith,
  listIn,
  mapEntries,
  mapIn,
  ofConfigs,
  type ReadConfig,
  stageIndexOf,
} from './read-configs.js';
import { LEAST_TIMEOUT_US, waysOf } from './timeouts.js';

const POLICY = ['dynamic_batching', 'default_queue_policy'];
const SHARE_ERROR = 1e-3;

/** hasQueue returns whether a model has a queue of its own: ensembles have none. */
function hasQueue({ names, graph }: TritonPlan, model: string): boolean {
  const front = graph.models[names.fronts.indexOf(model)];
  return names.stages.includes(model) || (front !== undefined && isPython({ graph }, front));
}

function timeoutUs(config: ReadConfig | undefined): number {
  const batching = mapIn(config?.value.dynamic_batching);
  return Number(mapIn(batching.default_queue_policy).default_timeout_microseconds ?? 0);
}

const QUEUE_POLICY = ofConfigs('queue-policy', function* ({ config, triton }) {
  if (!hasQueue(triton, config.model)) return;
  const { dynamic_batching: batching } = config.value;
  const { default_queue_policy: policy } = mapIn(batching);
  if (policy === undefined) {
    yield foundIn(
      config,
      POLICY,
      'is absent: requests would wait without end. A queue has a policy in dynamic_batching only, also at max_batch_size: 0',
    );
    return;
  }
  const { timeout_action: action = 'REJECT', allow_timeout_override: override } = mapIn(policy);
  if (action !== 'REJECT')
    yield foundIn(
      config,
      [...POLICY, 'timeout_action'],
      `is ${action}, so that late requests are still executed; write REJECT`,
    );
  if (timeoutUs(config) <= 0)
    yield foundIn(
      config,
      [...POLICY, 'default_timeout_microseconds'],
      'is absent or 0, which is no timeout at all',
    );
  else if (timeoutUs(config) < LEAST_TIMEOUT_US)
    yield foundIn(
      config,
      [...POLICY, 'default_timeout_microseconds'],
      `is ${timeoutUs(config)}, and Triton itself may take as long to hand a request to a free instance; write ${LEAST_TIMEOUT_US} or more`,
    );
  if (override !== true)
    yield foundIn(
      config,
      [...POLICY, 'allow_timeout_override'],
      'is not true: the time that a request has left is then not heard',
    );
});

const TIMEOUT_SUM: LintRule = {
  name: 'timeout-sum',
  breaks: 'fault',
  *check(bundle) {
    const triton = tritonPlanOf(bundle);
    const { graph, names, timeouts } = triton;
    const told = new Set<string>();
    for (const layout of triton.layouts)
      for (const { model, name } of frontsOn(triton, layout)) {
        const front = isPython(triton, model) ? timeoutUs(configOn(bundle.files, name, layout)) : 0;
        for (const way of waysOf(graph, model)) {
          const configs = way.map((stage) => configOn(bundle.files, itemAt(names.stages, stage), layout));
          const sum = configs.reduce((all, config) => all + timeoutUs(config), front);
          const longest = configs.reduce((a, b) => (timeoutUs(b) > timeoutUs(a) ? b : a));
          const aloneUs = way.reduce((all, stage) => all + itemAt(timeouts.aloneUs, stage), 0);
          const spareUs = model.sloMs * US_PER_MS - aloneUs;
          if (longest === undefined || sum <= spareUs || told.has(longest.file)) continue;
          told.add(longest.file);
          yield foundIn(
            longest,
            [...POLICY, 'default_timeout_microseconds'],
            `is ${timeoutUs(longest)}, and the timeouts along ${way.map((one) => names.stages[one]).join(', ')} sum to ${sum} µs, more than the ${Math.floor(spareUs)} µs that the SLO of ${model.sloMs} ms leaves beside executions`,
          );
        }
      }
  },
};

const QUEUE_DELAY = ofConfigs('queue-delay', function* ({ config }) {
  const delay = Number(mapIn(config.value.dynamic_batching).max_queue_delay_microseconds ?? 0);
  const timeout = timeoutUs(config);
  if (timeout > 0 && delay >= timeout)
    yield foundIn(
      config,
      ['dynamic_batching', 'max_queue_delay_microseconds'],
      `is ${delay}, and requests are dropped after ${timeout} µs: those of batches that are not full would all be`,
    );
});

const QUEUE_SIZE = ofConfigs('queue-size', function* ({ config }) {
  const policy = mapIn(mapIn(config.value.dynamic_batching).default_queue_policy);
  const { max_queue_size: size = 0 } = policy;
  const batch = Number(config.value.max_batch_size ?? 0);
  if (Number(size) > 0 && Number(size) < batch)
    yield foundIn(
      config,
      [...POLICY, 'max_queue_size'],
      `is ${size}, which is less than the batch of ${batch}`,
    );
});

const PREFERRED = ofConfigs(
  'preferred-batch',
  function* ({ config }) {
    if (listIn(mapIn(config.value.dynamic_batching).preferred_batch_size).length > 0)
      yield foundIn(
        config,
        ['dynamic_batching', 'preferred_batch_size'],
        'is given: Triton waits for these sizes, and the plan takes what waits, up to max_batch_size',
      );
  },
  'warning',
);

const PRIORITIES = ofConfigs('priorities', function* ({ config, triton }) {
  if (stageIndexOf(triton, config.model) < 0) return;
  const { priority_levels: levels, priority_queue_policy: policies } = mapIn(config.value.dynamic_batching);
  if (Number(levels ?? 0) > 1)
    yield foundIn(
      config,
      ['dynamic_batching', 'priority_levels'],
      `is ${levels}, and the plan serves first come, first served`,
    );
  if (mapEntries(policies).length > 0)
    yield foundIn(
      config,
      ['dynamic_batching', 'priority_queue_policy'],
      'is given, and stands in place of default_queue_policy for its level',
    );
});

const BLS_INSTANCES = ofConfigs('python-instances', function* ({ config, triton, files }) {
  for (const layout of layoutsWith(triton, files, config))
    for (const { model, name, inFlight } of frontsOn(triton, layout)) {
      if (name !== config.model || !isPython(triton, model)) continue;
      const groups = listIn(config.value.instance_group).map(mapIn);
      const count = groups.reduce((sum, group) => sum + Number(group.count ?? 1), 0);
      if (count < inFlight)
        yield foundIn(
          config,
          ['instance_group'],
          `has ${count} instances, and ${inFlight} requests may be in flight: an instance answers one at a time, so that its models get smaller batches`,
        );
    }
});

const SHARES = ofConfigs('shares', function* ({ config, triton, files }) {
  const m = triton.names.fronts.indexOf(config.model);
  const model = triton.graph.models[m];
  if (model === undefined || frontKind(triton.graph, model) !== 'weights') return;
  const routes = itemAt(triton.names.routes, m);
  const entries = mapEntries(config.value.parameters);
  let sum = 0;
  for (const [i, { key, value }] of entries.entries()) {
    if (!key.startsWith('share.')) continue;
    const route = key.slice('share.'.length);
    sum += Number(mapIn(value).string_value);
    if (!routes.includes(route))
      yield foundIn(config, ['parameters', i, 'key'], `leads to ${route}, which there is not`);
    for (const layout of layoutsWith(triton, files, config))
      if (routes.includes(route) && frontsOn(triton, layout)[0] !== undefined) {
        const front = frontsOn(triton, layout).find(({ index }) => index === m);
        if ((front?.shares[routes.indexOf(route)] ?? 0) === 0)
          yield foundIn(
            config,
            ['parameters', i, 'key'],
            `leads to ${route}, which ${layout.servers[0]} does not hold`,
          );
      }
  }
  if (!(Math.abs(sum - 1) <= SHARE_ERROR))
    yield foundIn(config, ['parameters'], `has shares that sum to ${sum}, and shares sum to 1`);
});

const GEAR = ofConfigs('gear', function* ({ config, triton: { graph, names } }) {
  if (graph.gears === undefined || !names.fronts.includes(config.model)) return;
  const entries = mapEntries(config.value.parameters);
  const i = entries.findIndex(({ key }) => key === 'gear');
  const given = mapIn(entries[i]?.value).string_value;
  if (!/^[0-9]+$/.test(String(given)) || Number(given) >= graph.gears.gears.length)
    yield foundIn(
      config,
      ['parameters', ...(i < 0 ? [] : [i])],
      `has the gear ${given ?? 'none'}, and the plan has those from 0 to ${graph.gears.gears.length - 1}`,
    );
});

/** QUEUE_RULES look at how long requests wait, and how Python models lead them on. */
export const QUEUE_RULES: readonly LintRule[] = [
  ...[QUEUE_POLICY, TIMEOUT_SUM, QUEUE_DELAY, QUEUE_SIZE, PRIORITIES, BLS_INSTANCES, SHARES, GEAR, PREFERRED],
];
