import { type Steps, smallestOf } from '../../../collections/index.js';
import { BYTES_PER_MIB, counted, listed, shown } from '../../../formats/index.js';
import {
  acceleratorsIn,
  CLASS_RESOURCE,
  classesIn,
  gpuCount,
  rayBytes,
  unnamedNote,
} from './ray-resources.js';
import { isTotals, totalServers } from './ray-totals.js';
import {
  below,
  cpuName,
  type FieldPlace,
  type FieldReader,
  type Fields,
  type FoundDevices,
  type FoundServer,
  gibOf,
  inPieces,
  isFields,
  NODE_CLASS_LABEL,
  UNNAMED,
} from './servers.js';

/** RayNode is a node of Ray, whichever of its interfaces told it. */
interface RayNode {
  readonly name: string;
  readonly isAlive: boolean;
  readonly resources: Fields;
  /** The JSON pointer of its resources. */
  readonly at: FieldPlace;
  readonly labels: Fields;
  readonly labelsAt: FieldPlace;
  readonly gpus: readonly unknown[];
  readonly gpusAt: FieldPlace;
  readonly machine: string | undefined;
}

const ACCELERATOR_LABEL = 'ray.io/accelerator-type';

/** Ray's resources of accelerators that no device of ours is. */
const OTHERS = ['TPU', 'neuron_cores', 'neuronCores', 'HPU', 'NPU', 'TTNPU', 'RBLN', 'FURIOSA', 'MBLT'];

/** `ray list nodes` lists this many nodes where it is not told how many. */
const LISTED_BY_DEFAULT = 100;

/**
 * rayServers reads what Ray reports about its nodes: `ray list nodes`, `ray.nodes()`, the dashboard's `/api/v0/nodes` and
 * `/nodes?view=summary`, which alone tells the memory of GPUs, or `ray.cluster_resources()` of nodes that are alike. Nodes that
 * are dead are left out, and those without GPUs where there are others.
 * @param reader gathers what is wrong
 */
export function* rayServers(value: unknown, reader: FieldReader): Steps<FoundDevices> {
  if (isFields(value) && isTotals(value)) return totalServers(value, reader);
  const items = listIn(value, reader);
  const nodes = (yield* inPieces(items, ({ item, at }) => rayNode(item, at, reader))).flat();
  yield;
  const alive = nodes.filter(({ isAlive }) => isAlive);
  const withGpus = alive.filter((node) => gpuCount(node, reader) > 0);
  const hasGpus = withGpus.length > 0;
  const served = new Set(withGpus);
  const isChosen = ({ labels, resources }: RayNode) =>
    labels[NODE_CLASS_LABEL] !== undefined || classesIn(resources).length > 0;
  const others = alive.filter((node) => !served.has(node));
  const cpu = others.filter((node) => isChosen(node) || !hasGpus).flatMap((node) => cpuServer(node, reader));
  yield;
  const servers = [...(yield* inPieces(withGpus, (node) => gpuServer(node, reader))), ...cpu];
  const notes = [
    ...leftNote(
      nodes.filter(({ isAlive }) => !isAlive),
      'not alive',
    ),
    ...(hasGpus
      ? leftNote(
          others.filter((node) => !isChosen(node)),
          'without GPUs',
        )
      : []),
    ...(hasGpus || cpu.length === 0
      ? []
      : ['no node has GPUs: each node is one device, which has all its cores']),
    ...unnamedNote(servers),
    ...otherNotes(alive),
    ...(Array.isArray(value) && value.length === LISTED_BY_DEFAULT
      ? [
          `there are ${LISTED_BY_DEFAULT} nodes, as many as ray list nodes lists without --limit: look whether there are more`,
        ]
      : []),
  ];
  if (servers.length === 0 && reader.told.count === 0)
    reader.wrong(`no node has devices to plan with${notes.length === 0 ? '' : `; ${notes.join('; ')}`}`, '');
  return { servers, notes };
}

interface Item {
  readonly item: unknown;
  readonly at: FieldPlace;
}

function listIn(value: unknown, reader: FieldReader): Item[] {
  const within = (list: readonly unknown[], at: FieldPlace): Item[] => {
    if (list.length === 0) reader.wrong('has no nodes', at);
    return list.map((item, i) => ({ item, at: below(at, i) }));
  };
  if (Array.isArray(value)) return within(value, '');
  const answer = isFields(value) ? value : {};
  const data = isFields(answer.data) ? answer.data : {};
  if (Array.isArray(data.summary)) return within(data.summary, '/data/summary');
  if (isFields(data.result) && Array.isArray(data.result.result)) {
    refuseTruncated(data.result, reader);
    return within(data.result.result, '/data/result/result');
  }
  const said =
    answer.result === false
      ? `Ray answered that it failed: ${shown(answer.msg)}`
      : 'it holds no nodes of Ray';
  reader.wrong(said, '');
  return [];
}

function refuseTruncated({ total, num_after_truncation: told }: Fields, reader: FieldReader): void {
  if (typeof total !== 'number' || typeof told !== 'number' || told >= total) return;
  reader.wrong(`has ${told} of ${total} nodes: ask for all of them, with ?limit=10000`, '/data/result');
}

