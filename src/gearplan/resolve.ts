import { itemAt, lastOf, pushAll, smallestOf } from '../collections/index.js';
import {
  aliasFaults,
  BYTES_PER_GIB,
  type CascadeLoad,
  type CascadeMethod,
  type CascadeModel,
  type CascadeObjective,
  type CascadeSpec,
  cascadeMethodOf,
  classText,
  DEFAULT_QUANTILE,
  type DeviceProfile,
  type Fault,
  fault,
  listed,
  type NoPlanReason,
  NS_PER_MS,
  type OpenCluster,
  type OpenDeviceClass,
  type Profile,
} from '../formats/index.js';
import { freeGpus, latencyUsByBatch, measuredBatches, weightBytes } from '../pipeline/index.js';
import type { FamilyRecords } from '../records/index.js';
import { filledLatencies } from '../serving/index.js';
import { tooLarge } from './placement.js';
import { type FamilyModel, type GearProblem, type LoadRange, leastWorkNs } from './problem.js';

/** Where the fewest or cheapest devices are searched, a class that nobody counts has as many as this. */
const MOST_DEVICES = 512;

/** A plan lists what each of its devices holds, and placements of one set after another are tried. */
const MOST_PLACED = 4096;

const DEFAULT_RANGES = 20;
const DEFAULT_THRESHOLDS = 32;
/** Certainties may be beyond their ends by this, as they come of floats. */
const ROUNDING = 1e-6;
/** CascadeFiles holds what a spec names. */
export interface CascadeFiles {
  readonly cluster: OpenCluster;
  /** The profiles of the spec's models, in order. */
  readonly profiles: readonly { readonly profile: Profile; readonly path: string }[];
  readonly records: FamilyRecords;
  /** The measured distribution of loads, where the spec names a file. */
  readonly distribution?: readonly LoadPoint[];
}

/** LoadPoint is a rate, and the share of time in which the load is there. */
export interface LoadPoint {
  readonly rps: number;
  readonly share: number;
}

/** ClassProblem is the problem of serving a family on the devices of one class. */
export interface ClassProblem {
  readonly device: string;
  readonly problem: GearProblem;
  /** The spec's index of each model of the problem, which has the cheapest first. */
  readonly order: readonly number[];
  /** The price of a device per hour, where the cluster has one. */
  readonly unitCost?: number;
}

/** ResolvedCascade is a spec with what is asked, for each class that could serve it. */
export interface ResolvedCascade {
  readonly objective: CascadeObjective;
  readonly accuracy: number;
  /** The classes that all models were profiled on and fit, of which devices are free. */
  readonly classes: readonly ClassProblem[];
  /** Why each other class that all models were profiled on cannot serve them. */
  readonly unable: readonly NoPlanReason[];
  readonly notes: readonly string[];
}

/**
 * resolveCascade joins a spec with its cluster, profiles and records, and reports every fault at once. A class is left out
 * where a model was not profiled on it or does not fit on it, or none of its devices is free.
 */
export function resolveCascade(
  spec: CascadeSpec,
  files: CascadeFiles,
): { readonly resolved: ResolvedCascade } | { readonly faults: Fault[] } {
  const objective = objectiveOf(spec);
  const faults = [
    ...cascadeSpecFaults(spec),
    ...aliasFaults(files.cluster, files.profiles),
    ...distributionFaults(spec.load, files.distribution),
    ...certaintyFaults(spec, files.records),
  ];
  const ranges = rangesOf(spec.load, files.distribution);
  const notes: string[] = [];
  const classes: ClassProblem[] = [];
  const unable: NoPlanReason[] = [];
  const oversized: Fault[] = [];
  for (const [device, known] of Object.entries(files.cluster.devices)) {
    const free = freeGpus(known) ?? 0;
    if (free > MOST_PLACED) {
      oversized.push(tooMany(device, free));
      continue;
    }
    const built = classProblem(spec, files, { device, known, ranges });
    if ('problem' in built) {
      classes.push(built);
      pushAll(notes, batchNotes(spec, files, device));
    } else {
      const { lacks, code } = built;
      // A class of which there is no device, as in a mix without it, is no fault: the cluster itself says so.
      if (code !== 'too-few-gpus' || known.count !== 0)
        notes.push(`${classText(files.cluster, device)} is left out: ${lacks}`);
      if (code !== undefined) unable.push({ code, class: device, text: `${device}: ${lacks}` });
    }
  }
  pushAll(faults, oversized);
  if (classes.length === 0 && unable.length === 0 && oversized.length === 0)
    faults.push(fault(`has no class that all models can be served on: ${notes.join('; ')}`, '/cluster'));
  if (objective === 'cost')
    for (const { device, unitCost } of classes)
      if (unitCost === undefined)
        faults.push(fault('is needed: the objective is cost', `/cluster/devices/${device}/hourlyCost`));
  // Accuracy and latency only grow better with devices, so that no number of them is the right one.
  if (objective === 'accuracy' || objective === 'latency')
    for (const { device } of classes)
      if (files.cluster.devices[device]?.count === undefined)
        faults.push(fault(`is needed: the objective is ${objective}`, `/cluster/devices/${device}/count`));
  if (faults.length > 0) return { faults };
  return { resolved: { objective, accuracy: spec.slo.accuracy ?? 0, classes, unable, notes } };
}

