import { largestOf } from '../../../collections/index.js';
import type { DeviceGroup } from '../../engine-graph.js';
import type { LintedBundle, LintRule, RuleFinding } from '../../lint/lint.js';
import { fieldsRule } from '../../lint/schema-rule.js';
import type { Place } from '../../lint/yaml-file.js';
import {
  actorOptions,
  COUNTS_KEPT,
  classResource,
  isOnCpu,
  largestBatch,
  leastOngoing,
  longestRequestS,
  plannedInFlight,
  ROUTER,
} from './config.js';
import { SERVE_CONFIG } from './config-fields.js';
import { CONFIG, type Deployment, deploymentsOf, found, listOf, mapOf } from './read-config.js';
import { USER_CONFIG_RULES } from './rules-user-config.js';

/** The deployments that are not among the plan's groups of devices. */
const OWN_DEPLOYMENTS = ['ingress', 'counters'];
const PACKING_ERROR = 1e-3;
/** Ray gives a replica this many seconds to end what it has begun. */
const DEFAULT_DRAIN_S = 20;

/** ofGroups makes a rule about the deployment of each group. */
function ofGroups(
  name: string,
  check: (
    deployment: Deployment & { readonly group: DeviceGroup },
    bundle: LintedBundle,
  ) => Iterable<RuleFinding>,
): LintRule {
  return {
    name,
    breaks: 'fault',
    *check(bundle) {
      for (const one of deploymentsOf(bundle))
        if (one.group !== undefined) yield* check({ ...one, group: one.group }, bundle);
    },
  };
}

const DEPLOYMENTS: LintRule = {
  name: 'deployments',
  breaks: 'fault',
  *check(bundle) {
    const deployments = deploymentsOf(bundle);
    const wanted = [...OWN_DEPLOYMENTS, ...bundle.graph.groups.map(({ name }) => name)];
    for (const { at, name } of deployments)
      if (!wanted.includes(name))
        yield found(
          [...at, 'name'],
          `is ${name}, which the application does not make; it makes ${wanted.join(', ')}`,
        );
    for (const name of wanted) {
      const named = deployments.filter((one) => one.name === name);
      if (named.length === 0)
        yield found(
          ['applications'],
          `no deployment is ${name}, so that it would have one replica and no resources`,
        );
      for (const { at } of named.slice(1)) yield found([...at, 'name'], `is ${name} like another deployment`);
    }
  },
};

const REPLICAS = ofGroups('replicas', function* ({ at, fields, group }) {
  if (fields.num_replicas !== group.replicas)
    yield found(
      [...at, 'num_replicas'],
      `is ${JSON.stringify(fields.num_replicas)}, and the plan has ${group.replicas} devices of ${group.deviceClass} there`,
    );
});

const RESOURCES = ofGroups('resources', function* ({ at, fields, group }) {
  const options = mapOf(fields.ray_actor_options);
  const asked = mapOf(options.resources);
  const wanted = actorOptions(group);
  const of = classResource(group.deviceClass);
  const others = Object.keys(asked).filter((name) => name.startsWith(classResource('')) && name !== of);
  const place = [...at, 'ray_actor_options'];
  for (const name of others)
    yield found(
      [...place, 'resources', name],
      `asks for ${name} too, and the group is of the class ${group.deviceClass}`,
    );
  const part = mapOf(wanted.resources)[of];
  if (asked[of] !== part)
    yield found(
      [...place, 'resources', of],
      `is ${asked[of] ?? 'absent'}, and the plan gives each replica ${part} of ${of}`,
    );
  if (wanted.num_gpus !== options.num_gpus)
    yield found(
      [...place, 'num_gpus'],
      `is ${options.num_gpus ?? 'absent'}, and the plan gives each replica ${wanted.num_gpus ?? 'none'}`,
    );
  yield* packing(Number(options.num_gpus ?? 0), [...place, 'num_gpus']);
});

