import { itemAt, largestOf, smallestOf } from '../collections/index.js';
import {
  BYTES_PER_GIB,
  isEmulated,
  type LongestPath,
  type OtherReplicas,
  type PlannedEdge,
  type PlannedShared,
  type PlannedStage,
  type StageClassUse,
  type StagePlacement,
  servingMarks,
  toldApart,
} from '../formats/index.js';
import type { PipelinePlanBody } from '../plans/index.js';
import { edgeOf } from '../plans/index.js';
import { DEFAULT_NAME, leastSloMs, servedApplications } from './applications.js';
import { setsOf } from './device-sets.js';
import { type LinkUse, linkUses, uplinksRps } from './link-uses.js';
import { loadTooHighText } from './load-too-high.js';
import { longestPath } from './longest-path.js';
import {
  type DeviceSet,
  freeGpus,
  type GivenOutcome,
  type GivenProblem,
  type GivenReason,
  type GivenStage,
  type OtherDevices,
} from './problem.js';
import { latencyQuantileOf } from './quantiles.js';
import { classUses, hourlyCost, mostHourlyCost, placeStages } from './stage-placement.js';
import { edgeBytes, linkUs } from './transfers.js';
import { scaleFactors } from './visits.js';

const DEFAULT_ATTAINMENT = 0.99;
const ROUNDING = 1e-9;

/**
 * planGiven makes the plan that a spec fixes, and checks it: that the cluster has the devices, that the models fit
 * their memory, that the longest path with full batches is within the SLO, and that the devices have time for the mean
 * rate. It looks at no queue: a simulation does.
 */
export function planGiven(problem: GivenProblem): GivenOutcome {
  const figures = figuresOf(problem);
  const reasons = [
    ...gpuReasons(problem, figures),
    ...problem.devices.flatMap((set) => memoryReasons(problem, set)),
    ...sloReasons(problem, figures.longest),
    ...problem.devices.flatMap((set, k) => rateReasons(problem, set, itemAt(figures.throughputRps, k))),
  ];
  if (reasons.length === 0) return { status: 'feasible', plan: planOf(problem, figures) };
  return {
    status: 'infeasible',
    reasons,
    smallestFeasibleSloMs: figures.longest.latencyUs / 1e3,
  };
}

/** Figures holds what is computed of a problem. */
interface Figures {
  readonly factors: readonly number[];
  readonly exact: boolean;
  /** The bytes of each edge of each stage. */
  readonly bytes: readonly (readonly number[])[];
  readonly longest: LongestPath;
  readonly classes: Record<string, StageClassUse>;
  /** The mean rate up to which each set of devices has time for its stages. */
  readonly throughputRps: readonly number[];
  readonly placement: StagePlacement[];
  /** The mean rate up to which every server has time to send what its devices send. */
  readonly sentRps: number;
}

function figuresOf(problem: GivenProblem): Figures {
  const { graph, stages, devices, cluster } = problem;
  const { factors, exact } = scaleFactors(graph);
  const bytes = edgeBytes(graph, stages);
  const classesOf = (i: number): string[] => setsOf(devices, i).map(({ device }) => device);
  const longest = longestPath(graph, {
    stageUs: (i) => slowestUs(itemAt(stages, i)),
    edgeUs: (i, k) => {
      const to = graph.edges[i]?.[k]?.to as number;
      const sent = (bytes[i]?.[k] as number) * itemAt(stages, i).batch;
      const times = classesOf(i).flatMap((from) =>
        classesOf(to).map((there) => linkUs(cluster, [from, there], sent)),
      );
      return largestOf(times);
    },
  });
  const servedRps = devices.map(
    (set, k) =>
      set.replicas /
      set.stages.reduce((sum, i) => sum + itemAt(factors, i) / replicaRps(itemAt(stages, i), k), 0),
  );
  // The sets of a stage's classes serve it together.
  const throughputRps = devices.map(({ stages: held }) =>
    devices.reduce((sum, set, k) => (set.stages[0] === held[0] ? sum + itemAt(servedRps, k) : sum), 0),
  );
  const shares = servedRps.map((rps, k) => (rps === throughputRps[k] ? 1 : rps / itemAt(throughputRps, k)));
  const uses = linkUses({ graph, cluster, factors, bytes, sets: devices, shares });
  return {
    factors,
    exact,
    bytes,
    longest,
    throughputRps,
    classes: classUses(devices, cluster, emulatedOf(problem)),
    ...placedByLinks(problem, uses, smallestOf(throughputRps)),
  };
}

