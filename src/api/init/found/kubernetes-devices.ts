import { BYTES_PER_MIB, shown } from '../../../formats/index.js';
import { quantityOf } from './quantity.js';
import {
  below,
  cpuName,
  type FieldPlace,
  type FieldReader,
  type Fields,
  type FoundServer,
  gibOf,
  NODE_CLASS_LABEL,
  UNNAMED,
} from './servers.js';

/** KubernetesNode is a node as `kubectl get nodes` tells it, with its parts at hand. */
export interface KubernetesNode {
  readonly name: string;
  /** The JSON pointer of the node. */
  readonly at: FieldPlace;
  readonly labels: Fields;
  readonly spec: Fields;
  readonly status: Fields;
}

/** NodeDevices is what a node offers, and what is odd about it. */
export interface NodeDevices {
  readonly servers: readonly FoundServer[];
  /** Devices that the node has and that cannot be allocated. */
  readonly unfit: number;
  readonly isTimeSliced: boolean;
  /** isByLabel says whether no resource has them, and a label counts them. */
  readonly isByLabel: boolean;
  readonly isUnnamed: boolean;
}

const GPU = 'nvidia.com/gpu';
const AMD = 'amd.com/gpu';
const SHARED = '.shared';
const MIG = /^nvidia\.com\/(mig-[\w.-]+?)(?:\.shared)?$/;

/** Sharing divides a GPU into no more clients than a cluster may divide one into. */
const MOST_REPLICAS = 1000;

/** gpusOf reads the GPUs of a node: whole ones, or MIG devices, one kind of them each. */
export function gpusOf(node: KubernetesNode, reader: FieldReader): NodeDevices {
  const found = resourcesOf(node, reader).map((resource) => devicesOf(node, resource, reader));
  const offered = found.filter(({ devices }) => devices > 0);
  const base = { isTimeSliced: found.some(({ isTimeSliced }) => isTimeSliced) };
  const unfit = found.reduce((sum, { capacity, devices }) => sum + Math.max(0, capacity - devices), 0);
  const chosen = chosenClass(node, reader);
  const servers = offered.map((one): FoundServer => {
    const product = productOf(node, one.resource, reader);
    const isOnly = offered.length === 1;
    const kind = one.resource.replace('nvidia.com/mig-', 'MIG-');
    const ofNode = chosen === undefined || isOnly || one.resource === GPU ? chosen : `${chosen}-${kind}`;
    return {
      name: node.name,
      product: ofNode ?? product ?? UNNAMED,
      isChosen: chosen !== undefined,
      devices: one.devices,
      virtual: one.virtual,
      memoryGiB: memoryOf(node, one.resource, reader),
      machine: machineOf(node, reader),
    };
  });
  const isUnnamed = servers.some(({ isChosen, product }) => !isChosen && product === UNNAMED);
  return { ...base, servers, unfit, isUnnamed, isByLabel: offered.some(({ isByLabel }) => isByLabel) };
}

/** cpuOf makes one device of a machine: all its cores. */
export function cpuOf(node: KubernetesNode, reader: FieldReader): FoundServer | undefined {
  const { capacity, allocatable } = amountsOf(node, reader);
  const [cores, bytes] = [amount(capacity, 'cpu', reader), amount(allocatable, 'memory', reader)];
  const chosen = chosenClass(node, reader);
  if (cores === undefined || cores <= 0) return undefined;
  return {
    name: node.name,
    product: chosen ?? cpuName(cores),
    isChosen: chosen !== undefined,
    devices: 1,
    memoryGiB: bytes === undefined ? undefined : gibOf(bytes),
    machine: machineOf(node, reader),
  };
}

export function chosenClass({ labels, at }: KubernetesNode, reader: FieldReader): string | undefined {
  return reader.className(labels[NODE_CLASS_LABEL], labelAt(at, NODE_CLASS_LABEL));
}

/** Amounts are the resources of a node, with where they stand. */
interface Amounts {
  readonly of: Fields;
  readonly at: FieldPlace;
}

/** amountsOf gives what a node has and what of it can be allocated, of which one may be absent. */
function amountsOf(
  { status, at }: KubernetesNode,
  reader: FieldReader,
): {
  readonly capacity: Amounts;
  readonly allocatable: Amounts;
} {
  const part = (name: string): Amounts | undefined => {
    const where = below(at, 'status', name);
    return status[name] === undefined ? undefined : { of: reader.fields(status[name], where), at: where };
  };
  const [capacity, allocatable] = [part('capacity'), part('allocatable')];
  if (capacity === undefined && allocatable === undefined)
    reader.wrong(
      'has neither "allocatable" nor "capacity": only a running node tells them',
      below(at, 'status'),
    );
  const none = { of: {}, at };
  return { capacity: capacity ?? allocatable ?? none, allocatable: allocatable ?? capacity ?? none };
}

function amount({ of, at }: Amounts, name: string, reader: FieldReader): number | undefined {
  if (of[name] === undefined) return undefined;
  const value = quantityOf(of[name]);
  if (value !== undefined && value >= 0) return value;
  return reader.wrong(`is ${shown(of[name])}, not a quantity as Kubernetes writes them`, below(at, name));
}