function tooMany(device: string, free: number): Fault {
  const said = `leaves ${free} free; a plan of a cascade has at most ${MOST_PLACED} devices of a class: give fewer`;
  return fault(said, `/cluster/devices/${device}/count`);
}

/** cascadeSpecFaults reports every fault of a spec that can be seen without the files that it names. */
export function cascadeSpecFaults(spec: CascadeSpec): Fault[] {
  const { models, slo } = spec;
  const names = models.map(({ name }) => name);
  const objective = objectiveOf(spec);
  return [
    ...names.flatMap((name, i) =>
      names.indexOf(name) === i
        ? []
        : [fault(`${name} is the name of another model too`, `/models/${i}/name`)],
    ),
    ...(slo.latencyMs === undefined && slo.quantile !== undefined
      ? [fault('is the share of requests that meet a latency; give latencyMs', '/slo/quantile')]
      : []),
    ...(objective === 'accuracy' && slo.latencyMs === undefined
      ? [fault('is needed: the objective is accuracy, which grows with latency', '/slo/latencyMs')]
      : []),
    ...(objective === 'latency' && slo.accuracy === undefined
      ? [
          fault(
            'is needed: the objective is latency, and the fastest plan is the least accurate',
            '/slo/accuracy',
          ),
        ]
      : []),
    ...(objective === 'accuracy' ? [] : baselineFaults(cascadeMethodOf(spec), objective)),
  ];
}

/** Baselines are compared by each objective, and random search only by accuracy, whose plans it draws. */
function baselineFaults(method: CascadeMethod, objective: CascadeObjective): Fault[] {
  if (method !== 'random') return [];
  return [fault(`is ${objective}; random search is for accuracy`, '/planner/objective')];
}

/** objectiveOf is what a spec wants to be best: accuracy where only a latency is promised, else latency. */
export function objectiveOf({ planner, slo }: CascadeSpec): CascadeObjective {
  return planner?.objective ?? (slo.accuracy === undefined ? 'accuracy' : 'latency');
}

/** certaintyFaults refuses records with certainties that the measure of the spec never has. */
function certaintyFaults({ certainty: measure = 'top-2' }: CascadeSpec, records: FamilyRecords): Fault[] {
  if (measure === 'logits') return [];
  return records.models.flatMap((model, i) => {
    const values = itemAt(records.certainty, i);
    const from = values.reduce((a, b) => Math.min(a, b), 0);
    const to = values.reduce((a, b) => Math.max(a, b), 0);
    if (from >= -ROUNDING && to <= 1 + ROUNDING) return [];
    const said = `is ${measure}, which is from 0 to 1, and the records of ${model} have certainties from ${from} to ${to}: name the measure that they were made with`;
    return [fault(said, '/certainty')];
  });
}

function distributionFaults({ maxRps }: CascadeLoad, points: readonly LoadPoint[] | undefined): Fault[] {
  if (points === undefined) return [];
  const at = '/load/distribution';
  const above = points.filter(({ rps, share }) => rps > maxRps && share > 0);
  const total = points.reduce((sum, { share }) => sum + share, 0);
  return [
    ...(above.length > 0
      ? [fault(`has a load of ${above[0]?.rps} requests/s, above maxRps ${maxRps}`, at)]
      : []),
    ...(total > 0 ? [] : [fault('has no share above 0', at)]),
    ...(Number.isFinite(total) ? [] : [fault('has shares whose sum is too large for a number', at)]),
  ];
}

/**
 * rangesOf divides [0, maxRps] into ranges of equal size, with the share of time of each: by Zipf's law (CascadeServe
 * §C.2), alike, or as was measured.
 */
export function rangesOf(
  { maxRps, ranges = DEFAULT_RANGES, distribution = 'zipf' }: CascadeLoad,
  points?: readonly LoadPoint[],
): LoadRange[] {
  const weights = Array.from({ length: ranges }, (_, k) =>
    points !== undefined ? 0 : distribution === 'uniform' ? 1 : 1 / (k + 1),
  );
  for (const { rps, share } of points ?? []) {
    const range = Math.min(ranges - 1, Math.max(0, Math.ceil((rps * ranges) / maxRps) - 1));
    weights[range]! += share;
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight, k) => ({
    fromRps: (maxRps * k) / ranges,
    toRps: (maxRps * (k + 1)) / ranges,
    share: total > 0 ? weight / total : 0,
  }));
}