/** packing finds fractions that leave a rest of each GPU, such as 0.4, of which a GPU has room for two. */
function* packing(part: number, at: Place): Generator<RuleFinding> {
  if (!(part > 0)) return;
  if (part > 1 && !Number.isInteger(part))
    yield found(at, `is ${part}, and Ray gives whole GPUs or parts of one`);
  const rest = 1 - part * Math.floor(1 / part + PACKING_ERROR);
  if (part < 1 && rest > PACKING_ERROR)
    yield found(
      at,
      `is ${part}, of which a GPU holds ${Math.floor(1 / part)} and keeps ${rest.toFixed(2)} idle; ask for 1/k`,
    );
}

const CAPACITY: LintRule = {
  name: 'capacity',
  breaks: 'fault',
  *check(bundle) {
    const asked = new Map<string, { sum: number; at: Place }>();
    for (const { at, fields } of deploymentsOf(bundle))
      for (const [name, part] of Object.entries(mapOf(mapOf(fields.ray_actor_options).resources))) {
        const { sum } = asked.get(name) ?? { sum: 0 };
        asked.set(name, { sum: sum + Number(part) * Number(fields.num_replicas), at });
      }
    const { devices } = bundle.plan.cluster;
    for (const [deviceClass, { count, taken = 0 }] of Object.entries(devices)) {
      const { sum, at } = asked.get(classResource(deviceClass)) ?? { sum: 0, at: [] };
      if (count !== undefined && sum > count - taken + PACKING_ERROR)
        yield found(
          [...at, 'num_replicas'],
          `the deployments ask for ${sum} of ${deviceClass}, and the cluster has ${count - taken}: Ray would wait for more without end`,
        );
    }
  },
};

const ONGOING: LintRule = {
  name: 'ongoing',
  breaks: 'fault',
  *check(bundle) {
    const { graph } = bundle;
    for (const { at, name, fields, group } of deploymentsOf(bundle)) {
      if (group === undefined && name !== 'ingress') continue;
      const least = leastOngoing(group === undefined ? 0 : largestBatch(group, graph));
      const wanted = group === undefined ? Math.max(least, plannedInFlight(graph)) : least;
      const { max_ongoing_requests: given } = fields;
      if (typeof given !== 'number' || given < wanted)
        yield found(
          [...at, 'max_ongoing_requests'],
          `is ${given ?? 'absent, which is 5'}, and must be at least ${wanted}: it caps batches, and full replicas are asked again only after a while`,
        );
    }
  },
};

const CPUS: LintRule = {
  name: 'num-cpus',
  breaks: 'fault',
  *check(bundle) {
    for (const { at, fields } of deploymentsOf(bundle))
      if (typeof mapOf(fields.ray_actor_options).num_cpus !== 'number')
        yield found(
          [...at, 'ray_actor_options'],
          'lacks num_cpus, which is then 1 for each replica, whatever it needs',
        );
  },
};

const INGRESS: LintRule = {
  name: 'ingress-replicas',
  breaks: 'fault',
  *check(bundle) {
    for (const { at, name, fields } of deploymentsOf(bundle)) {
      if (name !== 'ingress') continue;
      const { ingress_replicas: told } = mapOf(fields.user_config);
      if (typeof fields.num_replicas !== 'number' || fields.num_replicas < 2)
        yield found(
          [...at, 'num_replicas'],
          'is less than 2: where the only ingress is replaced, its requests are lost',
        );
      if (told !== fields.num_replicas)
        yield found(
          [...at, 'user_config', 'ingress_replicas'],
          `is ${told ?? 'absent'}, and there are ${fields.num_replicas}: gears count arrivals by it`,
        );
    }
  },
};

