import { itemAt } from '../../../collections/index.js';
import { type BundledDevice, type Fault, fault, listed } from '../../../formats/index.js';
import { planTopologyOf } from '../../../plans/index.js';
import { type StageTopology, topologyPartOf, type VirtualDevice } from '../../../serving/index.js';
import { dnsName } from './names.js';
import { cpuClasses, type PlacedGraph } from './nodes.js';

/** Of what a plan serves, so much may be lost by rounding. */
const RATE_ERROR = 1e-6;
/** Names of pods have a few more letters than that of what makes them. */
const UNIT_LETTERS = 40;

/** ServingUnit is what one pod of our own server serves by itself, as many times as there are pods alike. */
export interface ServingUnit {
  readonly name: string;
  /** The value that `plan serve --at` gets: a server of the plan, or one of its devices. */
  readonly at: string;
  readonly replicas: number;
  readonly deviceClass: string;
  /** Into how many parts its GPUs are divided. */
  readonly virtual: number;
  /** Its whole GPUs; 0 of shares and processor cores. */
  readonly gpus: number;
  /** It has one share of a GPU that the device plugin divides. */
  readonly isShare: boolean;
  /** The devices that a pod runs, and the threads of each on processor cores. */
  readonly devices: number;
  readonly threads: number;
  /**
   * The most that each model gets of it, in requests per second; models that it does not serve are left out.
   */
  readonly rates: readonly { readonly model: number; readonly rps: number }[];
}

/**
 * DividedBy says who divides GPUs: the device plugin gives a container one share, and a claim of DRA whole GPUs with
 * MPS on them.
 */
export type DividedBy = 'plugin' | 'claims';

/**
 * servingUnits gives what pods serve of a plan, those alike as one. Stages that no pod can serve by itself
 * are left out.
 */
export function servingUnits({ plan, graph }: PlacedGraph, dividedBy: DividedBy): ServingUnit[] {
  const topology = planTopologyOf(plan, { transfers: 'none' });
  const cpus = cpuClasses(graph);
  const runs = new Map(graph.groups.map(({ deviceClass, run }) => [deviceClass, run]));
  const places = new Map<string, number[]>();
  topology.devices.forEach((device, i) => {
    const { server, name, virtual, deviceClass } = device;
    const isShare = dividedBy === 'plugin' && virtual > 1 && !cpus.has(deviceClass);
    const place = isShare ? name : server;
    places.set(place, [...(places.get(place) ?? []), i]);
  });
  const units = new Map<string, ServingUnit>();
  for (const [at, devices] of places) {
    const unit = unitAt({ at, devices, topology, cpus, run: runs.get(classAt(topology, devices)) });
    if (unit.rates.length === 0) continue;
    const key = alikeKey(devices.map((i) => itemAt(topology.devices, i)));
    const known = units.get(key);
    units.set(key, known === undefined ? unit : { ...known, replicas: known.replicas + 1 });
  }
  return named([...units.values()], graph);
}

function classAt({ devices: all }: StageTopology, [first]: readonly number[]): string {
  return itemAt(all, first as number).deviceClass;
}

/** alikeKey is the same of devices that do the same. A GPU's number says nothing but which devices are on one. */
function alikeKey(devices: readonly VirtualDevice[]): string {
  const gpus = [...new Set(devices.map(({ gpu }) => gpu))];
  const all = devices.map(({ gpu, deviceClass, virtual, pool, otherPools = [], standby }) => [
    ...[gpus.indexOf(gpu), deviceClass, virtual, pool, otherPools, standby === true],
  ]);
  return JSON.stringify(all);
}

interface UnitPlace {
  readonly at: string;
  readonly devices: readonly number[];
  readonly topology: StageTopology;
  readonly cpus: ReadonlySet<string>;
  readonly run: BundledDevice | undefined;
}

function unitAt({ at, devices, topology, cpus, run }: UnitPlace): ServingUnit {
  const here = new Set(devices);
  const part = topologyPartOf(topology, (_, i) => here.has(i));
  const own = devices.map((i) => itemAt(topology.devices, i));
  const [{ deviceClass, virtual, server }] = own as [VirtualDevice];
  const isOnCpu = cpus.has(deviceClass);
  const isShare = !isOnCpu && virtual > 1 && at !== server;
  return {
    name: '',
    at,
    replicas: 1,
    deviceClass,
    virtual: isOnCpu ? 1 : virtual,
    isShare,
    gpus: isOnCpu || isShare ? 0 : new Set(own.map(({ gpu }) => gpu)).size,
    devices: devices.length,
    threads: isOnCpu ? (run?.threads ?? 1) / virtual : 1,
    rates: part.topology.models.flatMap(({ entries, throughputRps }, model) =>
      entries.length === 0 ? [] : [{ model, rps: throughputRps }],
    ),
  };
}

/** named gives each unit a name: of the models, and of its class where there are several units. */
function named(units: readonly ServingUnit[], { models }: PlacedGraph['graph']): ServingUnit[] {
  const whole = dnsName(models.map(({ name }) => name).join('-'), UNIT_LETTERS);
  if (units.length === 1) return units.map((unit) => ({ ...unit, name: whole }));
  return units.map((unit, u) => {
    const suffix = dnsName(`${unit.deviceClass}${unit.virtual === 1 ? '' : `-${unit.virtual}`}-${u}`, 16);
    const short = dnsName(whole, UNIT_LETTERS - suffix.length - 1);
    return { ...unit, name: `${short}-${suffix}` };
  });
}

/** splitFaults finds models of which pods by themselves do not serve what is planned, since requests go on to other nodes. */
export function splitFaults(bundle: PlacedGraph, dividedBy: DividedBy): Fault[] {
  const { plan, graph } = bundle;
  const units = servingUnits(bundle, dividedBy);
  const topology = planTopologyOf(plan, { transfers: 'none' });
  return topology.models.flatMap(({ name, throughputRps, entries }, m) => {
    const served = units.reduce(
      (sum, { rates, replicas }) => sum + replicas * (rates.find(({ model }) => model === m)?.rps ?? 0),
      0,
    );
    if (entries.length === 0 || served >= throughputRps * (1 - RATE_ERROR)) return [];
    const what =
      dividedBy === 'plugin' && graph.groups.some(({ virtual }) => virtual > 1)
        ? 'servers and shares'
        : 'servers';
    return [
      fault(
        `${what} of the plan can serve ${Number(served.toPrecision(4))} of ${Number(throughputRps.toPrecision(4))} requests/s of ${name} by themselves, since its stages ${listed(stagesOf(graph, m))} are on several; a pod of this target serves from the first stage to the last. ray-serve and kuberay take chains over servers`,
        '/placement',
      ),
    ];
  });
}

function stagesOf({ stages, models }: PlacedGraph['graph'], model: number): string[] {
  const own = stages.filter(({ part }) => part.application === model);
  return (models.length === 1 ? stages : own).map(({ name }) => name);
}
