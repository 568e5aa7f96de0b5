import type { StartExecutor } from '../execution/index.js';
import {
  type ArtifactTypes,
  fault,
  type Loaded,
  option,
  type PlanServing,
  shown,
  ToldFaults,
} from '../formats/index.js';
import { PLAN_KINDS, type PlanKind, plannedPolicy } from '../plans/index.js';
import { WORKFLOW_SCHEDULERS, type WorkflowPolicy, type WorkflowScheduler } from '../serving/index.js';
import {
  type CheckedBundle,
  type OpenedBundle,
  type OpenOptions,
  openStages,
  plannedBundle,
  type ReadOptions,
  readPlanned,
} from './bundle/opened-bundle.js';
import type { Counters } from './live/counters.js';
import { LiveEngine } from './live/live-engine.js';
import type { Intake } from './live/submit.js';
import { liveScheduler, toldServing } from './scheduler.js';
import type { ServeEvent, ServeOptions } from './types.js';
import { openWorkflows } from './workflow/opened-workflows.js';
import { WorkflowEngine } from './workflow/workflow-engine.js';

/**
 * ServingEngine runs a bundle whatever its plan and the protocol of its clients: its devices, the driver of them, and
 * its counters.
 */
export interface ServingEngine {
  /** Where fronts call in. */
  readonly intake: Intake;
  readonly counters: Counters;
  /** pending counts the requests without an ending. */
  readonly pending: number;
  /** start starts and warms the devices that are in use from the beginning. It resolves when all of them are up. */
  start(): Promise<void>;
  /** drain takes no more requests, and resolves when every request has its ending. */
  drain(): Promise<void>;
  /** abandon ends every open request, and the executors at once. It gives how many requests these were. */
  abandon(): number;
  /** close ends the devices, of an engine that has drained or was abandoned. */
  close(): Promise<void>;
  /** isReady says whether a model, or each of them, can be served now. */
  isReady(model?: number): boolean;
  executorPids(): readonly number[];
  coreTime(): { decideUs: number; calls: number; requests: number };
}

/** EngineStart is what an engine is started with, whatever its plan. */
export interface EngineStart {
  readonly onDecision: ServeOptions['onDecision'] | undefined;
  readonly signal: AbortSignal | undefined;
  readonly log: (event: ServeEvent) => void;
  /** Starts the executors of devices of stages, elsewhere than on the cores of this host. */
  readonly start?: StartExecutor | undefined;
}

/** Scheduled is a bundle with the scheduler that serves it. */
export interface Scheduled {
  /** How it is scheduled, in the words of plans. */
  readonly serving: PlanServing;
  engine(start: EngineStart): ServingEngine;
}

/** AskedScheduler is the scheduler that is asked for instead of the plan's. */
type AskedScheduler = Pick<ServeOptions, 'scheduler' | 'policy' | 'tuner'>;

/** Servable is a bundle of a plan of any kind that was checked. */
export interface Servable {
  readonly bundle: CheckedBundle;
  /**
   * scheduled finds the scheduler that serves it: what its plan says, unless options ask for another.
   * @throws InputError with every fault of the scheduler's name and its policy
   */
  scheduled(options: AskedScheduler): Scheduled;
}

/** ReadFiles is a bundle of a plan of one kind whose files are what its manifest says. */
interface ReadFiles<K extends PlanKind> {
  readonly folder: string;
  readonly manifest: Loaded<'bundle'>;
  readonly plan: ArtifactTypes[K];
}

type Opens<K extends PlanKind> = (
  read: ReadFiles<K>,
  options: OpenOptions & { readonly task: string },
) => Promise<Servable>;

/** SERVED says of each kind of plan how its bundles are opened. */
const SERVED: { readonly [K in PlanKind]: Opens<K> } = {
  'pooled-plan': servedStages,
  'pipeline-plan': servedStages,
  'gear-plan': servedStages,
  'workflow-plan': servedWorkflows,
};

/**
 * openServable opens a bundle's folder as `openBundle` does, of a plan of any kind that this server serves.
 * @throws what `openBundle` throws
 */
export async function openServable(folder: string, options: OpenOptions & ReadOptions): Promise<Servable> {
  const read = await readPlanned(folder, PLAN_KINDS, options);
  return await opensOf(read.plan)({ folder, ...read }, options);
}

/**
 * checkBundle opens a bundle of a plan of any kind that this server serves, and starts nothing.
 * @param verb what errors say cannot be done with it
 * @throws what `openBundle` throws
 */
export async function checkBundle(folder: string, verb: string): Promise<CheckedBundle> {
  return (await openServable(folder, { task: `${verb} ${folder}` })).bundle;
}

/**
 * opensOf gives how a plan of its kind is opened. The cast is where the compiler cannot see that a plan and its entry
 * are of one kind.
 */
function opensOf<K extends PlanKind>({ kind }: { readonly kind: K }): Opens<K> {
  return SERVED[kind] as Opens<K>;
}

async function servedStages(
  { folder, ...read }: { readonly folder: string } & Pick<OpenedBundle, 'manifest' | 'plan'>,
  options: OpenOptions & { readonly task: string },
): Promise<Servable> {
  const bundle = await openStages(folder, plannedBundle(read, options.task), options);
  return {
    bundle,
    scheduled: (asked) => {
      const scheduler = liveScheduler(asked, bundle);
      return {
        serving: toldServing(scheduler),
        engine: (start) => new LiveEngine(bundle, { ...start, scheduler }),
      };
    },
  };
}

async function servedWorkflows(
  read: ReadFiles<'workflow-plan'>,
  options: OpenOptions & { readonly task: string },
): Promise<Servable> {
  const bundle = await openWorkflows(read, options);
  return {
    bundle,
    scheduled: (asked) => {
      const { scheduler, policy } = workflowScheduler(asked, bundle.plan.serving);
      return {
        serving: { scheduler, ...(Object.keys(policy).length === 0 ? {} : { policy: { ...policy } }) },
        engine: ({ start: _ofStages, ...start }) =>
          new WorkflowEngine(bundle, { ...start, scheduler, policy }),
      };
    },
  };
}

/**
 * workflowScheduler finds the scheduler that serves workflows, and what differs from its own policy.
 * @throws InputError where there is none of that name, or it does not have choices, or a tuner is asked for, which
 *   these do not take
 */
function workflowScheduler(
  { scheduler, policy = [], tuner }: AskedScheduler,
  planned: PlanServing,
): { readonly scheduler: WorkflowScheduler; readonly policy: Partial<WorkflowPolicy> } {
  const name = scheduler ?? planned.scheduler;
  const told = new ToldFaults();
  const found = WORKFLOW_SCHEDULERS.find((one) => one === name);
  const faults = [
    ...(found === undefined
      ? [
          fault(
            `is ${shown(name)}, which serves no workflows; those that do are ${WORKFLOW_SCHEDULERS.join(', ')}`,
            option('scheduler'),
          ),
        ]
      : []),
    ...(tuner === undefined || tuner === 'none'
      ? []
      : [fault('is given, and workflows have no replicas that a tuner changes', option('tuner'))]),
  ];
  told.addAll(faults);
  const chosen = found && plannedPolicy(planned, { scheduler: found, given: policy }, told);
  if (found === undefined || chosen === undefined || told.count > 0) throw told.error('serve the workflows');
  return { scheduler: found, policy: chosen };
}