/** Links that are busy for no more than this share of the time hardly keep a batch waiting. */
const HARDLY_BUSY = 0.1;

/**
 * placedByLinks fills one server after another where that keeps no uplink busy at the rate that the devices can serve, and
 * spreads the devices over all servers that there are where it does.
 */
function placedByLinks(
  problem: GivenProblem,
  uses: readonly LinkUse[],
  servedRps: number,
): Pick<Figures, 'placement' | 'sentRps'> {
  const { graph, devices, cluster } = problem;
  const namesOf = (set: DeviceSet): string => stageNames(problem, set).join(' ');
  const sentS = new Map(
    devices.map((set, k) => [`${set.device} ${namesOf(set)}`, itemAt(uses, k).upS / set.replicas] as const),
  );
  const placed = (links: readonly LinkUse[]) => {
    const placement = placeStages(devices, { cluster, names: graph.names, uses: links });
    const sentRps = uplinksRps(
      placement,
      cluster,
      (on) => sentS.get(`${on.class} ${on.stages.join(' ')}`) ?? 0,
    );
    return { placement, sentRps };
  };
  const filled = placed(uses.map(() => ({ upS: 0, downS: 0 })));
  return servedRps <= HARDLY_BUSY * filled.sentRps ? filled : placed(uses);
}

function setOf({ devices }: GivenProblem, { devices: k }: Pick<OtherDevices, 'devices'>): DeviceSet {
  return itemAt(devices, k);
}

/** classesOf lists the devices of a stage, class by class. */
function classesOf(stage: GivenStage): readonly OtherDevices[] {
  return [stage, ...(stage.others ?? [])];
}

/** fullUs is the latency of a full batch on the devices of a set. */
function fullUs(stage: GivenStage, set: number): number {
  const { latencyUsByBatch } = classesOf(stage).find(({ devices }) => devices === set) as OtherDevices;
  return latencyUsByBatch[stage.batch - 1] as number;
}

/** slowestUs is the latency of a full batch on the slowest of its classes. */
function slowestUs(stage: GivenStage): number {
  return largestOf(classesOf(stage).map(({ devices }) => fullUs(stage, devices)));
}

/** replicaRps is the throughput of one replica of a set with full batches. */
function replicaRps(stage: GivenStage, set: number): number {
  return (1e6 * stage.batch) / fullUs(stage, set);
}

function emulatedOf({ stages, devices }: GivenProblem): Set<string> {
  const names = stages.flatMap(({ profile }, i) =>
    setsOf(devices, i).flatMap(({ device }) => (isEmulated(profile.devices[device]) ? [device] : [])),
  );
  return new Set(names);
}

function gpuReasons(problem: GivenProblem, { classes }: Figures): GivenReason[] {
  const { cluster } = problem;
  return Object.entries(classes).flatMap(([name, { used, standby = 0 }]) => {
    const device = cluster.devices[name];
    const free = device === undefined ? 0 : freeGpus(device);
    const missing = used + standby - (free ?? Number.POSITIVE_INFINITY);
    if (free === undefined || missing <= 0) return [];
    const held = problem.devices.filter(({ device: of }) => of === name);
    return [
      {
        code: 'too-few-gpus',
        class: name,
        stages: [...new Set(held.flatMap((set) => stageNames(problem, set)))],
        available: { [name]: free },
        missing: { [name]: missing },
        text: `${used + standby} ${name} are needed and ${free} are free; they are for ${held.map((set) => heldText(problem, set)).join(', ')}`,
      },
    ];
  });
}

