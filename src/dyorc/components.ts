import { lastOf } from '../collections/index.js';
import {
  BYTES_PER_GIB,
  type ComponentOnClass,
  type DeviceProfile,
  type Fault,
  fault,
  listed,
  measurementNotes,
  type OpenCluster,
  type OpenDeviceClass,
  type PlannedComponent,
  type Profile,
  servingNotes,
  US_PER_MS,
  type WorkflowComponent,
} from '../formats/index.js';
import { classFigures, latencyUsByBatch, measuredBatches, weightBytes } from '../pipeline/index.js';
import { steadyBatch } from './largest-batch.js';

/** This many bytes pass in a microsecond at a gigabyte a second. */
const BYTES_PER_US = 1e3;

/** ComponentFile is a component of a spec, with its profile, which has the figures of aliases, and the path of that. */
export interface ComponentFile {
  readonly component: WorkflowComponent;
  readonly profile: Profile;
  readonly path: string;
  /** The most rows that a call of it takes. */
  readonly mostRows: number;
}

/** ResolvedComponents are components as a plan has them, with what is to be known of their figures, or every fault. */
export interface ResolvedComponents {
  readonly components: readonly PlannedComponent[];
  readonly notes: readonly string[];
  readonly faults: readonly Fault[];
}

/**
 * resolveComponents joins components with the classes of a cluster: on each that has their figures and enough
 * memory, how large their batches are, and how long they are loaded. The memory of a component is its
 * memoryGiB, or else its weights. Batches are as large as maxBatch says, or else as throughput grows, and as
 * the largest call. A class on which they cannot be so large is left out, so that each class of a component
 * executes every call of it, unless none does.
 */
export function resolveComponents(files: readonly ComponentFile[], cluster: OpenCluster): ResolvedComponents {
  const each = files.map((file, c) => resolveComponent(file, cluster, `/components/${c}`));
  return {
    components: each.flatMap(({ planned }) => planned ?? []),
    notes: [...new Set(each.flatMap(({ notes }) => notes))],
    faults: each.flatMap(({ faults }) => faults),
  };
}

interface ResolvedComponent {
  readonly planned?: PlannedComponent;
  readonly notes: readonly string[];
  readonly faults: readonly Fault[];
}

function resolveComponent(file: ComponentFile, cluster: OpenCluster, at: string): ResolvedComponent {
  const { component, profile, path, mostRows } = file;
  const weights = weightBytes(profile);
  const { memoryGiB } = component;
  const memoryBytes = memoryGiB === undefined ? weights : Math.ceil(memoryGiB * BYTES_PER_GIB);
  if (memoryBytes === undefined)
    return {
      notes: [],
      faults: [
        fault(
          `is needed: ${path} does not say how large the weights of ${component.name} are`,
          `${at}/memoryGiB`,
        ),
      ],
    };
  const loadedBytes = weights ?? memoryBytes;
  const measured = Object.keys(cluster.devices).filter((device) => isMeasured(profile, device));
  const fitting = measured.filter((device) => fits(memoryBytes, cluster.devices[device]));
  const onEach = fitting.map((device) => onClass(file, { device, cluster, loadedBytes }));
  const able = onEach.filter(({ planned: { batch } }) => batch >= mostRows);
  const classes = able.length === 0 ? onEach : able;
  const faults = [
    ...memoryFaults(file, { weights, memoryBytes }, at),
    ...(fitting.length === 0 ? [fault(fitsNoneText(file, { measured, cluster, memoryBytes }), at)] : []),
    ...classes.flatMap(({ faults: own }) => own),
  ];
  const { model } = profile;
  const { inputs, outputs, batchTolerance, trustBatch, unservedOutputs } = model;
  const planned: PlannedComponent = {
    name: component.name,
    model: model.name,
    memoryBytes,
    ...(weights === undefined ? {} : { weightBytes: weights }),
    classes: classes.map(({ planned: one }) => one),
    ...(inputs === undefined ? {} : { inputs }),
    ...(outputs === undefined ? {} : { outputs }),
    ...(batchTolerance === undefined ? {} : { batchTolerance }),
    ...(trustBatch === undefined ? {} : { trustBatch }),
    ...(unservedOutputs === undefined ? {} : { unservedOutputs }),
  };
  const figures = planned.classes.map(({ device, batch }) =>
    classFigures(profile, { device, virtual: 1, batch }),
  );
  const notes = [
    ...servingNotes(component.name, model),
    ...measurementNotes(component.name, profile, figures),
    ...classes.flatMap(({ notes: own }) => own),
    ...onEach
      .filter((one) => !classes.includes(one))
      .map(
        ({ planned: { device, batch } }) =>
          `${component.name} is called with ${mostRows} rows, and executes at most ${batch} on ${device}: it is not used there`,
      ),
    ...measured
      .filter((device) => !fitting.includes(device))
      .map((device) => `${component.name} takes ${gib(memoryBytes)} GiB and does not fit into a ${device}`),
  ];
  return { planned, notes, faults };
}

