import type { LintedBundle, LintRule, RuleFinding } from '../../lint/lint.js';
import type { Place } from '../../lint/yaml-file.js';
import type { EngineBundle } from '../engine-target.js';
import { cpuClasses } from './nodes.js';
import { asList, asMap, inObject, type KubePods, objectAt, objectsIn, podsIn } from './objects.js';
import { WHOLE_GPU } from './pods.js';
import { drainS, endingS, hasSurgeRoom, isClaimed, LIVE_PATH, READY_PATH } from './server-pods.js';
import { type DividedBy, type ServingUnit, servingUnits } from './units.js';

/** DRA is the folder of the files by which claims give pods their GPUs. */
export const DRA = 'dra/';
const MEMORY_OF = /^(\d+)(Mi|Gi)$/;

/** UnitPods are pods of a bundle with the unit of the plan that they are. */
export interface UnitPods {
  readonly pods: KubePods;
  readonly unit: ServingUnit;
  readonly units: readonly ServingUnit[];
}

/** wayOf says who divides GPUs for what a file holds. */
export function wayOf(file: string): DividedBy {
  return file.startsWith(DRA) ? 'claims' : 'plugin';
}

/** linted gives a bundle as what is written from it takes it; its digest is not known then, and not needed. */
export function linted({ plan, graph }: LintedBundle): EngineBundle {
  return { plan, graph, planSha256: '' };
}

/** unitPods pairs the pods of a bundle with the units of its plan, by their names. */
export function unitPods(bundle: LintedBundle): UnitPods[] {
  return podsIn(bundle.files).flatMap((pods) => {
    const units = servingUnits(bundle, wayOf(pods.owner.file));
    const unit = units.find(({ name }) => name === pods.owner.name);
    return unit === undefined ? [] : [{ pods, unit, units }];
  });
}

/** ofUnits makes a rule about the pods of each unit. */
export function ofUnits(
  name: string,
  check: (unit: UnitPods, bundle: LintedBundle) => Iterable<RuleFinding>,
  breaks: LintRule['breaks'] = 'fault',
): LintRule {
  return {
    ...{ name, breaks },
    *check(bundle) {
      for (const one of unitPods(bundle)) yield* check(one, bundle);
    },
  };
}

/** unitsRule makes the rule that each unit of the plan has an object of its name, in each of these files, and no other is there. */
export function unitsRule(kind: string, files: readonly string[]): LintRule {
  return {
    ...{ name: 'units', breaks: 'fault' },
    *check(bundle) {
      for (const file of files) {
        const names = servingUnits(bundle, wayOf(file)).map(({ name }) => name);
        const found = objectsIn(bundle.files).filter((one) => one.file === file && one.kind === kind);
        for (const name of names)
          if (!found.some((one) => one.name === name))
            yield { file, at: [], message: `has no ${kind} named ${name}, which the plan has` };
        for (const object of found)
          if (!names.includes(object.name))
            yield inObject(
              object,
              ['metadata', 'name'],
              `is ${object.name}; the plan has ${names.join(', ')}`,
            );
      }
    },
  };
}

const SERVED = ofUnits('served', function* ({ pods, unit }, bundle) {
  const at: Place = [...pods.at, 'containers', 0, 'args'];
  const args = asList(objectAt(pods.owner.value, at)).map(String);
  const given = (option: string) => args[args.indexOf(option) + 1] ?? 'absent';
  if (given('--at') !== unit.at || !args.includes('--at'))
    yield inObject(
      pods.owner,
      at,
      `have --at ${args.includes('--at') ? given('--at') : 'absent'}, and the plan has ${unit.at} for ${unit.name}`,
    );
  if (given('--host') !== '0.0.0.0')
    yield inObject(pods.owner, at, 'lack --host 0.0.0.0: nobody outside of the pod could call');
  const { containerPort } = asMap(asList(objectAt(pods.spec, ['containers', 0, 'ports']))[0]);
  if (given('--port') !== String(containerPort))
    yield inObject(
      pods.owner,
      at,
      `have --port ${given('--port')}, and the container names ${containerPort}`,
    );
  const drain = Number(/^(\d+)s$/.exec(given('--drain-timeout'))?.[1] ?? 0);
  if (drain < drainS(bundle))
    yield inObject(
      pods.owner,
      at,
      `have --drain-timeout ${given('--drain-timeout')}, and the longest request takes ${drainS(bundle)} s`,
    );
});

const REPLICAS = ofUnits('replicas', function* ({ pods, unit }) {
  const places =
    pods.owner.kind === 'InferenceService'
      ? ['minReplicas', 'maxReplicas'].map((key) => [...pods.at, key])
      : [['spec', 'replicas']];
  for (const at of places) {
    const replicas = objectAt(pods.owner.value, at);
    if (replicas !== unit.replicas)
      yield inObject(
        pods.owner,
        at,
        `is ${replicas ?? 'absent, which scales by load'}, and the plan has ${unit.replicas} alike`,
      );
  }
});

