import type { LintRule, RuleFinding } from '../../lint/lint.js';
import { asList, asMap, inObject, type KubeObject, type KubePods, objectsIn, podsIn } from './objects.js';

const DNS_PORT = 53;

/** matches returns whether labels are those that a selector wants. */
export function matches(selector: unknown, labels: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(asMap(selector)).every(([key, value]) => labels[key] === value);
}

/** PolicyRule is a rule of a network policy: who may call, or be called, and at which ports. */
export interface PolicyRule {
  /** All where it is absent or empty. */
  readonly peers: readonly Readonly<Record<string, unknown>>[];
  /** All where it is absent or empty. */
  readonly ports: readonly unknown[];
}

/** policyRules gives the rules of a network policy for one way; undefined where it shuts nobody out of that way. */
export function policyRules(policy: KubeObject, way: 'ingress' | 'egress'): PolicyRule[] | undefined {
  const { policyTypes, [way]: rules } = asMap(policy.value.spec);
  const types = asList(policyTypes).map(String);
  const isNamed = types.includes(way === 'ingress' ? 'Ingress' : 'Egress');
  // Without types a policy is about who may call, and about whom its pods may call only where it says so.
  if (types.length === 0 ? way === 'egress' && rules === undefined : !isNamed) return undefined;
  return asList(rules).map((rule) => {
    const { [way === 'ingress' ? 'from' : 'to']: peers, ports } = asMap(rule);
    return { peers: asList(peers).map(asMap), ports: asList(ports).map((one) => asMap(one).port) };
  });
}

/** letsPods returns whether a rule is for pods that have all these labels, at a port, or without one at all ports. */
export function letsPods(
  { peers, ports }: PolicyRule,
  labels: Readonly<Record<string, unknown>>,
  port?: number,
): boolean {
  const isForThem = peers.length === 0 || peers.some((peer) => isPeer(peer, labels));
  return isForThem && (ports.length === 0 || ports.includes(port));
}

function isPeer(
  { ipBlock, podSelector }: Readonly<Record<string, unknown>>,
  labels: Readonly<Record<string, unknown>>,
): boolean {
  return ipBlock === undefined && matches(asMap(podSelector).matchLabels, labels);
}

/** letsClients returns whether a rule is for others than the pods themselves, at a port or at all. */
function letsClients({ peers, ports }: PolicyRule, port: number, pods: readonly KubePods[]): boolean {
  const isForOthers =
    peers.length === 0 || peers.some((peer) => !pods.every(({ labels }) => isPeer(peer, labels)));
  return ports.includes(port) || (ports.length === 0 && isForOthers);
}

/** POLICIES is the rule that network policies choose pods of the bundle, and let in and out whom these need. */
export const POLICIES: LintRule = {
  name: 'network-policy',
  breaks: 'fault',
  *check({ files }) {
    for (const policy of objectsIn(files)) {
      if (policy.kind !== 'NetworkPolicy') continue;
      const { matchLabels } = asMap(asMap(policy.value.spec).podSelector);
      const chosen = podsIn(files).filter(({ labels }) => matches(matchLabels, labels));
      const ingress = policyRules(policy, 'ingress');
      if (chosen.length === 0)
        yield inObject(
          policy,
          ['spec', 'podSelector'],
          'chooses no pods of this bundle, and so keeps nobody out',
        );
      if (ingress === undefined)
        yield inObject(policy, ['spec', 'policyTypes'], 'lack Ingress, so that it keeps nobody out');
      if (chosen.some(({ owner }) => owner.kind === 'RayService')) yield* rayFaults(policy, chosen);
      for (const port of new Set(chosen.flatMap(({ spec }) => servedPorts(spec))))
        if (ingress?.some((rule) => letsClients(rule, port, chosen)) === false)
          yield inObject(policy, ['spec', 'ingress'], `does not let clients in at the port ${port}`);
    }
  },
};

/** rayFaults finds a policy that parts the pods of Ray from one another, or from the names of its head. */
function* rayFaults(policy: KubeObject, chosen: readonly KubePods[]): Generator<RuleFinding> {
  const parted = (way: 'ingress' | 'egress') =>
    policyRules(policy, way)?.some((rule) => chosen.every(({ labels }) => letsPods(rule, labels))) === false;
  if (parted('ingress'))
    yield inObject(
      policy,
      ['spec', 'ingress'],
      'does not let the pods in to one another at all ports: the head and the workers of Ray would be shut out',
    );
  if (parted('egress'))
    yield inObject(
      policy,
      ['spec', 'egress'],
      'does not let the pods out to one another at all ports: the head and the workers of Ray could not call',
    );
  const asksNames = policyRules(policy, 'egress')?.some(
    ({ ports }) => ports.length === 0 || ports.includes(DNS_PORT),
  );
  if (asksNames === false)
    yield inObject(
      policy,
      ['spec', 'egress'],
      `does not let the pods out to DNS at the port ${DNS_PORT}: workers find the head by its name`,
    );
}

/** servedPorts lists the ports at which clients call. */
function servedPorts(spec: Readonly<Record<string, unknown>>): number[] {
  return asList(spec.containers).flatMap((container) =>
    asList(asMap(container).ports).flatMap((port) => {
      const { name, containerPort } = asMap(port);
      return ['serve', 'http', 'http1'].includes(String(name)) ? [Number(containerPort)] : [];
    }),
  );
}
