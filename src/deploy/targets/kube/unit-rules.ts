import type { LintRule } from '../../lint/lint.js';
import type { Place } from '../../lint/yaml-file.js';
import { drainS } from '../own-server.js';
import { CLAIM_RULE } from './claim-rules.js';
import { cpuClasses } from './nodes.js';
import { asList, asMap, inObject, type KubePods, objectAt } from './objects.js';
import { podDeviceFaults, podNodeFaults } from './pod-devices.js';
import { WHOLE_GPU } from './pods.js';
import { quantityNumber } from './quantities.js';
import { endingS, hasSurgeRoom, LIVE_PATH, READY_PATH } from './server-pods.js';
import { isClaimedUnit, ofUnits } from './unit-pods.js';

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
  const at: Place = [...pods.at, 'containers', 0, 'resources', 'limits'];
  const limits = asMap(objectAt(pods.owner.value, at));
  // A claim gives what the container else asks of the device plugin.
  const claimed = isClaimedUnit({ pods, unit });
  yield* podDeviceFaults(pods, { ...unit, gpus: claimed ? 0 : unit.gpus });
  const cores = Math.ceil(unit.devices * unit.threads);
  if (!(quantityNumber(limits.cpu) >= cores))
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

const UNIT_NODES = ofUnits('node-selector', function* ({ pods, unit }) {
  yield* podNodeFaults(pods, unit);
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
      `is ${surge ?? 'absent, which is 25 %'}, and no node has room for a pod more: a rollout would wait without end; it must be 0`,
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
      `is 0, since no node has room for a pod more: while ${unit.name} is rolled out, ${lost} is not served`,
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

/** UNIT_RULES are the rules about pods of our own server, whatever makes them. */
export const UNIT_RULES: readonly LintRule[] = [
  ...[SERVED, REPLICAS, DEVICES, UNIT_NODES, PROBES, ENDING, SURGE, CLAIM_RULE, ROLLOUT, ON_CPU, MEMORY],
];