const COUNTS: LintRule = {
  name: 'ongoing-counts',
  breaks: 'fault',
  *check(bundle) {
    for (const { at, name, fields, group } of deploymentsOf(bundle)) {
      if (group !== undefined && mapOf(fields.request_router_config).request_router_class !== ROUTER)
        yield found(
          [...at, 'request_router_config'],
          `does not name the router ${ROUTER}: the default one keeps counts for 10 s, whatever ${COUNTS_KEPT} is at the ingress`,
        );
      const { env_vars: variables } = mapOf(mapOf(mapOf(fields.ray_actor_options).runtime_env));
      if (name === 'ingress' && mapOf(variables)[COUNTS_KEPT] !== '0')
        yield found(
          [...at, 'ray_actor_options'],
          `leaves ${COUNTS_KEPT} at 10 s, so that rows go by counts of replicas which the other ingress has changed since: set it to "0"`,
        );
    }
  },
};

const TIMEOUT: LintRule = {
  name: 'request-timeout',
  breaks: 'fault',
  *check({ graph, files }) {
    const { request_timeout_s: given } = mapOf(mapOf(files.value(CONFIG)).http_options);
    const longestS = largestOf(graph.models.map(({ sloMs }) => sloMs)) / 1e3;
    const at = ['http_options', 'request_timeout_s'];
    if (typeof given !== 'number') yield found(at, 'is absent: Ray would keep requests without end');
    else if (given < longestS) yield found(at, `is ${given} s, which is less than the SLO of ${longestS} s`);
  },
};

const AUTOSCALING: LintRule = {
  name: 'autoscaling',
  breaks: 'fault',
  *check(bundle) {
    for (const { at, fields } of deploymentsOf(bundle)) {
      if (fields.autoscaling_config !== undefined)
        yield found(
          [...at, 'autoscaling_config'],
          'stands beside a plan whose replicas are fixed; leave it out',
        );
      if (fields.num_replicas === 'auto')
        yield found([...at, 'num_replicas'], 'is auto, and the plan has a number');
    }
  },
};

const QUEUES: LintRule = {
  name: 'queue-limit',
  breaks: 'fault',
  *check(bundle) {
    const { graph } = bundle;
    for (const { at, name, fields, group } of deploymentsOf(bundle)) {
      const { max_queued_requests: limit } = fields;
      if (typeof limit !== 'number' || limit < 0) continue;
      const [least, of] =
        group === undefined
          ? [plannedInFlight(graph), 'requests that the plan has at once']
          : [largestBatch(group, graph), 'rows of a batch'];
      if (limit < least && (group !== undefined || name === 'ingress'))
        yield found([...at, 'max_queued_requests'], `is ${limit}, which is less than the ${least} ${of}`);
    }
  },
};

const DRAIN: LintRule = {
  name: 'drain',
  breaks: 'fault',
  *check(bundle) {
    const { request_timeout_s: told } = mapOf(mapOf(bundle.files.value(CONFIG)).http_options);
    const longestS = typeof told === 'number' ? told : longestRequestS(bundle.graph);
    for (const { at, name, fields } of deploymentsOf(bundle)) {
      const { graceful_shutdown_timeout_s: given = DEFAULT_DRAIN_S } = fields;
      if (name !== 'counters' && Number(given) < longestS)
        yield found(
          [...at, 'graceful_shutdown_timeout_s'],
          `is ${given} s, and a request may last ${longestS} s: a replica that is replaced would lose it`,
        );
    }
  },
};

const PREFIXES: LintRule = {
  name: 'route-prefix',
  breaks: 'fault',
  *check({ files }) {
    const prefixes = listOf(mapOf(files.value(CONFIG)).applications).map(
      (application) => mapOf(application).route_prefix ?? '/',
    );
    for (const [i, prefix] of prefixes.entries()) {
      const at = ['applications', i, 'route_prefix'];
      if (prefixes.indexOf(prefix) !== i)
        yield found(at, `is ${String(prefix)} like that of another application`);
      if (!/^\/(.*[^/])?$/.test(String(prefix)))
        yield found(at, `is ${String(prefix)}; it begins with / and does not end with it`);
    }
  },
};