/** resourcesOf names the kinds of GPUs that a node reports, each once. */
function resourcesOf(node: KubernetesNode, reader: FieldReader): string[] {
  const { capacity, allocatable } = amountsOf(node, reader);
  const names = new Set<string>();
  for (const key of [...Object.keys(capacity.of), ...Object.keys(allocatable.of)]) {
    const mig = MIG.exec(key)?.[1];
    if (mig !== undefined) names.add(`nvidia.com/${mig}`);
    else if (key === GPU || key === `${GPU}${SHARED}`) names.add(GPU);
    else if (key === AMD) names.add(AMD);
  }
  // Where claims give GPUs out (DRA), no resource has them.
  if (names.size === 0 && node.labels[`${GPU}.count`] !== undefined) names.add(GPU);
  return [...names].sort();
}

/** KindOfDevices is the devices of one resource of a node. */
interface KindOfDevices {
  readonly resource: string;
  readonly devices: number;
  readonly capacity: number;
  readonly virtual?: number | undefined;
  readonly isTimeSliced: boolean;
  readonly isByLabel: boolean;
}

function devicesOf(node: KubernetesNode, resource: string, reader: FieldReader): KindOfDevices {
  const { capacity, allocatable } = amountsOf(node, reader);
  const { replicas, isMps } = sharingOf(node, resource, reader);
  const whole = (amounts: Amounts): number | undefined => {
    const counts = [resource, `${resource}${SHARED}`].flatMap((name) => {
      const value = amount(amounts, name, reader);
      if (value === undefined) return [];
      return [reader.devices(value, { given: amounts.of[name], at: below(amounts.at, name) })];
    });
    return counts.length === 0
      ? undefined
      : Math.floor(counts.reduce((sum, count) => sum + count, 0) / replicas);
  };
  const usable = whole(allocatable);
  const isByLabel = usable === undefined;
  const devices = usable ?? wholeLabel(node, `${resource}.count`, reader) ?? 0;
  return {
    resource,
    devices,
    capacity: whole(capacity) ?? devices,
    isByLabel,
    virtual: isMps && replicas > 1 ? replicas : undefined,
    isTimeSliced: !isMps && replicas > 1,
  };
}

/** sharingOf tells into how many clients each device of a node is divided, and whether MPS does it. */
function sharingOf(
  node: KubernetesNode,
  resource: string,
  reader: FieldReader,
): { readonly replicas: number; readonly isMps: boolean } {
  const [strategy, count] =
    node.labels[`${resource}.replicas`] === undefined
      ? ['cloud.google.com/gke-gpu-sharing-strategy', 'cloud.google.com/gke-max-shared-clients-per-gpu']
      : [`${resource}.sharing-strategy`, `${resource}.replicas`];
  const replicas = Math.max(1, wholeLabel(node, count, reader) ?? 1);
  if (replicas > MOST_REPLICAS) {
    const said = `is ${replicas}; a GPU is divided into at most ${MOST_REPLICAS}`;
    reader.wrong(said, labelAt(node.at, count));
  }
  return { replicas, isMps: node.labels[strategy] === 'mps' };
}

/** productOf names the product of a node's devices: by GPU feature discovery, else as a cloud labels its machines. */
function productOf(node: KubernetesNode, resource: string, reader: FieldReader): string | undefined {
  const label = (name: string) => reader.className(node.labels[name], labelAt(node.at, name));
  const told = label(`${resource}.product`) ?? label(`${resource}.product-name`);
  if (told !== undefined) return told.replace(/-SHARED$/, '');
  if (resource.startsWith('nvidia.com/mig-')) {
    const gpu = productOf(node, GPU, reader) ?? UNNAMED;
    return `${gpu}-${resource.replace('nvidia.com/mig-', 'MIG-')}`;
  }
  const google = label('cloud.google.com/gke-accelerator');
  const part = label('cloud.google.com/gke-gpu-partition-size');
  if (google !== undefined) return part === undefined ? google : `${google}-MIG-${part}`;
  return label('karpenter.k8s.aws/instance-gpu-name') ?? label('k8s.amazonaws.com/accelerator');
}

/** memoryOf gives the memory of a device, which labels have in MiB. */
function memoryOf(node: KubernetesNode, resource: string, reader: FieldReader): number | undefined {
  const mib =
    wholeLabel(node, `${resource}.memory`, reader) ??
    (resource === GPU ? wholeLabel(node, 'karpenter.k8s.aws/instance-gpu-memory', reader) : undefined);
  return mib === undefined ? undefined : gibOf(mib * BYTES_PER_MIB);
}

const SPOT: readonly (readonly [string, RegExp])[] = [
  ['karpenter.sh/capacity-type', /^spot$/],
  ['eks.amazonaws.com/capacityType', /^SPOT$/],
  ['cloud.google.com/gke-spot', /^true$/],
  ['kubernetes.azure.com/scalesetpriority', /^spot$/],
];

/** machineOf tells the type of a node's machine, and whether it is rented on the spot market. */
function machineOf({ labels, at }: KubernetesNode, reader: FieldReader): string | undefined {
  const [type] = ['node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type'].flatMap(
    (name) => reader.text(labels[name], labelAt(at, name)) ?? [],
  );
  const isSpot = SPOT.some(([name, value]) => value.test(String(labels[name])));
  return isSpot ? `${type ?? 'a machine'} (spot)` : type;
}

/** wholeLabel reads a label that has a whole number. */
function wholeLabel({ labels, at }: KubernetesNode, name: string, reader: FieldReader): number | undefined {
  const text = reader.text(labels[name], labelAt(at, name));
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  return reader.wrong(`is ${shown(text)}, not a whole number below 1,000,000,000`, labelAt(at, name));
}

function labelAt(at: FieldPlace, name: string): FieldPlace {
  return below(at, 'metadata', 'labels', name);
}