function stageNames({ graph }: GivenProblem, { stages }: DeviceSet): string[] {
  return stages.map((i) => itemAt(graph.names, i));
}

/** heldText says what devices hold, and how many of them there are: `detect (2 and 1 on standby)`. */
function heldText(problem: GivenProblem, set: DeviceSet): string {
  const { replicas, virtual, standby } = set;
  const share = virtual === 1 ? '' : ` of ${deviceText(set)}`;
  const spare = standby === 0 ? '' : ` and ${standby} on standby`;
  return `${stageNames(problem, set).join(' with ')} (${replicas}${share}${spare})`;
}

function memoryReasons(problem: GivenProblem, set: DeviceSet): GivenReason[] {
  const { cluster, stages } = problem;
  const memory = cluster.devices[set.device]?.memoryGiB;
  const bytes = set.stages.reduce((sum, i) => sum + (stages[i]?.weightBytes ?? 0), 0);
  const neededGiB = bytes / BYTES_PER_GIB;
  if (memory === undefined || neededGiB * set.virtual <= memory) return [];
  const memoryGiB = memory / set.virtual;
  const names = stageNames(problem, set);
  const [needed, has] = toldApart([neededGiB, memoryGiB]);
  const text = `the weights of ${names.join(', ')} take ${needed} GiB of the ${has} GiB of ${deviceText(set)}`;
  return [{ code: 'weights-exceed-memory', stages: names, class: set.device, neededGiB, memoryGiB, text }];
}

function deviceText({ device, virtual }: DeviceSet): string {
  return virtual === 1 ? device : `1/${virtual} ${device}`;
}

function sloReasons({ spec }: GivenProblem, { stages, latencyUs }: LongestPath): GivenReason[] {
  const latencyMs = latencyUs / 1e3;
  return servedApplications(spec).flatMap(({ name, sloMs }) => {
    if (latencyMs <= sloMs * (1 + ROUNDING)) return [];
    const which = spec.applications === undefined ? 'the SLO' : `the SLO of ${name}`;
    const [takes, slo] = toldApart([latencyMs, sloMs]);
    const text = `the longest path, ${stages.join(' -> ')}, takes ${takes} ms with full batches, and ${which} is ${slo} ms`;
    return [{ code: 'slo-too-short', stages, sloMs, latencyMs, overMs: latencyMs - sloMs, text }];
  });
}

function rateReasons(problem: GivenProblem, set: DeviceSet, servedRps: number): GivenReason[] {
  const { rps } = problem;
  if (rps === undefined || rps <= servedRps * (1 + ROUNDING)) return [];
  const sets = setsOf(problem.devices, itemAt(set.stages, 0));
  // The classes of a stage serve it together, and are reported once.
  if (sets[0] !== set) return [];
  const names = stageNames(problem, set);
  const devices = sets.map((one) => `${one.replicas} ${deviceText(one)}`).join(' and ');
  const text = loadTooHighText({ devices, stages: names, servedRps, rps });
  return [{ code: 'rate-too-high', stages: names, class: set.device, rps, servedRps, text }];
}

/** planChosen makes the plan that a spec fixes, of which the Estimator has judged whether it serves the load. */
export function planChosen(problem: GivenProblem): PipelinePlanBody {
  return planOf(problem, figuresOf(problem));
}

