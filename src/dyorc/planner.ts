import type { PlannedComponent } from '../formats/index.js';
import { NS_PER_MS } from '../formats/index.js';
import { brokenPromise } from '../serving/index.js';
import { type BoundedSample, boundSample, leastTimes } from './bounds.js';
import { byPrice, type ClassCount, cheapestDevices, freeDevices } from './devices.js';
import { fewestDevices, holdsAttainment } from './fewest-devices.js';
import type { SampleFigures, WorkflowAnswer, WorkflowPlanBody, WorkflowQuestion } from './problem.js';
import {
  notHeldReasons,
  tooFewReasons,
  tooSlowReasons,
  unplacedReasons,
  unrunnableReasons,
} from './reasons.js';
import { type PlacedTrial, PlacementTrials, type Unplaced, WORKFLOW_SEED } from './trials.js';

/** The seeds that confirm a number of devices: nothing was chosen by them. */
const CONFIRMING_SEEDS = [2, 3, 4];

/** Figures that differ by less, relatively, are the same. */
const ROUNDING = 1e-9;

/**
 * planWorkflows finds where components are at the start, and by the objective `devices` on how many devices, by
 * simulating the sample of the load. It bounds what any plan makes of that sample. The same question has the same
 * answer, unless it was interrupted.
 */
export function planWorkflows(question: WorkflowQuestion): WorkflowAnswer {
  const { resolved, tell } = question;
  tell('drawing requests');
  const trials = new PlacementTrials(question);
  const free = countsOf(question, trials.components);
  const unrunnable = unrunnableReasons(trials.problemOf(free), trials.called());
  if (unrunnable.length > 0) return { status: 'infeasible', reasons: unrunnable, simulations: 0 };
  const bounds = boundSample(trials.requests(WORKFLOW_SEED), {
    workflows: resolved.workflows,
    attainment: resolved.attainment,
    least: leastTimes(trials.components, trials.problemOf(free).cluster),
  });
  const search = { question, trials, free, bounds };
  return resolved.spec.planner?.objective === 'devices' ? fewest(search) : fastest(search);
}

interface Search {
  readonly question: WorkflowQuestion;
  readonly trials: PlacementTrials;
  readonly free: readonly ClassCount[];
  readonly bounds: BoundedSample;
}

/**
 * countsOf is how many devices of each class a plan may use: those that are free, or that are given. Of a class on
 * which no component runs it uses none.
 */
export function countsOf(
  { resolved: { spec, cluster, method } }: WorkflowQuestion,
  components: readonly PlannedComponent[],
): ClassCount[] {
  const able = new Set(components.flatMap(({ classes }) => classes.map(({ device }) => device)));
  const free = freeDevices(cluster).map(({ device, count }) => ({
    device,
    count: able.has(device) ? count : 0,
  }));
  if (method !== 'given') return free;
  return free.map(({ device }) => ({
    device,
    count: (spec.placement ?? []).reduce((sum, one) => sum + (one.device === device ? one.count : 0), 0),
  }));
}

/** fastest serves the sample on all devices, and where components move tries what devices held longest as what they begin with. */
function fastest(search: Search): WorkflowAnswer {
  const { question, trials, free, bounds } = search;
  question.tell('simulating the sample');
  const first = trials.at(free);
  if ('lacking' in first) return unplaced(first, trials);
  let best = first;
  const { method, serving } = question.resolved;
  if (method === 'dyorc' && serving.scheduler !== 'static' && !question.interrupted()) {
    question.tell('simulating the sample from what devices held longest');
    const second = trials.fromHeld(first);
    if (second !== undefined && isBetter(second.figures, first.figures)) best = second;
  }
  const value = best.figures.meanMs;
  const objective = { kind: 'latency' as const, value, bound: leastMean(bounds, best.figures) };
  return planned(search, best, { objective, isCut: question.interrupted() });
}

/** isBetter says whether more requests are answered, or as many with a smaller mean latency. */
function isBetter(one: SampleFigures, other: SampleFigures): boolean {
  return one.dropped === other.dropped ? one.meanMs < other.meanMs : one.dropped < other.dropped;
}