/** rayNode reads a node, whose fields are called otherwise by each interface. */
function rayNode(item: unknown, at: FieldPlace, reader: FieldReader): RayNode[] {
  const fields = reader.fields(item, at);
  const isSummary = isFields(fields.raylet);
  const [own, ownAt] = isSummary ? [fields.raylet as Fields, below(at, 'raylet')] : [fields, at];
  const key = (...keys: readonly string[]) => keys.find((one) => own[one] !== undefined);
  const part = key('resources_total', 'Resources', 'resourcesTotal');
  const isAlive = own.state === 'ALIVE' || own.Alive === true || own.alive === true;
  if (isAlive && part === undefined) {
    reader.wrong('has no resources: it is no node of Ray', at);
    return [];
  }
  const name = key('node_name', 'NodeName', 'nodeName', 'node_id', 'NodeID', 'nodeId') ?? 'node_name';
  const labels = key('labels', 'Labels') ?? 'labels';
  return [
    {
      name: reader.nodeName(own[name], below(ownAt, name)),
      isAlive,
      resources: part === undefined ? {} : reader.fields(own[part], below(ownAt, part)),
      at: below(ownAt, part ?? ''),
      labels: reader.fields(own[labels], below(ownAt, labels)),
      labelsAt: below(ownAt, labels),
      gpus: reader.list(fields.gpus, below(at, 'gpus')),
      gpusAt: below(at, 'gpus'),
      machine: reader.text(own.instanceTypeName, below(ownAt, 'instanceTypeName')),
    },
  ];
}

function gpuServer(node: RayNode, reader: FieldReader): FoundServer {
  const chosen = chosenClass(node, reader);
  const memories = node.gpus.flatMap((gpu) =>
    isFields(gpu) && typeof gpu.memoryTotal === 'number' ? [gpu.memoryTotal * BYTES_PER_MIB] : [],
  );
  return {
    name: node.name,
    product: chosen ?? productOf(node, reader) ?? UNNAMED,
    isChosen: chosen !== undefined,
    devices: gpuCount(node, reader),
    memoryGiB: memories.length === 0 ? undefined : gibOf(smallestOf(memories)),
    machine: machineOf(node),
  };
}

/** chosenClass is the class that the label of a node names, or else a resource as a bundle for Ray Serve asks for it. */
function chosenClass(node: RayNode, reader: FieldReader): string | undefined {
  const label = reader.className(node.labels[NODE_CLASS_LABEL], below(node.labelsAt, NODE_CLASS_LABEL));
  if (label !== undefined) return label;
  const names = classesIn(node.resources);
  const [name] = names;
  if (names.length > 1)
    return reader.wrong(
      `offers devices of ${names.length} classes, ${listed(names)}, and not which they are`,
      node.at,
    );
  return reader.className(name, below(node.at, `${CLASS_RESOURCE}${name}`));
}

function productOf(node: RayNode, reader: FieldReader): string | undefined {
  const label = reader.className(node.labels[ACCELERATOR_LABEL], below(node.labelsAt, ACCELERATOR_LABEL));
  if (label !== undefined) return label;
  const types = acceleratorsIn(node.resources);
  if (types.length > 1)
    return reader.wrong(`names ${types.length} types of accelerators: ${listed(types)}`, node.at);
  const [type] = types;
  if (type !== undefined) return reader.className(type, below(node.at, `accelerator_type:${type}`));
  const [gpu] = node.gpus;
  return isFields(gpu)
    ? reader.className(gpu.name, below(node.gpusAt, 0, 'name'))?.replaceAll(' ', '-')
    : undefined;
}

function machineOf({ machine, labels }: RayNode): string | undefined {
  const isSpot = labels['ray.io/market-type'] === 'spot';
  return isSpot ? `${machine ?? 'a machine'} (spot)` : machine;
}

/** cpuServer makes one device of a node: the cores that Ray gives out there. */
function cpuServer(node: RayNode, reader: FieldReader): FoundServer[] {
  const { CPU: cores, memory } = node.resources;
  const chosen = chosenClass(node, reader);
  if (cores === undefined || cores === 0) return [];
  if (typeof cores !== 'number' || !(cores > 0 && Number.isFinite(cores))) {
    reader.wrong(`is ${shown(cores)}, not a number of cores`, below(node.at, 'CPU'));
    return [];
  }
  const bytes = rayBytes(memory);
  return [
    {
      name: node.name,
      product: chosen ?? cpuName(cores),
      isChosen: chosen !== undefined,
      devices: 1,
      memoryGiB: bytes === undefined ? undefined : gibOf(bytes),
      machine: machineOf(node),
    },
  ];
}

function otherNotes(nodes: readonly RayNode[]): string[] {
  const kinds = OTHERS.filter((kind) => nodes.some(({ resources }) => resources[kind] !== undefined));
  return kinds.length === 0
    ? []
    : [`these resources of Ray are no devices that are planned with: ${listed(kinds)}`];
}

function leftNote(nodes: readonly RayNode[], what: string): string[] {
  if (nodes.length === 0) return [];
  const is = nodes.length === 1 ? 'is' : 'are';
  const names = listed(nodes.map(({ name }) => name).sort());
  const said = what === 'not alive' ? `${is} not alive, and ${is}` : `${what} ${is}`;
  return [`${counted(nodes.length, 'node')} ${said} left out: ${names}`];
}