function planOf(problem: GivenProblem, figures: Figures): PipelinePlanBody {
  const { spec, cluster, graph, devices, rps } = problem;
  const { longest, classes, throughputRps, sentRps, placement } = figures;
  const [cost, most] = [hourlyCost(classes, cluster), mostHourlyCost(classes, cluster)];
  const shared = devices.filter((set) => set.shared);
  const notes = figures.exact
    ? problem.notes
    : [...problem.notes, 'the scale factors take edges that meet in a stage as independent'];
  return {
    kind: 'pipeline-plan',
    version: '1.0',
    name: spec.name ?? DEFAULT_NAME,
    method: 'given',
    ...(notes.length === 0 ? {} : { notes: [...notes] }),
    cluster,
    sloMs: leastSloMs(spec),
    ...(spec.applications === undefined ? {} : { applications: spec.applications }),
    attainment: spec.attainment ?? DEFAULT_ATTAINMENT,
    ...(spec.load === undefined ? {} : { load: spec.load }),
    ...(rps === undefined ? {} : { rps }),
    throughputRps: Math.min(sentRps, smallestOf(throughputRps)),
    ...(cost === undefined ? {} : { hourlyCost: cost }),
    ...(most === undefined ? {} : { mostHourlyCost: most }),
    longestPath: longest,
    stages: graph.order.map((i) => stageOf(problem, figures, i)),
    ...(spec.exclusive === undefined || spec.exclusive.length === 0 ? {} : { exclusive: spec.exclusive }),
    ...(shared.length === 0 ? {} : { shared: shared.map((set) => sharedOf(problem, figures, set)) }),
    classes,
    placement,
  };
}

function stageOf(problem: GivenProblem, { factors, bytes }: Figures, i: number): PlannedStage {
  const { spec, rps } = problem;
  const stage = itemAt(problem.stages, i);
  const { model } = stage.profile;
  const { device, virtual, replicas, standby } = setOf(problem, stage);
  const scaleFactor = itemAt(factors, i);
  const throughputRps = replicaRps(stage, stage.devices);
  const others = (stage.others ?? []).map((other): OtherReplicas => {
    const { device: name, virtual: share, replicas: count } = setOf(problem, other);
    return {
      device: name,
      virtual: share,
      replicas: count,
      latencyUsByBatch: [...other.latencyUsByBatch],
      throughputRps: replicaRps(stage, other.devices),
    };
  });
  const allRps = others.reduce(
    (sum, one) => sum + one.replicas * one.throughputRps,
    replicas * throughputRps,
  );
  return {
    name: spec.stages[i]?.name as string,
    model: model.name,
    device,
    virtual,
    batch: stage.batch,
    replicas,
    ...(standby === 0 ? {} : { standby }),
    latencyUsByBatch: [...stage.latencyUsByBatch],
    ...(latencyQuantileOf(spec, i) === 'p50' ? {} : { latencyQuantile: latencyQuantileOf(spec, i) }),
    ...servingMarks(model),
    ...(stage.weightBytes === undefined ? {} : { weightBytes: stage.weightBytes }),
    ...(stage.inputs === undefined ? {} : { inputs: [...stage.inputs] }),
    ...(model.outputs === undefined ? {} : { outputs: model.outputs }),
    next: (spec.stages[i]?.next ?? []).map((edge, k): PlannedEdge => {
      const { to, probability, when } = edgeOf(edge);
      return {
        to,
        ...(probability === undefined ? {} : { probability }),
        ...(when === undefined ? {} : { when }),
        transferBytes: bytes[i]?.[k] as number,
      };
    }),
    scaleFactor,
    throughputRps,
    ...(rps === undefined ? {} : { maxProvisioningRatio: (rps * scaleFactor) / allRps }),
    ...(others.length === 0 ? {} : { others }),
  };
}

function sharedOf(problem: GivenProblem, { factors }: Figures, set: DeviceSet): PlannedShared {
  const { stages, rps } = problem;
  const weights = set.stages.map((i) => stages[i]?.weightBytes);
  const known = weights.every((bytes) => bytes !== undefined);
  const busy = set.stages.reduce(
    (sum, i) => sum + itemAt(factors, i) / replicaRps(itemAt(stages, i), itemAt(stages, i).devices),
    0,
  );
  return {
    stages: stageNames(problem, set),
    ...(known ? { weightBytes: weights.reduce((sum, bytes) => sum + bytes, 0) } : {}),
    ...(rps === undefined ? {} : { maxProvisioningRatio: (rps * busy) / set.replicas }),
  };
}
