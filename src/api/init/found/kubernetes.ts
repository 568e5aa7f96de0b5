import type { Steps } from '../../../collections/index.js';
import { counted, listed, shown } from '../../../formats/index.js';
import { chosenClass, cpuOf, gpusOf, type KubernetesNode, type NodeDevices } from './kubernetes-devices.js';
import {
  below,
  type FieldPlace,
  FieldReader,
  type FoundDevices,
  type FoundServer,
  inPieces,
  isFields,
  UNNAMED,
} from './servers.js';

/** Seen is a node with its GPUs. */
interface Seen extends NodeDevices {
  readonly node: KubernetesNode;
}

/**
 * kubernetesServers reads the answer of `kubectl get nodes -o json`: a list of nodes, or one. Nodes that are cordoned or not
 * ready are left out, and those without GPUs where there are others.
 * @param reader gathers what is wrong
 */
export function* kubernetesServers(value: unknown, reader: FieldReader): Steps<FoundDevices> {
  const nodes = yield* nodesIn(value, reader);
  yield;
  const states = byState(nodes, reader);
  const seen = yield* inPieces(states.ready, (node): Seen => ({ node, ...gpusOf(node, reader) }));
  yield;
  const withGpus = seen.filter(({ servers }) => servers.length > 0);
  const others = seen.filter(({ servers }) => servers.length === 0).map(({ node }) => node);
  const left = [...states.cordoned, ...states.notReady];
  const hasGpus =
    withGpus.length > 0 || left.some((node) => gpusOf(node, new FieldReader()).servers.length > 0);
  yield;
  const cpu = cpuServers(others, { hasGpus, reader });
  const servers = [...withGpus.flatMap((one) => one.servers), ...cpu.servers];
  const notes = [
    ...nodesNote(states.notReady, 'not ready', 'left out'),
    ...nodesNote(states.cordoned, 'cordoned', 'left out'),
    ...gpuNotes(withGpus),
    ...unfitNotes(seen),
    ...cpu.notes,
    ...taintNotes([...withGpus.map(({ node }) => node), ...cpu.nodes], reader),
  ];
  if (servers.length === 0 && reader.told.count === 0) reader.wrong(nothingLeft(notes), '');
  return { servers, notes };
}

/** nodesIn finds the nodes of a list, or the one that was asked for by its name. */
function* nodesIn(value: unknown, reader: FieldReader): Steps<KubernetesNode[]> {
  if (!isFields(value)) {
    reader.wrong(`it holds ${shown(value)}, not nodes`, '');
    return [];
  }
  const { kind } = value;
  if (kind === 'Node') return nodeOf(value, { at: '', kind, reader });
  if (kind !== 'List' && kind !== 'NodeList') {
    reader.wrong(`is ${shown(kind)}; List, NodeList or Node is needed here`, '/kind');
    return [];
  }
  const items = reader.list(value.items, '/items');
  if (items.length === 0) reader.wrong('has no nodes', '/items');
  // The items of a NodeList, as the API answers, have no kind of their own.
  const own = kind === 'NodeList' ? 'Node' : undefined;
  const nodeAt = (item: unknown, i: number) => nodeOf(item, { at: below('', 'items', i), kind: own, reader });
  return (yield* inPieces(items, nodeAt)).flat();
}

function nodeOf(
  item: unknown,
  {
    at,
    kind,
    reader,
  }: { readonly at: FieldPlace; readonly kind: string | undefined; readonly reader: FieldReader },
): KubernetesNode[] {
  const fields = reader.fields(item, at);
  const own = fields.kind ?? kind;
  if (own !== 'Node') {
    reader.wrong(`is ${shown(own)}; Node is needed here`, below(at, 'kind'));
    return [];
  }
  const metadata = reader.fields(fields.metadata, below(at, 'metadata'));
  return [
    {
      name: reader.nodeName(metadata.name, below(at, 'metadata', 'name')),
      at,
      labels: reader.fields(metadata.labels, below(at, 'metadata', 'labels')),
      spec: reader.fields(fields.spec, below(at, 'spec')),
      status: reader.fields(fields.status, below(at, 'status')),
    },
  ];
}

interface ByState {
  readonly ready: readonly KubernetesNode[];
  readonly cordoned: readonly KubernetesNode[];
  readonly notReady: readonly KubernetesNode[];
}

function byState(nodes: readonly KubernetesNode[], reader: FieldReader): ByState {
  const notReady = nodes.filter((node) => !isReady(node, reader));
  const out = new Set(notReady);
  const cordoned = nodes.filter((node) => !out.has(node) && node.spec.unschedulable === true);
  for (const node of cordoned) out.add(node);
  return { ready: nodes.filter((node) => !out.has(node)), cordoned, notReady };
}

/** isReady says whether a node is ready. A node that tells no conditions was written by hand, and is believed. */
function isReady({ status, at }: KubernetesNode, reader: FieldReader): boolean {
  const conditions = reader.list(status.conditions, below(at, 'status', 'conditions'));
  const ready = conditions.find((one) => isFields(one) && one.type === 'Ready');
  return ready === undefined || (isFields(ready) && ready.status === 'True');
}