/** Unable says what a class lacks; with a code where that is sure, and nothing is missing in the files. */
interface Unable {
  readonly lacks: string;
  readonly code?: NoPlanReason['code'];
}

function classProblem(
  { models, slo, planner }: CascadeSpec,
  { profiles, records }: CascadeFiles,
  {
    device,
    known,
    ranges,
  }: { readonly device: string; readonly known: OpenDeviceClass; readonly ranges: readonly LoadRange[] },
): ClassProblem | Unable {
  const measured = profiles.map(({ profile }) => profile.devices[device]);
  const without = models.flatMap(({ name }, i) => {
    const one = measured[i];
    return one === undefined || measuredBatches({ device: one, virtual: 1 }).length === 0 ? [name] : [];
  });
  if (without.length > 0) return { lacks: `${without.join(', ')} were not profiled on it` };
  const wholes = measured.map((one) => ({ device: one as DeviceProfile, virtual: 1 }));
  const largest = wholes.map((one) => lastOf(measuredBatches(one)));
  const batch = Math.min(planner?.batch ?? Number.POSITIVE_INFINITY, smallestOf(largest));
  const free = freeGpus(known) ?? MOST_DEVICES;
  if (free === 0) return { lacks: 'none of its devices is free', code: 'too-few-gpus' };
  const family = models.map((model, i): FamilyModel => {
    const { profile } = itemAt(profiles, i);
    return {
      name: model.name,
      latencyNs: filledLatencies(latencyUsByBatch(itemAt(wholes, i), batch), batch),
      memoryBytes: memoryOf(model, profile),
      correct: itemAt(records.correct, i),
      certainty: itemAt(records.certainty, i),
    };
  });
  const order = family.map((_, i) => i);
  order.sort((a, b) => leastWorkNs(itemAt(family, a)) - leastWorkNs(itemAt(family, b)) || a - b);
  const problem: GearProblem = {
    models: order.map((i) => itemAt(family, i)),
    devices: free,
    memoryBytes: known.memoryGiB === undefined ? Number.POSITIVE_INFINITY : known.memoryGiB * BYTES_PER_GIB,
    ranges,
    latencyNs: slo.latencyMs === undefined ? Number.POSITIVE_INFINITY : slo.latencyMs * NS_PER_MS,
    quantile: slo.quantile ?? DEFAULT_QUANTILE,
    thresholds: planner?.thresholds ?? DEFAULT_THRESHOLDS,
  };
  const unknown = unknownMemory(models, profiles, known);
  if (unknown.length > 0)
    return {
      lacks: `nobody says how much memory ${unknown.join(', ')} take, and it has ${known.memoryGiB} GiB: give memoryGiB`,
    };
  const large = tooLarge(problem);
  if (large.length > 0) return { lacks: tooLargeText(large), code: 'weights-exceed-memory' };
  return {
    device,
    problem,
    order,
    ...(known.hourlyCost === undefined ? {} : { unitCost: known.hourlyCost }),
  };
}

/** batchNotes says that no batches were measured on a class as large as the spec allows, and how large they are there. */
function batchNotes({ models, planner }: CascadeSpec, { profiles }: CascadeFiles, device: string): string[] {
  const batch = planner?.batch;
  if (batch === undefined) return [];
  const largest = profiles.map(({ profile }) => {
    const measured = { device: profile.devices[device] as DeviceProfile, virtual: 1 };
    return lastOf(measuredBatches(measured));
  });
  const least = smallestOf(largest);
  if (batch <= least) return [];
  const { name } = itemAt(models, largest.indexOf(least));
  return [
    `planner.batch is ${batch}, and ${name} was measured up to batch ${least} on ${device}: no batch is larger there`,
  ];
}

/** unknownMemory names the models whose memory is not known, on a class whose own is. */
function unknownMemory(
  models: readonly CascadeModel[],
  profiles: CascadeFiles['profiles'],
  { memoryGiB: limit }: OpenDeviceClass,
): string[] {
  if (limit === undefined) return [];
  return models.flatMap(({ name, memoryGiB }, i) =>
    memoryGiB === undefined && weightBytes(itemAt(profiles, i).profile) === undefined ? [name] : [],
  );
}

/** memoryOf is the memory that a replica takes. */
function memoryOf({ memoryGiB }: CascadeModel, profile: Profile): number {
  return memoryGiB === undefined ? (weightBytes(profile) ?? 0) : memoryGiB * BYTES_PER_GIB;
}

function tooLargeText(large: readonly string[]): string {
  const take = large.length === 1 ? 'takes' : 'take';
  return `${listed(large)} ${take} more memory than it has, and plans without are not looked for`;
}