const DEVICES = ofUnits('devices', function* ({ pods, unit }, bundle) {
  const isClaimedHere = wayOf(pods.owner.file) === 'claims' && isClaimed(unit);
  const at: Place = [...pods.at, 'containers', 0, 'resources', 'limits'];
  const limits = asMap(objectAt(pods.owner.value, at));
  const wanted = isClaimedHere ? 0 : unit.gpus;
  if (Number(limits[WHOLE_GPU] ?? 0) !== wanted)
    yield inObject(
      pods.owner,
      [...at, WHOLE_GPU],
      `is ${limits[WHOLE_GPU] ?? 'absent'}, and the plan has ${wanted} GPUs at ${unit.at}`,
    );
  const cores = Math.ceil(unit.devices * unit.threads);
  if (!(Number(limits.cpu) >= cores))
    yield inObject(
      pods.owner,
      [...at, 'cpu'],
      `is ${limits.cpu ?? 'absent'}, and the devices of ${unit.at} take ${cores}`,
    );
  if (limits.memory === undefined) yield inObject(pods.owner, at, 'limit no memory');
  const { perServer } = bundle.plan.cluster.devices[unit.deviceClass] ?? {};
  if (Number(limits[WHOLE_GPU] ?? 0) > (perServer ?? 1))
    yield inObject(
      pods.owner,
      [...at, WHOLE_GPU],
      `is more than the ${perServer ?? 1} of a server of ${unit.deviceClass}`,
    );
});

const PROBES = ofUnits('probes', function* ({ pods }) {
  const at: Place = [...pods.at, 'containers', 0];
  for (const probe of ['startupProbe', 'readinessProbe'])
    if (objectAt(pods.owner.value, [...at, probe, 'httpGet', 'path']) !== READY_PATH)
      yield inObject(
        pods.owner,
        [...at, probe],
        `does not ask ${READY_PATH}, so that requests come before models are loaded`,
      );
  if (objectAt(pods.owner.value, [...at, 'livenessProbe', 'httpGet', 'path']) === undefined)
    yield inObject(
      pods.owner,
      at,
      `has no livenessProbe, such as of ${LIVE_PATH}: a server that hangs would stay`,
    );
});

const ENDING = ofUnits('drain', function* ({ pods }, bundle) {
  const at: Place = [...pods.at, 'terminationGracePeriodSeconds'];
  const grace = objectAt(pods.owner.value, at);
  if (!(Number(grace ?? 30) >= endingS(bundle)))
    yield inObject(
      pods.owner,
      at,
      `is ${grace ?? 'absent, which is 30'} s, and a server ends within ${endingS(bundle)} s`,
    );
});

/** Of KServe's Deployments the field has another name. */
function rolling({ owner }: KubePods): {
  readonly at: Place;
  readonly strategy: Readonly<Record<string, unknown>>;
} {
  const place =
    owner.kind === 'InferenceService' ? ['spec', 'predictor', 'deploymentStrategy'] : ['spec', 'strategy'];
  const at = [...place, 'rollingUpdate', 'maxSurge'];
  return { at, strategy: asMap(objectAt(owner.value, place)) };
}

const SURGE = ofUnits('surge', function* ({ pods, units }, bundle) {
  const { at, strategy } = rolling(pods);
  const surge = asMap(strategy.rollingUpdate).maxSurge;
  const waits = strategy.type !== 'Recreate' && surge !== 0;
  if (waits && !hasSurgeRoom(bundle, units))
    yield inObject(
      pods.owner,
      at,
      `is ${surge ?? 'absent, which is 25 %'}, and the plan leaves no device for a pod more: a rollout would wait without end; it must be 0`,
    );
});

const ROLLOUT = ofUnits(
  'rollout',
  function* ({ pods, unit }) {
    const { at, strategy } = rolling(pods);
    if (asMap(strategy.rollingUpdate).maxSurge !== 0) return;
    const lost = unit.replicas === 1 ? 'all that it serves' : `1/${unit.replicas} of what it serves`;
    yield inObject(
      pods.owner,
      at,
      `is 0, since no device is left for a pod more: while ${unit.name} is rolled out, ${lost} is not served`,
    );
  },
  'warning',
);

const ON_CPU = ofUnits(
  'cpu-class',
  function* ({ pods, unit }, { graph }) {
    if (!cpuClasses(graph).has(unit.deviceClass)) return;
    const { run } = graph.groups.find(({ deviceClass }) => deviceClass === unit.deviceClass) ?? {};
    const what = run?.emulated
      ? `an emulated class, ${run.slowdown} times slower than measured`
      : 'a class of processor cores';
    yield inObject(
      pods.owner,
      [...pods.at, 'containers', 0, 'resources'],
      `${unit.deviceClass} is ${what}: its pods ask for CPUs`,
    );
  },
  'warning',
);

