import { itemAt, largestOf, lastOf, smallestOf } from '../collections/index.js';
import type { Bundle, BundledDevice } from '../formats/index.js';
import { NS_PER_MS, NS_PER_US } from '../formats/index.js';
import {
  applicationsOf,
  bundledFile,
  type KeyedTensor,
  type PartWiring,
  type PlanPart,
  planOf,
  planTopologyOf,
  type StagePlan,
  type VerdictChoice,
} from '../plans/index.js';
import { gearsOf, type Pool, type Topology, type VirtualDevice } from '../serving/index.js';

/**
 * EngineGraph is a plan and its files as any engine runs them: what clients call, the stages that run a file each, and the
 * groups of like devices. Targets write it in the words of their engine, and know nothing else of a plan's kind.
 */
export interface EngineGraph {
  readonly models: readonly EngineModel[];
  /** The stages, one for each pool of the plan's topology, in order. */
  readonly stages: readonly EngineStage[];
  readonly groups: readonly DeviceGroup[];
  /** Where requests are served by gears: which stages, by load. */
  readonly gears?: EngineGears;
}

/** EngineModel is what clients call by name. */
export interface EngineModel {
  readonly name: string;
  readonly sloMs: number;
  readonly inputs: readonly KeyedTensor[];
  readonly outputs: readonly KeyedTensor[];
  readonly mayLackOutputs: boolean;
  /** The most rows of a request. */
  readonly maxRows: number;
  readonly plannedRps: number;
  readonly weight: number;
  /** The first stage of each of its routes, with the share of requests that takes it. */
  readonly routes: readonly { readonly entry: number; readonly share: number }[];
}

/** EngineStage runs one ONNX file. */
export interface EngineStage extends Pick<PartWiring, 'inputs' | 'outputs' | 'certainty' | 'answers'> {
  /** A name that is its own, of letters, digits and `_`. */
  readonly name: string;
  readonly part: PlanPart;
  /** The path of its ONNX file in the bundle. */
  readonly file: string;
  /** The stages that it leads to, and the bit of its verdict that says so; always where there is none. */
  readonly next: readonly { readonly to: number; readonly bit?: number }[];
  readonly choices: readonly VerdictChoice[];
  /** The largest batch that it executes. */
  readonly batch: number;
  /** The least time from the start of a row alone until its last stage ends; in a cascade, until this one ends. */
  readonly leastMs: number;
  /** The time of what comes after it for a full batch of its own, without waits: by the longest way on, and in a cascade 0. */
  readonly fullRestMs: number;
}

/** DeviceGroup is devices alike: of one class and size, which hold the same stages. Each runs one batch at a time. */
export interface DeviceGroup {
  /** A name that is its own, of letters, digits and `_`. */
  readonly name: string;
  readonly deviceClass: string;
  /** v: each is 1/v of a GPU. */
  readonly virtual: number;
  /** How the class is run; absent where the profiles do not say. */
  readonly run?: BundledDevice;
  /**
   * The devices that are up. Devices on standby are left out, since no other engine runs the plan's tuner.
   */
  readonly replicas: number;
  readonly stages: readonly HeldStage[];
}

/** HeldStage is a stage that the devices of a group hold. */
export interface HeldStage {
  readonly stage: number;
  /** The planned time of a batch of b at index b − 1. */
  readonly latencyMs: readonly number[];
  /** The part of the stage's tasks that comes to the group. */
  readonly share: number;
}

/** EngineGears says which stages serve requests up to which rate. */
export interface EngineGears {
  readonly intervalMs: number;
  readonly alpha: number;
  readonly plannedRps?: number;
  readonly gears: readonly EngineGear[];
}

/** EngineGear is how requests are served up to a rate. */
export interface EngineGear {
  readonly toRps: number;
  readonly timeoutMs: number;
  readonly steps: readonly EngineStep[];
}

/** EngineStep is a stage of a gear: rows of a lower certainty than `below` go on to the next, if it has one. */
export interface EngineStep {
  readonly stage: number;
  readonly below?: number;
  readonly minQueue: number;
  /** The part of its tasks that comes to each group that holds it, by the group's place in the graph. */
  readonly shares: readonly { readonly group: number; readonly share: number }[];
}