/** leastMean is the least mean latency of as many requests as were answered: any may have been dropped. */
function leastMean({ latencyNs }: BoundedSample, { requests, dropped }: SampleFigures): number {
  const answered = requests - dropped;
  if (answered === 0) return 0;
  const least = latencyNs.toSorted().subarray(0, answered);
  return least.reduce((sum, ns) => sum + ns, 0) / answered / NS_PER_MS;
}

/**
 * fewest finds the fewest devices that hold all SLOs on the sample, and then in the mean over samples by which nothing
 * was chosen.
 */
function fewest(search: Search): WorkflowAnswer {
  const { question, trials, free, bounds } = search;
  const { resolved } = question;
  const most = free.reduce((sum, { count }) => sum + count, 0);
  const { sloDevices } = bounds;
  if (sloDevices === undefined)
    return { status: 'infeasible', reasons: tooSlowReasons(resolved, bounds), simulations: trials.count };
  const bound = Math.max(1, sloDevices, resolved.subclusters);
  if (bound > most)
    return { status: 'infeasible', reasons: tooFewReasons(bound, most), simulations: trials.count };
  const counted = new CountedTrials(search);
  const found = fewestDevices(bound, most, (count) => counted.holds(count));
  const confirmed = found === undefined ? undefined : counted.confirmedFrom(found, most);
  if (question.interrupted() && confirmed === undefined)
    return { status: 'undecided', reasons: [], simulations: trials.count };
  if (confirmed === undefined) return notHeld(search, counted.trialOf(most), found !== undefined);
  const { count, trial } = counted.trimmed(confirmed);
  const objective = { kind: 'devices' as const, value: count, bound };
  return planned(search, trial, { objective, isCut: question.interrupted() });
}

/** CountedTrial is a trial with a given number of devices. */
interface CountedTrial {
  readonly count: number;
  readonly trial: PlacedTrial;
}

/** CountedTrials tries numbers of devices, each once. */
class CountedTrials {
  private readonly known = new Map<number, PlacedTrial | Unplaced>();

  constructor(private readonly search: Search) {}

  trialOf(count: number): PlacedTrial | Unplaced {
    const { question, free } = this.search;
    const known = this.known.get(count);
    if (known !== undefined) return known;
    const trial = this.trialWith(cheapestDevices(question.resolved.cluster, free, count));
    this.known.set(count, trial);
    return trial;
  }

  /** holds returns whether a given number of devices hold all SLOs on the sample; an interruption ends the search for fewer. */
  holds(count: number): boolean {
    return !this.search.question.interrupted() && this.isHeld(this.trialOf(count));
  }

  /**
   * confirmedFrom gives the fewest devices from a number on that hold all SLOs on the sample, and in the mean over
   * other samples.
   */
  confirmedFrom(least: number, most: number): CountedTrial | undefined {
    for (let count = least; count <= most; count++) {
      const trial = this.trialOf(count);
      if (this.isHeld(trial) && this.isConfirmed(trial)) return { count, trial };
      if (this.search.question.interrupted()) return undefined;
    }
    return undefined;
  }

  /**
   * trimmed leaves out devices that are not needed, of the dearest class first: of each class as many as can be while
   * all SLOs are still held, on the sample and the samples that confirm it. So a cheap class that cannot execute
   * everything does not fill up a plan.
   */
  trimmed({ count, trial }: CountedTrial): CountedTrial {
    const { question, free } = this.search;
    const { cluster, subclusters } = question.resolved;
    let best: CountedTrial = { count, trial };
    let counts = cheapestDevices(cluster, free, count);
    const used = counts.filter((one) => one.count > 0);
    if (used.length < 2) return best;
    for (const { device, count: most } of byPrice(cluster, used).reverse()) {
      const others = best.count - most;
      const tried = new Map<number, PlacedTrial | Unplaced>();
      const withOnly = (wanted: number) =>
        counts.map((one) => (one.device === device ? { device, count: wanted } : one));
      const trialWith = (wanted: number): PlacedTrial | Unplaced => {
        const known = tried.get(wanted) ?? (wanted === most ? best.trial : this.trialWith(withOnly(wanted)));
        tried.set(wanted, known);
        return known;
      };
      const holds = (wanted: number) => !question.interrupted() && this.isHeld(trialWith(wanted));
      const fewer = fewestDevices(Math.max(0, subclusters - others), most, holds) ?? most;
      const found = trialWith(fewer);
      if (fewer === most || !this.isHeld(found) || !this.isConfirmed(found)) continue;
      counts = withOnly(fewer);
      best = { count: others + fewer, trial: found };
    }
    return best;
  }

