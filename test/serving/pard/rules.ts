import { durationNs, edgesInto, type Pipeline, pathsAfter, type Stage, sum, type Task } from './pipeline.js';
import type { Shared } from './shared-state.js';

/** Question asks whether a task at stage `k` that would start at t_e is to be dropped. */
export interface Question {
  task: Task;
  k: number;
  startNs: number;
  /** d of the device that would start it. */
  dNs: number;
  stages: readonly Stage[];
  sloNs: number;
  paths: Paths;
  shared: Shared;
  /** q of a stage that Eq. 3 counts: as it was shared, or of the moment. */
  queueingNs: (stage: number) => number;
  /** The count of α that belongs to the stage. */
  overload: { count: number };
}

/** Paths holds, for each stage, the ways after it, and the whole ways through it, from an entry to an end. */
export interface Paths {
  after: readonly (readonly (readonly number[])[])[];
  through: readonly (readonly (readonly number[])[])[];
}

/** pathsOf finds the paths of a pipeline. */
export function pathsOf(pipeline: Pipeline): Paths {
  const after = pathsAfter(pipeline);
  const whole = edgesInto(pipeline).flatMap((into, k) =>
    into > 0 ? [] : after[k]!.map((path) => [k, ...path]),
  );
  return { after, through: after.map((_, k) => whole.filter((path) => path.includes(k))) };
}

/** Order says which task of a queue is decided first. */
export type Order = 'arrival' | 'most' | 'least' | 'adaptive' | 'instant';

/** Rule is one scheduler: whether it drops each task by itself or scans windows, whether it gives up early, its order. */
export interface Rule {
  drops: (question: Question) => boolean;
  scans: boolean;
  givesUp: boolean;
  order: Order;
}

const OVERLOADED_NS = 25e6;
const ALPHA = 0.4;
const ROUNDING_NS = 1e-3;

/** estimate is Eq. 3 with some estimate of what the stages on a path take, on that for which this is the most. */
function estimate(
  order: Order,
  onPathNs: (question: Question, path: readonly number[], i: number) => number,
): Rule {
  const drops = (question: Question) => {
    const { task, startNs, dNs, k, sloNs, paths } = question;
    const subsequentNs = Math.max(...paths.after[k]!.map((path, i) => onPathNs(question, path, i)));
    return startNs - task.sentNs + dNs + subsequentNs > sloNs;
  };
  return { drops, scans: false, givesUp: true, order };
}

const durations = ({ stages }: Question, path: readonly number[]) =>
  sum(path.map((stage) => durationNs(stages[stage]!)));
const queueingAndDurations = (question: Question, path: readonly number[]) =>
  sum(path.map(question.queueingNs)) + durations(question, path);
const whole = (question: Question, path: readonly number[], i: number) =>
  queueingAndDurations(question, path) + question.shared.waitNs[question.k]![i]!;

/** share divides the SLO by what each stage weighs, along the path through the stage that weighs most. */
const share = ({ k, sloNs, paths }: Question, weights: readonly number[]) =>
  (sloNs * weights[k]!) /
    Math.max(...paths.through[k]!.map((path) => sum(path.map((stage) => weights[stage]!)))) +
  ROUNDING_NS;
const planned = ({ stages }: Question) => stages.map(durationNs);

/** inStageNs is how long the task will have been in the stage at its end there. */
const inStageNs = ({ task, startNs, dNs }: Question) => startNs + dNs - task.receivedNs;

function isShed({ k, shared, overload, paths }: Question): boolean {
  const stages = [k, ...paths.after[k]!.flat()];
  if (!stages.some((stage) => shared.decidedQueueingNs[stage]! > OVERLOADED_NS)) return false;
  overload.count += ALPHA;
  if (overload.count < 1) return false;
  overload.count -= 1;
  return true;
}

const unlikeEstimates = { scans: false, givesUp: false };

/** RULES is the table of schedulers. */
export const RULES = {
  pard: estimate('adaptive', whole),
  'pard-back': estimate('adaptive', () => 0),
  'pard-sf': estimate('adaptive', durations),
  'pard-oc': { ...unlikeEstimates, order: 'adaptive', drops: isShed },
  'pard-split': {
    ...unlikeEstimates,
    order: 'adaptive',
    drops: (question) => inStageNs(question) > share(question, planned(question)),
  },
  'pard-wcl': {
    ...unlikeEstimates,
    order: 'adaptive',
    drops: (question) => inStageNs(question) > share(question, question.shared.worstNs),
  },
  'pard-lower': estimate('adaptive', queueingAndDurations),
  'pard-upper': estimate('adaptive', (question, path) => {
    return queueingAndDurations(question, path) + durations(question, path);
  }),
  'pard-fcfs': estimate('arrival', whole),
  'pard-hbf': estimate('most', whole),
  'pard-lbf': estimate('least', whole),
  'pard-instant': estimate('instant', whole),
  nexus: { ...estimate('arrival', () => 0), scans: true },
  'clipper++': {
    ...unlikeEstimates,
    order: 'arrival',
    drops: (question) => question.startNs - question.task.receivedNs > share(question, planned(question)),
  },
  naive: { ...unlikeEstimates, order: 'arrival', drops: () => false },
} satisfies Record<string, Rule>;

export type SchedulerName = keyof typeof RULES;
export const SCHEDULER_NAMES = Object.keys(RULES) as SchedulerName[];
