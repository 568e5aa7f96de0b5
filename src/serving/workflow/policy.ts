/** WorkflowPolicy is how tasks of dynamic workflows get their devices. */
export interface WorkflowPolicy {
  readonly placing: PlacingRule;
  readonly prediction: PredictionRule;
  readonly reserving: ReservingRule;
  readonly dropping: DroppingRule;
  readonly moving: MovingRule;
  readonly evicting: EvictingRule;
  readonly sparing: SparingRule;
  readonly spreading: SpreadingRule;
  /** A call counts half after so long in what is known of how much components are called. */
  readonly halfLifeNs: number;
  /** How many tasks may be known and not executed; a request beyond them is refused. */
  readonly mostTasks: number;
  /** How many executions of a task may be lost before its request is dropped. */
  readonly mostTries: number;
}

/**
 * PlacingRule says which devices the tasks of a request get.
 * - dynamic-program: those by which its last task is expected to end first (DyOrc §5.3). Of each task `candidates` devices are
 *   tried, and `beam` partial schedules are kept; all of them where these are absent.
 * - greedy: each task gets the device on which it is expected to end first.
 * - round-robin: tasks get devices in turn.
 */
export type PlacingRule =
  | { readonly kind: 'dynamic-program'; readonly candidates?: number; readonly beam?: number }
  | { readonly kind: 'greedy' }
  | { readonly kind: 'round-robin' };

/**
 * PredictionRule says what is expected of a program that has not ended.
 * - none: nothing.
 * - sampled: calls are drawn with the chances that the frequency table has for them, until the end is (DyOrc §5.2).
 * - likeliest: what followed most often, until that is the end.
 * Of both, `most` calls at most.
 */
export type PredictionRule =
  | { readonly kind: 'none' }
  | { readonly kind: 'sampled'; readonly most: number }
  | { readonly kind: 'likeliest'; readonly most: number };

/**
 * ReservingRule says what calls that are expected take of the devices that they would get. Either way their components are loaded.
 * - work: they count as work, like known ones (DyOrc §5.3).
 * - memory: they count as no work, so that others do not go elsewhere because of what may never come.
 */
export type ReservingRule = { readonly kind: 'work' } | { readonly kind: 'memory' };

/**
 * DroppingRule says which requests are given up whose tasks are about to be executed. A request without a deadline never is.
 * - never: none.
 * - expired: those whose deadline has passed.
 * - end-to-end: those that are expected to end after it, by what is left of them (PARD §4.2). The end is the `quantile` of its
 *   distribution, which is known by this many `draws` of recent waits.
 */
export type DroppingRule =
  | { readonly kind: 'never' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'end-to-end'; readonly quantile: number; readonly draws: number };

/**
 * MovingRule says which tasks leave the device that they got.
 * - never: none.
 * - to-idle: those that wait on a device, and would end sooner on one that has nothing to do.
 */
export type MovingRule = { readonly kind: 'never' } | { readonly kind: 'to-idle' };

/**
 * EvictingRule says which component leaves a device first, of those that may go.
 * - least-recent: the one that was used longest ago (DyOrc §5.4).
 * - least-worth: the one that is called least, for each device that holds it, times the time that it takes to be loaded again.
 *   Expected calls of open requests count like calls.
 */
export type EvictingRule = { readonly kind: 'least-recent' } | { readonly kind: 'least-worth' };

/**
 * SparingRule says what it counts that a component leaves a device for another one, where devices are chosen.
 * - none: nothing, and expected calls push out what nothing needs.
 * - reloads: the time to load it again as often as it is called on one device, `most` times at most. An expected call
 *   pushes out only what is worth less than its own component.
 */
export type SparingRule = { readonly kind: 'none' } | { readonly kind: 'reloads'; readonly most: number };

/**
 * SpreadingRule says what devices load that have nothing to do.
 * - never: nothing.
 * - by-work: the component whose devices have most to do of it, if the calls of late are more on each than it
 *   executes in `least` half-lives. The components that leave for it must have less than `ratio` times as
 *   much work on each of the devices that keep them.
 */
export type SpreadingRule =
  | { readonly kind: 'never' }
  | { readonly kind: 'by-work'; readonly least: number; readonly ratio: number };

/**
 * DYORC_POLICY is DyOrc's scheduler, with limits that keep its cost small on many devices. Other than in the paper,
 * expected calls count as no work: requests end sooner so (docs/dyorc.md).
 */
export const DYORC_POLICY: WorkflowPolicy = {
  placing: { kind: 'dynamic-program', candidates: 8, beam: 32 },
  prediction: { kind: 'sampled', most: 16 },
  reserving: { kind: 'memory' },
  dropping: { kind: 'never' },
  moving: { kind: 'to-idle' },
  evicting: { kind: 'least-worth' },
  sparing: { kind: 'reloads', most: 1 },
  spreading: { kind: 'by-work', least: 0.1, ratio: 0.7 },
  halfLifeNs: 30e9,
  mostTasks: 1_000_000,
  mostTries: 2,
};

/** PLAIN holds what DyOrc's scheduler is compared with to what the paper says: nothing is predicted, moved, spared or spread. */
const PLAIN: WorkflowPolicy = {
  ...DYORC_POLICY,
  prediction: { kind: 'none' },
  moving: { kind: 'never' },
  evicting: { kind: 'least-recent' },
  sparing: { kind: 'none' },
  spreading: { kind: 'never' },
};

/** GREEDY_POLICY and ROUND_ROBIN_POLICY are what DyOrc's scheduler is compared with (§8.3). */
export const GREEDY_POLICY: WorkflowPolicy = { ...PLAIN, placing: { kind: 'greedy' } };
export const ROUND_ROBIN_POLICY: WorkflowPolicy = { ...PLAIN, placing: { kind: 'round-robin' } };