  private trialWith(counts: readonly ClassCount[]): PlacedTrial | Unplaced {
    const { question, trials } = this.search;
    const problem = trials.problemOf(counts);
    question.tell(`simulating the sample on ${problem.devices.length} devices`);
    const isRunnable = unrunnableReasons(problem, trials.called()).length === 0;
    return isRunnable ? trials.at(counts) : { lacking: trials.called(), problem };
  }

  private isHeld(trial: PlacedTrial | Unplaced): trial is PlacedTrial {
    return !('lacking' in trial) && holdsAttainment(this.search.question.resolved, [trial.figures]);
  }

  private isConfirmed(trial: PlacedTrial): boolean {
    const { question, trials } = this.search;
    question.tell(`confirming ${trial.placement.length} devices with other seeds`);
    return holdsAttainment(
      question.resolved,
      CONFIRMING_SEEDS.map((seed) => trials.again(trial, seed)),
    );
  }
}

function unplaced(found: Unplaced, trials: PlacementTrials): WorkflowAnswer {
  const { isProved, reasons } = unplacedReasons(found, trials.called());
  return { status: isProved ? 'infeasible' : 'undecided', reasons, simulations: trials.count };
}

/** notHeld says why all devices together do not hold: on the sample, or else on the samples that would confirm it. */
function notHeld(
  { question: { resolved }, trials }: Search,
  all: PlacedTrial | Unplaced,
  onSample: boolean,
): WorkflowAnswer {
  if ('lacking' in all) return unplaced(all, trials);
  const figures = onSample ? CONFIRMING_SEEDS.map((seed) => trials.again(all, seed)) : [all.figures];
  return { status: 'undecided', reasons: notHeldReasons(resolved, figures), simulations: trials.count };
}

type Objective = Omit<WorkflowPlanBody['objective'], 'gap'>;

function planned(
  { question, trials, bounds }: Search,
  trial: PlacedTrial,
  { objective, isCut }: { readonly objective: Objective; readonly isCut: boolean },
): WorkflowAnswer {
  const { resolved } = question;
  const { cluster } = trial.problem;
  const placement = trials.withStatic(trial);
  const { kind, value, bound: proved } = objective;
  if (proved > value * (1 + ROUNDING))
    throw brokenPromise(`a plan has ${value}, which is below the bound ${proved}`);
  const bound = Math.min(proved, value);
  const gap = value === bound ? 0 : value / bound - 1;
  // The mean of those requests that were answered is none that other plans could not beat by dropping others, or none.
  const isWhole = kind === 'devices' || trial.figures.dropped === 0;
  const isOptimal = isWhole && gap <= ROUNDING;
  const hasGap = (bound > 0 || value === 0) && (isWhole || gap > 0);
  const plan: WorkflowPlanBody = {
    method: resolved.method,
    status: isOptimal ? 'optimal' : 'feasible',
    ...(isCut ? { reproducible: false } : {}),
    objective: { kind, value, bound, ...(hasGap ? { gap } : {}) },
    serving: resolved.serving,
    cluster,
    attainment: resolved.attainment,
    rps: resolved.rps,
    subclusters: resolved.subclusters,
    components: trials.componentsFor(placement, resolved.serving),
    workflows: [...trials.planned()],
    placement: [...placement],
    sample: trial.figures,
    bounds: { devices: bounds.devices, meanMs: bounds.meanMs },
  };
  const notes = tooSlowReasons(resolved, bounds).map(({ text }) => text);
  return { status: 'planned', plan, notes, simulations: trials.count };
}
