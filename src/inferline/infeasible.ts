import { itemAt, largestOf, smallestOf } from '../collections/index.js';
import { longestPath } from '../pipeline/index.js';
import { decided, leastCost } from './decided.js';
import { replicaRps } from './keeping-up.js';
import type { NeededDevices } from './needed.js';
import type { TailObjective } from './problem.js';
import { type PlannerInput, Trials } from './trials.js';

/** While it is sought what is at fault, a search makes no more estimates. */
const MOST_ESTIMATES = 2000;

/** InfeasibleReason says why no configuration meets the objectives. */
export type InfeasibleReason =
  /** Even with a replica for each request, every stage on its fastest class and no wait, too many requests are late. */
  | {
      readonly code: 'slo-too-short';
      readonly objective: TailObjective;
      /** The longest path, by the names of its stages. */
      readonly stages: readonly string[];
      readonly longestPathNs: number;
      /** The SLO that requests would meet at this attainment if none ever waited. */
      readonly leastSloNs: number;
    }
  /** The sample asks for more replicas than the class or the spec lets this stage have, with any batch and class. */
  | {
      readonly code: 'too-few-replicas';
      readonly stage: string;
      readonly classes: readonly string[];
      /** By class, the least replicas that the sample asks for, and how many there are or the spec fixes. */
      readonly least: readonly { readonly device: string; readonly needed: number; readonly count: number }[];
    }
  /** With all replicas that the class or the spec lets this stage have, it serves this share of the mean rate at most. */
  | {
      readonly code: 'cannot-keep-up';
      readonly stage: string;
      readonly classes: readonly string[];
      readonly share: number;
    }
  /** The pipeline as one black box, replicated, needs more devices of a class than there are. */
  | {
      readonly code: 'too-few-devices';
      readonly device: string;
      readonly needed: number;
      readonly count: number;
    }
  /**
   * Every stage has a class and every edge a pair of classes that is fast enough, but no choice for all of them is: a
   * fast class may be far from the next, or have only large batches.
   */
  | { readonly code: 'no-combination'; readonly objectives: readonly TailObjective[] }
  /** The uplinks of the servers that these classes have are too few for what is sent of the requests in time. */
  | { readonly code: 'too-few-servers'; readonly classes: readonly string[] }
  /** No stage is at fault alone: these limits together leave no feasible configuration. */
  | {
      readonly code: 'limits-together';
      readonly classes: readonly string[];
      readonly fixedStages: readonly string[];
      /** How many devices would do, where a search found that. */
      readonly needed?: NeededDevices;
      /** Where no such search says it: the least replicas that each stage asks for, by class. */
      readonly least?: readonly { readonly stage: string; readonly least: readonly LeastOnClass[] }[];
    };

/** reasonsOf says why a problem, for which no configuration was found, has none. */
export function reasonsOf(input: PlannerInput, trials: Trials): InfeasibleReason[] {
  const { problem } = trials;
  const sloReasons = problem.objectives.flatMap((objective) => sloReason(trials, objective));
  if (sloReasons.length > 0) return sloReasons;
  if (isSentTooMuch(input, trials))
    return [{ code: 'too-few-servers', classes: Object.keys(problem.servers ?? {}) }];
  if (decided(withoutLimits(input)) === 'missed')
    return [{ code: 'no-combination', objectives: problem.objectives }];
  const { names } = problem.graph;
  const short = names.flatMap((_, i) => (hasOption(trials, i) ? [] : [shortReason(input, trials, i)]));
  return short.length > 0 ? short : [scarceReason(trials)];
}

/** scarceReason says that the counts of classes and the replicas that are fixed are too few together. */
export function scarceReason(trials: Trials): InfeasibleReason {
  const { graph, stages } = trials.problem;
  const classes = [...new Set(graph.names.flatMap((_, i) => limitedClasses(trials, i)))];
  const fixedStages = graph.names.filter((_, i) => stages[i]?.replicas !== undefined);
  return { code: 'limits-together', classes, fixedStages };
}

