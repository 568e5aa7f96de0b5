import { SCHEDULER_NAMES, type SchedulerName } from '../../../src/serving/index.js';
import { type ServedRun, servedRuns } from '../../pard/figures/served-runs.js';
import { TRACE_VARIATIONS, type TraceName } from '../../pard/made-traces.js';
import { APPLICATIONS, type AskedWorkload } from '../../pard/workloads.js';
import type { Dice } from '../../seeded/dice.js';
import type { Refutation, Refuted } from '../refuter.js';

const SECONDS = 30;
const TRACES = Object.keys(TRACE_VARIATIONS) as TraceName[];
const COMPARED = SCHEDULER_NAMES.filter((name) => name.startsWith('pard')).concat(
  'nexus',
  'clipper++',
  'naive',
);

/** These drop, at the last stage too, what would end late; the times that they expect are those that batches take here. */
const IN_TIME_OR_DROPPED: readonly SchedulerName[] = COMPARED.filter(
  (name) => !['pard-oc', 'pard-split', 'pard-wcl', 'clipper++', 'naive'].includes(name),
);

/**
 * refuter draws a workload of PARD's evaluation, with latencies, SLO, utilisation and rate of its own, and has two of PARD
 * and all that it is compared with serve it. What is counted of the run must add up, and no scheduler may have more in time
 * than the offline bound with the same devices.
 */
export async function refuter(dice: Dice): Promise<Refuted> {
  const asked = workload(dice);
  const names = [dice.pick(COMPARED), dice.pick(COMPARED)];
  const tuner = dice.pick(['by-rate', 'by-rate', 'none']);
  const servers = names.map((name) => ({ name, scheduler: name, tuner }));
  const { runs, bound = 0 } = await servedRuns({ ...asked, servers, bounds: 'own-devices' });
  const [first] = runs as [ServedRun, ServedRun];
  const refutations = runs.flatMap((run) => [
    ...miscounted(run),
    ...boundPassed(run, bound),
    ...lateOnes(run),
    ...(run.arrivedIn.every((count, second) => count === first.arrivedIn[second])
      ? []
      : [refuted(run, 'all have the same arrivals', `${first.server} has others`)]),
  ]);
  const { arrived, inTime } = first;
  return {
    what: `${JSON.stringify(asked)}, ${names.join(' and ')}, tuner ${tuner}`,
    outcome: inTime === arrived ? 'all in time' : inTime > arrived / 2 ? 'most in time' : 'most lost',
    refutations,
  };
}

function workload(dice: Dice): AskedWorkload {
  return {
    application: dice.pick(APPLICATIONS),
    trace: dice.pick(TRACES),
    durationS: SECONDS,
    seed: dice.below(1e6),
    rateFactor: dice.pick([0.3, 1, 1, 1.5, 3]),
    latencyFactor: dice.pick([0.7, 1, 1.3]),
    utilisation: dice.pick([0.7, 0.8, 1]),
    eye: dice.pick(['after-expression', 'before-expression', 'left-out'] as const),
  };
}

function refuted({ server }: ServedRun, claim: string, found: string): Refutation {
  return { claim: `${server}: ${claim}`, found };
}

function miscounted(run: ServedRun): Refutation[] {
  const { arrived, inTime, late, dropped, failed, droppedAtEntry, droppedAt, usedNs, wastedNs } = run;
  const ended = inTime + late + dropped + failed;
  const at = droppedAt.reduce((sum, count) => sum + count, droppedAtEntry);
  return [
    ...(ended === arrived
      ? []
      : [refuted(run, 'a request has one outcome', `${arrived} came, ${ended} ended`)]),
    ...(failed === 0 ? [] : [refuted(run, 'nothing fails', `${failed} did`)]),
    ...(at === dropped ? [] : [refuted(run, `${dropped} were dropped`, `${at} of them somewhere`)]),
    ...(wastedNs <= usedNs ? [] : [refuted(run, `${usedNs} ns were used`, `${wastedNs} ns of them in vain`)]),
    ...(run.server !== 'naive' || dropped === 0
      ? []
      : [refuted(run, 'nothing is dropped', `${dropped} were`)]),
  ];
}

function boundPassed(run: ServedRun, withAll: number): Refutation[] {
  const { inTime, bound = 0 } = run;
  return [
    ...(inTime <= bound ? [] : [refuted(run, `at most ${bound} can be in time`, `${inTime} were`)]),
    ...(bound <= withAll
      ? []
      : [refuted(run, `at most ${withAll} with all devices`, `${bound} with some of them`)]),
  ];
}

function lateOnes(run: ServedRun): Refutation[] {
  if (run.late === 0 || !IN_TIME_OR_DROPPED.includes(run.server as SchedulerName)) return [];
  return [refuted(run, 'what is not dropped is in time', `${run.late} were late`)];
}