/** CpuServers are machines that serve with their cores. */
interface CpuServers {
  readonly servers: readonly FoundServer[];
  readonly nodes: readonly KubernetesNode[];
  readonly notes: readonly string[];
}

/** cpuServers takes machines without GPUs where a person chose their class, and all where the cluster has no GPUs. */
function cpuServers(
  nodes: readonly KubernetesNode[],
  { hasGpus, reader }: { readonly hasGpus: boolean; readonly reader: FieldReader },
): CpuServers {
  const isChosen = (node: KubernetesNode) => chosenClass(node, reader) !== undefined;
  const control = hasGpus ? [] : nodes.filter((node) => !isChosen(node) && isControlPlane(node, reader));
  const controls = new Set(control);
  const used = nodes.filter((node) => isChosen(node) || (!hasGpus && !controls.has(node)));
  const servers = used.flatMap((node) => cpuOf(node, reader) ?? []);
  const left = hasGpus ? nodes.filter((node) => !isChosen(node)) : [];
  return {
    servers,
    nodes: used,
    notes: [
      ...(left.length === 0 ? [] : [`${had(left, 'without GPUs')} left out: ${namesOf(left)}`]),
      ...nodesNote(control, 'for the control plane', 'left out'),
      ...(hasGpus || servers.length === 0
        ? []
        : ['no node has GPUs: each node is one device, which has all its cores']),
    ],
  };
}

function isControlPlane(node: KubernetesNode, reader: FieldReader): boolean {
  return taintsOf(node, reader).some((taint) =>
    /^node-role\.kubernetes\.io\/(control-plane|master)[=:]/.test(taint),
  );
}

/** taintsOf writes the taints by which a node keeps pods away, as kubectl does. */
function taintsOf({ spec, at }: KubernetesNode, reader: FieldReader): string[] {
  return reader.list(spec.taints, below(at, 'spec', 'taints')).flatMap((taint, i) => {
    if (!isFields(taint) || (taint.effect !== 'NoSchedule' && taint.effect !== 'NoExecute')) return [];
    const where = below(at, 'spec', 'taints', i);
    const [key, value] = [
      reader.text(taint.key, below(where, 'key')),
      reader.text(taint.value, below(where, 'value')),
    ];
    return [`${key ?? ''}${value === undefined ? '' : `=${value}`}:${taint.effect}`];
  });
}

function taintNotes(nodes: readonly KubernetesNode[], reader: FieldReader): string[] {
  const counts = new Map<string, number>();
  for (const node of nodes)
    for (const taint of new Set(taintsOf(node, reader))) counts.set(taint, (counts.get(taint) ?? 0) + 1);
  if (counts.size === 0) return [];
  const said = [...counts].map(([taint, count]) => `${taint} (${counted(count, 'node')})`).sort();
  return [`pods have to tolerate the taints of nodes that are counted: ${listed(said)}`];
}

function gpuNotes(seen: readonly Seen[]): string[] {
  const nodes = (is: (one: Seen) => boolean) => seen.filter(is).map(({ node }) => node);
  const [sliced, byLabel, unnamed] = [
    nodes((one) => one.isTimeSliced),
    nodes((one) => one.isByLabel),
    nodes((one) => one.isUnnamed),
  ];
  return [
    ...(sliced.length === 0
      ? []
      : [
          `GPUs that are shared by time slicing are counted as whole ones, since it divides neither memory nor cores: ${namesOf(sliced)}`,
        ]),
    ...(byLabel.length === 0
      ? []
      : [
          `no resource has the GPUs of ${namesOf(byLabel)}, and the label nvidia.com/gpu.count counts them: they are given out by claims (DRA), or their device plugin does not run`,
        ]),
    ...(unnamed.length === 0
      ? []
      : [
          `no label names the product of the GPUs of ${namesOf(unnamed)}, and their class is ${UNNAMED}: label them inferplan/class, or let GPU feature discovery do so`,
        ]),
  ];
}

function unfitNotes(seen: readonly Seen[]): string[] {
  const unfit = seen.filter((one) => one.unfit > 0);
  if (unfit.length === 0) return [];
  const said = unfit.map((one) => `${one.unfit} of ${one.node.name}`).sort();
  return [`GPUs that cannot be allocated are not counted: ${listed(said)}`];
}

function nodesNote(nodes: readonly KubernetesNode[], what: string, done: string): string[] {
  if (nodes.length === 0) return [];
  const is = nodes.length === 1 ? 'is' : 'are';
  return [`${counted(nodes.length, 'node')} ${is} ${what}, and ${is} ${done}: ${namesOf(nodes)}`];
}

function had(nodes: readonly KubernetesNode[], what: string): string {
  return `${counted(nodes.length, 'node')} ${what} ${nodes.length === 1 ? 'is' : 'are'}`;
}

function namesOf(nodes: readonly KubernetesNode[]): string {
  return listed(nodes.map(({ name }) => name).sort());
}

function nothingLeft(notes: readonly string[]): string {
  const why = notes.length === 0 ? '' : `; ${notes.join('; ')}`;
  return `no node has devices to plan with${why}`;
}
