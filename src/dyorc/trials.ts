import { itemAt } from '../collections/index.js';
import type {
  OpenCluster,
  PlannedComponent,
  PlannedWorkflow,
  PlanServing,
  WorkflowDevice,
  WorkflowPlan,
} from '../formats/index.js';
import { BYTES_PER_GIB, NS_PER_S } from '../formats/index.js';
import type { PlacedWorkflows } from '../plans/index.js';
import type { RequestsToBound } from './bounds.js';
import { type ClassCount, devicesInGroups, usedCluster } from './devices.js';
import { countedCalls } from './frequencies.js';
import { type InputBytes, mostInputBytes } from './input-bytes.js';
import type { HeldTimes } from './longest-held.js';
import { type PlacingProblem, placedAsGiven, placedByTime, placedByWork } from './placing.js';
import type { SampleFigures, WorkflowQuestion } from './problem.js';
import { meanRows, trainingRuns } from './training.js';

/** The seed of the sample that plans are made for. The seeds that confirm a plan are others. */
export const WORKFLOW_SEED = 1;

/** PlacedTrial is a placement, and what the plan's scheduler makes of the sample with it. */
export interface PlacedTrial {
  readonly problem: PlacingProblem;
  readonly placement: readonly WorkflowDevice[];
  readonly figures: SampleFigures;
}

/** Unplaced says which components found no room where they never move. */
export interface Unplaced {
  readonly lacking: readonly string[];
  readonly problem: PlacingProblem;
}

/** WatchedTrial is a trial of DyOrc's scheduler, and for how long its devices held what. */
interface WatchedTrial extends PlacedTrial {
  readonly heldNs: HeldTimes;
}

/** PlacementTrials places components on devices and simulates what comes of it. */
export class PlacementTrials {
  /** How many simulations there were. */
  count = 0;
  /** The components, on the classes that have room for the inputs of each task beside them. */
  readonly components: readonly PlannedComponent[];
  private readonly workflows: readonly PlannedWorkflow[];
  private readonly rowsPerNs: readonly number[];
  private readonly inputBytes: InputBytes;
  private readonly drawn = new Map<number, RequestsToBound>();

  constructor(private readonly question: WorkflowQuestion) {
    const { components, workflows, rps, cluster } = question.resolved;
    const names = components.map(({ name }) => name);
    const training = workflows.map(({ source }) => trainingRuns(source));
    const inputBytes = mostInputBytes([...training.flat(), ...this.requests(WORKFLOW_SEED).runs], components);
    this.inputBytes = inputBytes;
    this.components = components.map((component, c) =>
      withRoom(component, itemAt(inputBytes.taskInputBytes, c), cluster),
    );
    this.workflows = workflows.map(({ name, sloMs, share, source }, w) => ({
      name,
      ...(sloMs === undefined ? {} : { sloMs }),
      share,
      ...('chain' in source ? { chain: source.chain } : {}),
      frequencies: countedCalls(training[w] ?? [], names),
    }));
    const rows = workflows.map(({ source }) => meanRows(source));
    this.rowsPerNs = names.map((component) =>
      workflows.reduce(
        (sum, { share }, w) => sum + (share * rps * (rows[w]?.get(component) ?? 0)) / NS_PER_S,
        0,
      ),
    );
  }

  /** planned gives the workflows as a plan has them, except for the paths of their files. */
  planned(): readonly PlannedWorkflow[] {
    return this.workflows;
  }

  /** called lists the names of the components that some request calls. */
  called(): string[] {
    return this.components.flatMap(({ name }, c) => (itemAt(this.rowsPerNs, c) > 0 ? [name] : []));
  }

  /** requests gives the requests of a seed. */
  requests(seed: number): RequestsToBound {
    const known = this.drawn.get(seed) ?? this.question.requestsOf(seed);
    this.drawn.set(seed, known);
    return known;
  }

  problemOf(counts: readonly ClassCount[]): PlacingProblem {
    const { components } = this;
    const { cluster, subclusters } = this.question.resolved;
    const devices = devicesInGroups(cluster, counts, subclusters);
    return {
      components,
      cluster: usedCluster(cluster, counts),
      devices,
      rowsPerNs: this.rowsPerNs,
      ...this.inputBytes,
    };
  }

  /** at places components on a given number of devices by the method of the spec and by who serves, and serves the sample. */
  at(counts: readonly ClassCount[]): PlacedTrial | Unplaced {
    const { method, spec, serving } = this.question.resolved;
    const problem = this.problemOf(counts);
    if (method === 'given') return this.served(problem, placedAsGiven(problem.devices, spec.placement ?? []));
    const byWork = placedByWork(problem);
    if (method === 'static' || serving.scheduler === 'static') {
      const stays = this.stays(this.watched(problem, byWork.placement));
      return 'lacking' in stays ? stays : this.served(problem, stays.placement);
    }
    // There each component keeps a replica, whose memory nothing else gets.
    const keepsAll = serving.scheduler === 'ray-like';
    const { placement, lacking } = byWork;
    return keepsAll && lacking.length > 0 ? { lacking, problem } : this.served(problem, placement);
  }

