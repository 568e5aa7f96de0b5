import { durationNs, type Stage, sum, type Task } from './chain.js';
import type { Shared } from './shared-state.js';

/** Question asks whether a task at stage `k` that would start at t_e is to be dropped. */
export interface Question {
  task: Task;
  k: number;
  startNs: number;
  stages: readonly Stage[];
  sloNs: number;
  shared: Shared;
  /** The count of α that belongs to the stage. */
  overload: { count: number };
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

const later = (k: number, figures: readonly number[]) => sum(figures.slice(k + 1));
const durations = (stages: readonly Stage[]) => stages.map(durationNs);

/** estimate is Eq. 3 with some estimate of what the later stages take. */
function estimate(order: Order, subsequentNs: (question: Question) => number): Rule {
  const drops = (question: Question) => {
    const { task, startNs, stages, k, sloNs } = question;
    return startNs - task.sentNs + durationNs(stages[k]!) + subsequentNs(question) > sloNs;
  };
  return { drops, scans: false, givesUp: true, order };
}

const queueingAndDurations = ({ k, stages, shared }: Question) =>
  later(k, shared.queueingNs) + later(k, durations(stages));
const whole = (question: Question) => queueingAndDurations(question) + question.shared.waitNs[question.k]!;

/** share divides the SLO by what each stage weighs. */
const share = ({ k, sloNs }: Question, weights: readonly number[]) => (sloNs * weights[k]!) / sum(weights);

/** inStageNs is how long the task will have been in the stage at its end there. */
const inStageNs = ({ task, startNs, stages, k }: Question) =>
  startNs + durationNs(stages[k]!) - task.receivedNs;

function isShed({ k, shared, overload }: Question): boolean {
  if (!shared.decidedQueueingNs.slice(k).some((queueingNs) => queueingNs > OVERLOADED_NS)) return false;
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
  'pard-sf': estimate('adaptive', ({ k, stages }) => later(k, durations(stages))),
  'pard-oc': { ...unlikeEstimates, order: 'adaptive', drops: isShed },
  'pard-split': {
    ...unlikeEstimates,
    order: 'adaptive',
    drops: (question) => inStageNs(question) > share(question, durations(question.stages)),
  },
  'pard-wcl': {
    ...unlikeEstimates,
    order: 'adaptive',
    drops: (question) => inStageNs(question) > share(question, question.shared.worstNs),
  },
  'pard-lower': estimate('adaptive', queueingAndDurations),
  'pard-upper': estimate('adaptive', (question) => {
    return queueingAndDurations(question) + later(question.k, durations(question.stages));
  }),
  'pard-fcfs': estimate('arrival', whole),
  'pard-hbf': estimate('most', whole),
  'pard-lbf': estimate('least', whole),
  'pard-instant': estimate('instant', whole),
  nexus: { ...estimate('arrival', () => 0), scans: true },
  'clipper++': {
    ...unlikeEstimates,
    order: 'arrival',
    drops: (question) =>
      question.startNs - question.task.receivedNs > share(question, durations(question.stages)),
  },
  naive: { ...unlikeEstimates, order: 'arrival', drops: () => false },
} satisfies Record<string, Rule>;

export type SchedulerName = keyof typeof RULES;
export const SCHEDULER_NAMES = Object.keys(RULES) as SchedulerName[];
