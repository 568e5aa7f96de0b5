import type { Place } from '../../lint/yaml-file.js';
import { asList, asMap, folderOf, type KubeObject, type KubePods, objectAt } from './objects.js';

/** namedClaim gives the claim, or the template of claims, that an entry of a pod's claims names in the same folder. */
export function namedClaim(
  { owner }: KubePods,
  { resourceClaimName, resourceClaimTemplateName }: Readonly<Record<string, unknown>>,
  objects: readonly KubeObject[],
): KubeObject | undefined {
  return objects.find(
    ({ kind, name, file }) =>
      folderOf(file) === folderOf(owner.file) &&
      ((kind === 'ResourceClaimTemplate' && name === resourceClaimTemplateName) ||
        (kind === 'ResourceClaim' && name === resourceClaimName)),
  );
}

/** claimDevicesAt is where a claim, or a template of claims, says which devices. */
export function claimDevicesAt({ kind }: Pick<KubeObject, 'kind'>): Place {
  return kind === 'ResourceClaim' ? ['spec', 'devices'] : ['spec', 'spec', 'devices'];
}

/** claimSharingAt is where a claim, or a template of claims, says how its GPUs are shared. */
export function claimSharingAt(object: Pick<KubeObject, 'kind'>): Place {
  return [...claimDevicesAt(object), 'config', 0, 'opaque', 'parameters', 'sharing'];
}

/** hasMpsClaim returns whether a claim of pods shares its GPUs by MPS. */
export function hasMpsClaim(pods: KubePods, objects: readonly KubeObject[]): boolean {
  return asList(pods.spec.resourceClaims).some((claim) => {
    const object = namedClaim(pods, asMap(claim), objects);
    if (object === undefined) return false;
    return asMap(objectAt(object.value, claimSharingAt(object))).strategy === 'MPS';
  });
}