  /**
   * fromHeld serves the sample again where devices begin with what they held longest; it gives nothing where that finds
   * no room.
   */
  fromHeld({ problem, placement }: PlacedTrial): PlacedTrial | undefined {
    const stays = this.stays(this.watched(problem, placement));
    return 'lacking' in stays ? undefined : this.served(problem, stays.placement);
  }

  /**
   * withStatic adds to a trial what devices would hold if components never moved: what they held longest under DyOrc's
   * scheduler. It adds nothing where that has no room for all, nor after an interruption.
   */
  withStatic(trial: PlacedTrial): readonly WorkflowDevice[] {
    const { method, serving } = this.question.resolved;
    const isOwn = method === 'static' || method === 'given' || serving.scheduler === 'static';
    if (isOwn || this.question.interrupted()) return trial.placement;
    const stays = this.stays(this.watched(trial.problem, trial.placement));
    if ('lacking' in stays) return trial.placement;
    return trial.placement.map((device, d) => ({ ...device, static: stays.placement[d]?.holds ?? [] }));
  }

  /** again serves the requests of another seed. */
  again({ problem, placement }: PlacedTrial, seed: number): SampleFigures {
    return this.simulated(problem, placement, { serving: this.question.resolved.serving, seed }).figures;
  }

  /**
   * componentsFor lists the components of a plan. A component that no request calls, and that no device holds
   * where components never move, is left out.
   */
  componentsFor(placement: readonly WorkflowDevice[], { scheduler }: PlanServing): PlannedComponent[] {
    const { components } = this;
    const classes = new Set(placement.map((device) => device.class));
    const held = new Set(placement.flatMap(({ holds, static: stays = holds }) => stays));
    return components.flatMap((component) => {
      const own = component.classes.filter(({ device }) => classes.has(device));
      const isServed = own.length > 0 && (scheduler !== 'static' || held.has(component.name));
      return isServed ? [{ ...component, classes: own }] : [];
    });
  }

  /** served serves the sample by the plan's scheduler from a placement. */
  served(problem: PlacingProblem, placement: readonly WorkflowDevice[]): PlacedTrial {
    const { serving } = this.question.resolved;
    return {
      problem,
      placement,
      figures: this.simulated(problem, placement, { serving, seed: WORKFLOW_SEED }).figures,
    };
  }

  private watched(problem: PlacingProblem, placement: readonly WorkflowDevice[]): WatchedTrial {
    const { serving } = this.question.resolved;
    const asked = {
      serving: serving.scheduler === 'dyorc' ? serving : { scheduler: 'dyorc' },
      seed: WORKFLOW_SEED,
    };
    return { problem, placement, ...this.simulated(problem, placement, asked) };
  }

  private stays({
    problem,
    heldNs,
  }: WatchedTrial): Unplaced | { readonly placement: readonly WorkflowDevice[] } {
    const { placement, lacking } = placedByTime(problem, heldNs);
    return lacking.length > 0 ? { lacking, problem } : { placement };
  }

  private simulated(
    { cluster }: PlacingProblem,
    placement: readonly WorkflowDevice[],
    { serving, seed }: { readonly serving: PlanServing; readonly seed: number },
  ) {
    const { rps } = this.question.resolved;
    const components = this.componentsFor(placement, serving);
    const plan: PlacedWorkflows & Pick<WorkflowPlan, 'workflows' | 'serving'> = {
      cluster,
      rps,
      components,
      workflows: [...this.workflows],
      placement,
      serving,
    };
    const key = JSON.stringify([placement, serving, seed]);
    const known = this.made.get(key);
    if (known !== undefined) return known;
    this.count += 1;
    const found = this.question.simulate({ plan, seed, requests: this.requests(seed) });
    this.made.set(key, found);
    return found;
  }

  /** The simulations so far, so that none is done again. */
  private readonly made = new Map<string, ReturnType<WorkflowQuestion['simulate']>>();
}

/**
 * withRoom gives a component on the classes whose memory holds it and the inputs of any of its tasks: others would drop
 * that task.
 */
function withRoom(
  component: PlannedComponent,
  inputBytes: number,
  { devices }: OpenCluster,
): PlannedComponent {
  const classes = component.classes.filter(({ device }) => {
    const { memoryGiB = Number.POSITIVE_INFINITY } = devices[device] ?? {};
    return component.memoryBytes + inputBytes <= memoryGiB * BYTES_PER_GIB;
  });
  return { ...component, classes };
}