/** engineGraphOf makes the graph of a plan and the manifest of its bundle. Its cost is linear in the plan. */
export function engineGraphOf(
  plan: StagePlan,
  bundle: Pick<Bundle, 'models' | 'partitions' | 'stages' | 'devices'>,
): EngineGraph {
  const topology = planTopologyOf(plan, { transfers: 'none' });
  const parts = planOf(plan).parts(plan);
  const files = parts.map((part) => bundledFile(part, bundle) ?? { file: '', inputs: [], outputs: [] });
  const wiring = planOf(plan).wiring(plan, files);
  const names = stageNames(parts);
  const least = leastTimes(topology);
  const fullRests = fullRestTimes(topology);
  const stages = topology.pools.map((pool, i): EngineStage => {
    const { inputs, outputs, certainty, answers, choices = [] } = itemAt(wiring.parts, i);
    return {
      name: itemAt(names, i),
      part: itemAt(parts, i),
      file: files[i]?.file ?? '',
      inputs,
      outputs,
      ...(certainty === undefined ? {} : { certainty }),
      ...(answers === undefined ? {} : { answers }),
      next: nextOf(pool, topology, choices),
      choices,
      batch: pool.batch,
      leastMs: itemAt(least, i) / NS_PER_MS,
      fullRestMs: itemAt(fullRests, i) / NS_PER_MS,
    };
  });
  const groups = groupsOf(topology, names, bundle.devices);
  const gears = engineGears(topology, groups);
  const models = applicationsOf(plan).map(({ name, throughputRps, heldRps, weight }, m): EngineModel => {
    const { inputs, outputs, mayLackOutputs } = itemAt(wiring.applications, m);
    const { entries, sloNs } = itemAt(topology.models, m);
    return {
      name,
      sloMs: sloNs / NS_PER_MS,
      inputs,
      outputs,
      mayLackOutputs,
      maxRows: maxRowsOf(inputs, topology.pools, m),
      plannedRps: heldRps ?? throughputRps,
      weight,
      routes: sharesOf(entries.map((entry) => itemAt(topology.pools, entry).throughputRps)).map(
        (share, i) => ({ entry: itemAt(entries, i), share }),
      ),
    };
  });
  return { models, stages, groups, ...(gears === undefined ? {} : { gears }) };
}

/** engineName turns a name into one of letters, digits and `_`. */
export function engineName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_]/g, '_').replace(/^(?![A-Za-z])/, 'm');
}

/** unique keeps names apart that have become equal. */
function unique(names: readonly string[]): string[] {
  return names.map((name, i) =>
    names.indexOf(name) === i && isLast(names, name, i) ? name : `${name}_${i}`,
  );
}

function isLast(names: readonly string[], name: string, i: number): boolean {
  return names.lastIndexOf(name) === i;
}

function stageNames(parts: readonly PlanPart[]): string[] {
  return unique(
    parts.map(({ name, stage }) =>
      stage.kind === 'partition'
        ? `${engineName(name)}_p${stage.pipeline}_s${stage.partition}`
        : engineName(stage.name),
    ),
  );
}

function nextOf(
  { edges }: Pool,
  { routes }: Topology,
  choices: readonly VerdictChoice[],
): EngineStage['next'] {
  // Of a cascade, the active gear says where rows go on.
  if (routes.kind === 'cascade') return [];
  let bit = 0;
  return edges.map(({ to, when }) =>
    when.kind === 'verdict' && choices.length > 0 ? { to, bit: bit++ } : { to },
  );
}

/** leastTimes gives, for each pool, the time of a row alone from its start to the end of the longest way on, in ns. */
function leastTimes({ pools, routes }: Topology): Float64Array {
  const least = new Float64Array(pools.length);
  for (let i = pools.length - 1; i >= 0; i--) {
    const { latencyNs, classes, edges } = itemAt(pools, i);
    const own = smallestOf((classes ?? [{ latencyNs }]).map((one) => itemAt(one.latencyNs, 0)));
    const later =
      routes.kind === 'cascade' ? [] : edges.filter(({ to }) => to > i).map(({ to }) => itemAt(least, to));
    least[i] = own + Math.max(0, largestOf(later));
  }
  return least;
}

/**
 * fullRestTimes gives, for each pool, how long its full batch takes after it, by the longest way on, in ns. Where later batches are
 * smaller, it goes on as one of those.
 */
function fullRestTimes({ pools, routes }: Topology): Float64Array {
  const rests = new Float64Array(pools.length);
  const works: Float64Array[] = [];
  for (let i = pools.length - 1; i >= 0; i--) {
    const { batch, latencyNs, edges } = itemAt(pools, i);
    const later = routes.kind === 'cascade' ? [] : edges.filter(({ to }) => to > i);
    works[i] = Float64Array.from({ length: batch }, (_, b) => {
      const ways = later.map(({ to }) => {
        const work = itemAt(works, to);
        return itemAt(work, Math.min(b, work.length - 1));
      });
      rests[i] = Math.max(0, largestOf(ways));
      return itemAt(latencyNs, b) + itemAt(rests, i);
    });
  }
  return rests;
}

/** MaxRows is what a request may hold: the rows of the largest batch, where rows can be stacked. */
function maxRowsOf(inputs: readonly KeyedTensor[], pools: readonly Pool[], model: number): number {
  const own = pools.filter((pool) => pool.owner !== undefined || pool.model === model);
  const isBatched = inputs.some(({ spec }) => spec.batchAxis !== undefined);
  return isBatched ? own.reduce((most, { batch }) => Math.max(most, batch), 1) : 1;
}