/** memoryFaults reports that a component is said to take less than its weights alone do. */
function memoryFaults(
  { component: { name, memoryGiB }, path }: ComponentFile,
  { weights = 0, memoryBytes }: { readonly weights: number | undefined; readonly memoryBytes: number },
  at: string,
): Fault[] {
  if (memoryBytes >= weights) return [];
  const said = `is ${memoryGiB}, and the weights of ${name} alone take ${gib(weights)} GiB by ${path}`;
  return [fault(said, `${at}/memoryGiB`)];
}

function isMeasured({ devices }: Profile, device: string): boolean {
  const measured = devices[device];
  return measured !== undefined && measuredBatches({ device: measured, virtual: 1 }).length > 0;
}

function fits(bytes: number, { memoryGiB = Number.POSITIVE_INFINITY }: OpenDeviceClass = {}): boolean {
  return bytes <= memoryGiB * BYTES_PER_GIB;
}

function fitsNoneText(
  { component: { name }, path }: ComponentFile,
  {
    measured,
    cluster,
    memoryBytes,
  }: { readonly measured: readonly string[]; readonly cluster: OpenCluster; readonly memoryBytes: number },
): string {
  const classes = Object.keys(cluster.devices);
  if (measured.length === 0)
    return `${name} runs on no class of the cluster: ${path} has no figures of ${listed(classes)}`;
  const has = measured.map((device) => `${device} has ${cluster.devices[device]?.memoryGiB}`);
  return `${name} takes ${gib(memoryBytes)} GiB and fits into no device: ${listed(has)}`;
}

function gib(bytes: number): number {
  return Number((bytes / BYTES_PER_GIB).toPrecision(4));
}

interface OnClass {
  readonly planned: ComponentOnClass;
  readonly notes: readonly string[];
  readonly faults: readonly Fault[];
}

function onClass(
  { component, profile, mostRows }: ComponentFile,
  {
    device,
    cluster,
    loadedBytes,
  }: { readonly device: string; readonly cluster: OpenCluster; readonly loadedBytes: number },
): OnClass {
  const measured = { device: profile.devices[device] as DeviceProfile, virtual: 1 };
  const sizes = measuredBatches(measured);
  const last = lastOf(sizes);
  const { name, maxBatch } = component;
  const batch = Math.min(last, maxBatch ?? Math.max(mostRows, steadyBatch(timesOf(measured, last))));
  const { loadGBps, diskGBps } = cluster.devices[device] ?? {};
  const loadUs = loadUsOf(component, measured.device) ?? usOf(loadedBytes, loadGBps);
  const faults =
    loadUs === undefined
      ? [
          fault(
            `is needed: neither the spec nor the profile says how long ${name} takes to load; give it, or loadMs of ${name}`,
            `/cluster/devices/${device}/loadGBps`,
          ),
        ]
      : [];
  const notes =
    maxBatch !== undefined && maxBatch > last
      ? [
          `${name} was measured up to batch ${last} on ${device}: no batch is larger there, whatever maxBatch says`,
        ]
      : [];
  const latencies = latencyUsByBatch(measured, batch);
  return {
    planned: {
      device,
      batch,
      latencyUsByBatch: latencies,
      loadUs: loadUs ?? 0,
      diskUs: usOf(loadedBytes, diskGBps) ?? 0,
    },
    notes,
    faults,
  };
}

function timesOf(measured: Parameters<typeof latencyUsByBatch>[0], last: number) {
  return latencyUsByBatch(measured, last).flatMap((latencyUs, i) =>
    latencyUs === null ? [] : [{ batch: i + 1, latencyUs }],
  );
}

/** loadUsOf is the time that a component says itself, or else its profile, of all blocks. */
function loadUsOf({ loadMs }: WorkflowComponent, { loadMs: byBlock }: DeviceProfile): number | undefined {
  if (loadMs !== undefined) return loadMs * US_PER_MS;
  const known = (byBlock ?? []).flatMap((ms) => ms ?? []);
  if (byBlock === undefined || known.length < byBlock.length || known.length === 0) return undefined;
  return known.reduce((sum, ms) => sum + ms, 0) * US_PER_MS;
}

function usOf(bytes: number, gigabytesPerS: number | undefined): number | undefined {
  return gigabytesPerS === undefined ? undefined : bytes / (gigabytesPerS * BYTES_PER_US);
}
