import type { LintedBundle, LintRule, RuleFinding } from '../../lint/lint.js';
import type { Place } from '../../lint/yaml-file.js';
import { claimDevicesAt, claimSharingAt, namedClaim } from './claims.js';
import {
  asList,
  asMap,
  inObject,
  type KubeObject,
  type KubePods,
  objectAt,
  objectsIn,
  podsIn,
} from './objects.js';
import { quantityGib } from './quantities.js';
import { isClaimedUnit, type UnitPods, unitPods } from './unit-pods.js';
import type { ServingUnit } from './units.js';

/** CLAIM_RULE is the rule that claims give pods the GPUs of the plan, divided as it divides them. */
export const CLAIM_RULE: LintRule = {
  name: 'claims',
  breaks: 'fault',
  *check(bundle) {
    const objects = objectsIn(bundle.files);
    const named = new Set<KubeObject>();
    for (const pods of podsIn(bundle.files))
      for (const [c, claim] of asList(pods.spec.resourceClaims).map(asMap).entries()) {
        yield* entryFaults(pods, { claim, c }, objects);
        const object = namedClaim(pods, claim, objects);
        if (object !== undefined) named.add(object);
      }
    for (const one of unitPods(bundle)) if (isClaimedUnit(one)) yield* unitClaimFaults(one, bundle);
    for (const object of objects)
      if (object.kind === 'ResourceClaimTemplate' && !named.has(object))
        yield inObject(object, ['metadata', 'name'], `is ${object.name}, which no pods name`);
  },
};

/** entryFaults finds an entry of a pod's claims that all its pods would share, or that names what there is not. */
function* entryFaults(
  { owner, at, replicas }: KubePods,
  { claim, c }: { readonly claim: Readonly<Record<string, unknown>>; readonly c: number },
  objects: readonly KubeObject[],
): Generator<RuleFinding> {
  const place = [...at, 'resourceClaims', c];
  const { resourceClaimName, resourceClaimTemplateName: name } = claim;
  if (resourceClaimName !== undefined && replicas > 1)
    yield inObject(
      owner,
      [...place, 'resourceClaimName'],
      `is one claim for ${replicas} pods, which would all be on the GPUs of one node; name a template`,
    );
  if (name !== undefined && !objects.some((one) => one.kind === 'ResourceClaimTemplate' && one.name === name))
    yield inObject(
      owner,
      [...place, 'resourceClaimTemplateName'],
      `is ${name}, and there is no such template`,
    );
}

/** unitClaimFaults finds containers that get no GPUs by a claim, and claims of other GPUs than the plan has. */
function* unitClaimFaults({ pods, unit }: UnitPods, bundle: LintedBundle): Generator<RuleFinding> {
  const at: Place = [...pods.at, 'containers', 0, 'resources', 'claims'];
  const names = asList(objectAt(pods.owner.value, at)).map((claim) => asMap(claim).name);
  const own = asList(pods.spec.resourceClaims)
    .map(asMap)
    .filter(({ name }) => names.includes(name));
  if (own.length === 0)
    yield inObject(
      pods.owner,
      at,
      `name no claim of the pod, so that the container has none of the ${unit.gpus} GPUs at ${unit.at}`,
    );
  for (const claim of own) {
    const object = namedClaim(pods, claim, objectsIn(bundle.files));
    if (object !== undefined) yield* claimFaults({ object, unit }, bundle);
  }
}

interface UnitClaim {
  readonly object: KubeObject;
  readonly unit: ServingUnit;
}

function* claimFaults({ object, unit }: UnitClaim, bundle: LintedBundle): Generator<RuleFinding> {
  const requests: Place = [...claimDevicesAt(object), 'requests'];
  const asked = asList(objectAt(object.value, requests)).map((request) => asMap(asMap(request).exactly));
  const counts = asked.map(({ allocationMode, count = allocationMode === 'All' ? 'all' : 1 }) =>
    Number(count),
  );
  const sum = counts.reduce((all, one) => all + one, 0);
  if (sum !== unit.gpus)
    yield inObject(
      object,
      [...requests, 0, 'exactly', 'count'],
      `is ${Number.isNaN(sum) ? 'no number' : sum}, and the plan has ${unit.gpus} GPUs at ${unit.at}`,
    );
  const sharing = claimSharingAt(object);
  const { strategy } = asMap(objectAt(object.value, sharing));
  if (unit.virtual > 1) {
    if (strategy !== 'MPS')
      yield inObject(
        object,
        [...sharing, 'strategy'],
        `is ${strategy ?? 'absent'}, and the plan divides each GPU in ${unit.virtual} by MPS`,
      );
    yield* partFaults({ object, unit }, bundle);
  } else if (strategy !== undefined)
    yield inObject(
      object,
      sharing,
      `shares GPUs by ${strategy}, and a pod of ${unit.name} has each of its GPUs for itself`,
    );
}

/** partFaults finds parts of cores that are not the plan's, and parts of memory that sum to more than a GPU has. */
function* partFaults({ object, unit }: UnitClaim, { plan }: LintedBundle): Generator<RuleFinding> {
  const { deviceClass, virtual } = unit;
  const config = [...claimSharingAt(object), 'mpsConfig'];
  const {
    defaultActiveThreadPercentage: part,
    defaultPinnedDeviceMemoryLimit: limit,
    defaultPerDevicePinnedMemoryLimit: limits,
  } = asMap(objectAt(object.value, config));
  const wanted = Math.floor(100 / virtual);
  if (part !== wanted)
    yield inObject(
      object,
      [...config, 'defaultActiveThreadPercentage'],
      `is ${part ?? 'absent'}, and each of ${virtual} shares has ${wanted} % of the cores`,
    );
  const { memoryGiB } = plan.cluster.devices[deviceClass] ?? {};
  const amounts: [Place, unknown][] = Object.entries(asMap(limits)).map(([gpu, amount]) => [
    ['defaultPerDevicePinnedMemoryLimit', gpu],
    amount,
  ]);
  if (limit !== undefined) amounts.push([['defaultPinnedDeviceMemoryLimit'], limit]);
  for (const [place, amount] of amounts) {
    const gib = quantityGib(amount);
    if (Number.isNaN(gib))
      yield inObject(object, [...config, ...place], `is ${amount}, and amounts are such as 8Gi`);
    if (memoryGiB !== undefined && virtual * gib > memoryGiB)
      yield inObject(
        object,
        [...config, ...place],
        `is ${amount} for each of ${virtual} processes, which is more than the ${memoryGiB} GiB of ${deviceClass}`,
      );
  }
}