/** shortReason says what asks for more replicas than a stage can have: the sample, or else the mean rate of its load. */
function shortReason(
  { problem: { load: _, ...problem }, ...input }: PlannerInput,
  trials: Trials,
  i: number,
): InfeasibleReason {
  const [stage, classes] = [itemAt(problem.graph.names, i), limitedClasses(trials, i)];
  const bySample = new Trials({ ...input, problem });
  if (!hasOption(bySample, i))
    return { code: 'too-few-replicas', stage, classes, least: leastOnEach(bySample, i) };
  return { code: 'cannot-keep-up', stage, classes, share: keptUpShare(trials, i) };
}

/** leastOfStages says how many replicas each stage that may use a limited class needs at least there, whatever the others have. */
export function leastOfStages(trials: Trials) {
  const { names } = trials.problem.graph;
  const all = names.map((stage, i) => ({ stage, least: leastOnEach(trials, i) }));
  return all.filter(({ least }) => least.length > 0);
}

/** LeastOnClass is the least replicas of a stage on a class, and how many it can have there. */
interface LeastOnClass {
  readonly device: string;
  readonly needed: number;
  readonly count: number;
}

/** leastOnEach says how many replicas a stage needs at least on each class, and how many it can have there. */
function leastOnEach(trials: Trials, stage: number): LeastOnClass[] {
  const { stages, counts } = trials.problem;
  return (stages[stage]?.candidates ?? []).flatMap(({ batches, device }, candidate) => {
    const needed = smallestOf(batches.map((batch) => trials.leastReplicas(stage, { candidate, batch })));
    const count = Math.min(
      stages[stage]?.replicas ?? Number.POSITIVE_INFINITY,
      counts[device] ?? Number.POSITIVE_INFINITY,
    );
    return Number.isFinite(needed) && Number.isFinite(count) ? [{ device, needed, count }] : [];
  });
}

/** isSentTooMuch says whether it is the uplinks of servers that leave no configuration. */
function isSentTooMuch(input: PlannerInput, trials: Trials): boolean {
  if (!trials.isLinked || leastCost(trials) < Number.POSITIVE_INFINITY) return false;
  const problem = { ...input.problem, servers: {} };
  return leastCost(new Trials({ ...input, problem })) < Number.POSITIVE_INFINITY;
}

function withoutLimits(input: PlannerInput): PlannerInput {
  const stages = input.problem.stages.map(({ candidates }) => ({ candidates }));
  const problem = { ...input.problem, stages, counts: {}, servers: {} };
  return { ...input, problem, mostEstimates: MOST_ESTIMATES };
}

function sloReason(trials: Trials, objective: TailObjective): InfeasibleReason[] {
  const { graph } = trials.problem;
  const leastSloNs = trials.leastSloNs(trials.floor(), objective);
  if (leastSloNs <= objective.sloNs) return [];
  const { stages, latencyUs } = longestPath(graph, {
    stageUs: (i) => (trials.relaxed.stageNs[i] as number) / 1e3,
    edgeUs: (i, k) => (trials.relaxed.edgeNs[i]?.[k] as number) / 1e3,
  });
  const longestPathNs = Math.round(latencyUs * 1e3);
  return [{ code: 'slo-too-short', objective, stages, longestPathNs, leastSloNs }];
}

function hasOption(trials: Trials, stage: number): boolean {
  const { stages, counts } = trials.problem;
  return (stages[stage]?.candidates ?? []).some(({ batches, device }, candidate) =>
    batches.some((batch) => {
      const most = Math.min(trials.mostReplicas(stage), counts[device] ?? Number.POSITIVE_INFINITY);
      return trials.leastReplicas(stage, { candidate, batch }) <= most;
    }),
  );
}

/** keptUpShare is the share of its mean rate that a stage serves at most, with all replicas that it can have. */
function keptUpShare(trials: Trials, stage: number): number {
  const { stages, counts, load } = trials.problem;
  if (load === undefined) return 1;
  const wanted = load.rps * (load.visits[stage] as number);
  const served = (stages[stage]?.candidates ?? []).flatMap((candidate) => {
    const count = counts[candidate.device] ?? Number.POSITIVE_INFINITY;
    const replicas = Math.min(trials.mostReplicas(stage), count);
    return candidate.batches.map((batch) => replicas * replicaRps({ candidate, batch }));
  });
  return largestOf(served) / wanted;
}

function limitedClasses({ problem: { stages, counts } }: Trials, stage: number): string[] {
  const devices = (stages[stage]?.candidates ?? []).map(({ device }) => device);
  return devices.filter((device) => counts[device] !== undefined);
}