const CODE: LintRule = {
  name: 'code',
  breaks: 'fault',
  *check({ files }) {
    for (const file of ['app.py', 'rows.py', 'walk.py', 'verdicts.py', 'requirements.txt'])
      if (!files.has(file)) yield { file, message: 'is missing' };
    if (/@serve\.batch/.test(files.text('app.py')))
      yield { file: 'app.py', message: 'uses serve.batch, which does not form the batches of the plan' };
  },
};

/** warned makes a warning about each group that is found. */
function warned(
  name: string,
  tell: (group: DeviceGroup, bundle: LintedBundle) => string | undefined,
): LintRule {
  return {
    name,
    breaks: 'warning',
    *check(bundle) {
      for (const { at, group } of deploymentsOf(bundle)) {
        const message = group === undefined ? undefined : tell(group, bundle);
        if (message !== undefined) yield found(at, message);
      }
    },
  };
}

const SHARED_GPU = warned('gpu-fractions', (group) =>
  group.virtual === 1 || isOnCpu(group)
    ? undefined
    : `each replica has 1/${group.virtual} of a GPU: Ray only counts it, so start NVIDIA's MPS on the nodes of ${group.deviceClass}, with CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=${Math.floor(100 / group.virtual)}`,
);

/** The options with which a replica asks of a node what a plan does not know. */
const UNPLANNED = ['memory', 'accelerator_type', 'label_selector'];
const PLACING = ['placement_group_bundles', 'max_replicas_per_node'];

const MORE_ASKED: LintRule = {
  name: 'more-asked',
  breaks: 'warning',
  *check(bundle) {
    for (const { at, fields } of deploymentsOf(bundle)) {
      const options = mapOf(fields.ray_actor_options);
      const asked = [
        ...UNPLANNED.filter((key) => options[key] !== undefined).map((key) => [
          ...at,
          'ray_actor_options',
          key,
        ]),
        ...PLACING.filter((key) => fields[key] !== undefined).map((key) => [...at, key]),
      ];
      for (const place of asked)
        yield found(place, 'is more than the plan knows of nodes: where none has it, Ray waits without end');
    }
  },
};

const ON_CPU = warned('cpu-class', (group) => {
  if (!isOnCpu(group)) return undefined;
  const what = group.run?.emulated
    ? `an emulated class, ${group.run.slowdown} times slower than measured`
    : 'a class of processor cores';
  return `${group.deviceClass} is ${what}: its replicas ask for CPUs`;
});

const UNKNOWN_PROVIDER = warned('provider', (group) =>
  group.run === undefined
    ? `the profiles do not say how ${group.deviceClass} runs models; cuda is written, with ${classResource(group.deviceClass)} for its nodes`
    : undefined,
);

const SCHEDULER: LintRule = {
  name: 'scheduler',
  breaks: 'warning',
  *check({ plan }) {
    const { scheduler = 'stage-local', tuner } = plan.serving ?? {};
    if (scheduler !== 'ray-serve')
      yield found(
        [],
        `the plan is made for the scheduler ${scheduler}; on Ray Serve a row goes to a replica as it comes, and each replica batches what waits: plan simulate --scheduler ray-serve says what that gives`,
      );
    if (tuner !== undefined)
      yield found(
        [],
        'the plan has a tuner, which does not run on Ray Serve: the replicas stay, and standby devices are left out',
      );
  },
};

/** RAY_RULES are the rules of bundles for Ray Serve. */
export const RAY_RULES: readonly LintRule[] = [
  fieldsRule(CONFIG, SERVE_CONFIG),
  ...[CODE, DEPLOYMENTS, REPLICAS, RESOURCES, CAPACITY, ONGOING, CPUS, INGRESS, TIMEOUT, COUNTS],
  ...[AUTOSCALING, QUEUES, DRAIN, PREFIXES],
  ...USER_CONFIG_RULES,
  ...[MORE_ASKED, SHARED_GPU, ON_CPU, UNKNOWN_PROVIDER, SCHEDULER],
];