/** sharesOf makes rates shares that sum to 1; equal ones where all are 0. */
function sharesOf(rates: readonly number[]): number[] {
  const sum = rates.reduce((all, rate) => all + rate, 0);
  return rates.map((rate) => (sum > 0 ? rate / sum : 1 / rates.length));
}

/** Alike is devices of one class and size that hold the same pools. */
interface Alike {
  readonly held: readonly number[];
  readonly deviceClass: string;
  readonly virtual: number;
  readonly devices: number[];
}

function alikeDevices({ devices }: Topology): Alike[] {
  const groups = new Map<string, Alike>();
  devices.forEach((device, i) => {
    if (device.standby === true) return;
    const { deviceClass, virtual } = device;
    const held = heldBy(device);
    const key = JSON.stringify([held, deviceClass, virtual]);
    const group = groups.get(key) ?? { held, deviceClass, virtual, devices: [] };
    groups.set(key, group);
    group.devices.push(i);
  });
  return [...groups.values()].sort((a, b) => itemAt(a.held, 0) - itemAt(b.held, 0));
}

function heldBy({ pool, otherPools = [] }: VirtualDevice): number[] {
  return [pool, ...otherPools].sort((a, b) => a - b);
}

function groupsOf(
  topology: Topology,
  names: readonly string[],
  runs: Readonly<Record<string, BundledDevice>>,
): DeviceGroup[] {
  const alike = alikeDevices(topology);
  const rateIn = ({ devices, ...group }: Alike, pool: number): number => {
    const latencies = latencyIn(itemAt(topology.pools, pool), group);
    return (devices.length * latencies.length) / lastOf(latencies);
  };
  const named = unique(alike.map((group) => groupName(group, alike, names)));
  return alike.map((group, g): DeviceGroup => {
    const { deviceClass, virtual, devices, held } = group;
    const run = runs[deviceClass];
    return {
      name: itemAt(named, g),
      deviceClass,
      virtual,
      replicas: devices.length,
      ...(run === undefined ? {} : { run }),
      stages: held.map((stage) => {
        const holders = alike.filter((one) => one.held.includes(stage));
        const shares = sharesOf(holders.map((one) => rateIn(one, stage)));
        return {
          stage,
          latencyMs: Array.from(latencyIn(itemAt(topology.pools, stage), group), (ns) =>
            rounded(ns / NS_PER_MS),
          ),
          share: itemAt(shares, holders.indexOf(group)),
        };
      }),
    };
  });
}

/** A group that is the only one of its stage has the stage's name. */
function groupName(group: Alike, all: readonly Alike[], names: readonly string[]): string {
  const [stage] = group.held as [number];
  const isOnly = group.held.length === 1 && all.filter(({ held }) => held.includes(stage)).length === 1;
  if (isOnly) return itemAt(names, stage);
  const size = group.virtual === 1 ? '' : `_${group.virtual}`;
  return `${group.held.map((one) => names[one]).join('_')}_on_${engineName(group.deviceClass)}${size}`;
}

function latencyIn(
  { latencyNs, classes = [] }: Pool,
  { deviceClass, virtual }: Pick<Alike, 'deviceClass' | 'virtual'>,
): Float64Array {
  const own = classes.find((one) => one.deviceClass === deviceClass && one.virtual === virtual);
  return own?.latencyNs ?? latencyNs;
}

function rounded(ms: number): number {
  return Math.round(ms * NS_PER_US) / NS_PER_US;
}

function engineGears(topology: Topology, groups: readonly DeviceGroup[]): EngineGears | undefined {
  const table = gearsOf(topology.routes);
  if (table === undefined) return undefined;
  const alike = alikeDevices(topology);
  return {
    intervalMs: table.intervalNs / NS_PER_MS,
    alpha: table.alpha,
    ...(table.plannedRps === undefined ? {} : { plannedRps: table.plannedRps }),
    gears: table.gears.map(({ toRps, timeoutNs, steps }) => ({
      toRps,
      timeoutMs: timeoutNs / NS_PER_MS,
      steps: steps.map(({ pool, below, minQueue, shares }, k) => ({
        stage: pool,
        minQueue,
        ...(k === steps.length - 1 ? {} : { below }),
        shares: groups.flatMap(({ stages }, group) => {
          const held = stages.find(({ stage }) => stage === pool);
          if (held === undefined) return [];
          const devices = itemAt(topology.pools, pool).devices;
          const planned = alike[group]?.devices.reduce(
            (sum, device) => sum + (shares?.[devices.indexOf(device)] ?? 0),
            0,
          );
          return [{ group, share: shares === undefined ? held.share : (planned ?? 0) }];
        }),
      })),
    })),
  };
}