const MEMORY = ofUnits(
  'memory',
  function* ({ pods }) {
    const at: Place = [...pods.at, 'containers', 0, 'resources', 'limits', 'memory'];
    yield inObject(
      pods.owner,
      at,
      `is ${objectAt(pods.owner.value, at)}, which no profile says: give it what the models take`,
    );
  },
  'warning',
);

const CLAIM_SHARES: LintRule = {
  ...{ name: 'claims', breaks: 'fault' },
  *check(bundle) {
    const objects = objectsIn(bundle.files);
    for (const { owner, at, spec, replicas } of podsIn(bundle.files))
      for (const [c, claim] of asList(spec.resourceClaims).map(asMap).entries()) {
        const place = [...at, 'resourceClaims', c];
        if (claim.resourceClaimName !== undefined && replicas > 1)
          yield inObject(
            owner,
            [...place, 'resourceClaimName'],
            `is one claim for ${replicas} pods, which would all be on the GPUs of one node; name a template`,
          );
        const name = claim.resourceClaimTemplateName;
        if (
          name !== undefined &&
          !objects.some((one) => one.kind === 'ResourceClaimTemplate' && one.name === name)
        )
          yield inObject(
            owner,
            [...place, 'resourceClaimTemplateName'],
            `is ${name}, and there is no such template`,
          );
      }
    const units = servingUnits(bundle, 'claims');
    for (const object of objects) {
      if (object.kind !== 'ResourceClaimTemplate') continue;
      const unit = units.find(({ name }) => name === object.name);
      if (unit !== undefined) yield* templateFaults({ object, unit }, bundle);
    }
  },
};

function* templateFaults(
  { object, unit }: { readonly object: Parameters<typeof inObject>[0]; readonly unit: ServingUnit },
  { plan }: LintedBundle,
): Generator<RuleFinding> {
  const devices: Place = ['spec', 'spec', 'devices'];
  const count: Place = [...devices, 'requests', 0, 'exactly', 'count'];
  if (objectAt(object.value, count) !== unit.gpus)
    yield inObject(
      object,
      count,
      `is ${objectAt(object.value, count)}, and the plan has ${unit.gpus} GPUs at ${unit.at}`,
    );
  const sharing: Place = [...devices, 'config', 0, 'opaque', 'parameters', 'sharing'];
  const { strategy, mpsConfig } = asMap(objectAt(object.value, sharing));
  if (unit.virtual === 1 && strategy !== undefined)
    yield inObject(
      object,
      sharing,
      `shares GPUs by ${strategy}, and a pod of ${unit.name} has each of its GPUs for itself`,
    );
  if (unit.virtual === 1) return;
  if (strategy !== 'MPS')
    yield inObject(
      object,
      [...sharing, 'strategy'],
      `is ${strategy ?? 'absent'}, and the plan divides each GPU in ${unit.virtual} by MPS`,
    );
  const { defaultActiveThreadPercentage: part, defaultPinnedDeviceMemoryLimit: limit } = asMap(mpsConfig);
  const wanted = Math.floor(100 / unit.virtual);
  const config = [...sharing, 'mpsConfig'];
  if (part !== wanted)
    yield inObject(
      object,
      [...config, 'defaultActiveThreadPercentage'],
      `is ${part ?? 'absent'}, and each of ${unit.virtual} shares has ${wanted} % of the cores`,
    );
  const { memoryGiB } = plan.cluster.devices[unit.deviceClass] ?? {};
  const [, amount, unitOf] = MEMORY_OF.exec(String(limit)) ?? [];
  const limitGiB = Number(amount) / (unitOf === 'Gi' ? 1 : 1024);
  if (limit !== undefined && amount === undefined)
    yield inObject(
      object,
      [...config, 'defaultPinnedDeviceMemoryLimit'],
      `is ${limit}, and amounts are such as 8Gi`,
    );
  if (memoryGiB !== undefined && unit.virtual * limitGiB > memoryGiB)
    yield inObject(
      object,
      [...config, 'defaultPinnedDeviceMemoryLimit'],
      `is ${limit} for each of ${unit.virtual} processes, which is more than the ${memoryGiB} GiB of ${unit.deviceClass}`,
    );
}

/** UNIT_RULES are the rules about pods of our own server, whatever makes them. */
export const UNIT_RULES: readonly LintRule[] = [
  ...[SERVED, REPLICAS, DEVICES, PROBES, ENDING, SURGE, CLAIM_SHARES, ROLLOUT, ON_CPU, MEMORY],
];
