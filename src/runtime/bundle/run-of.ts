import type { Fault } from '../../formats/index.js';
import type { PlanFile, StagePlanKind } from '../../plans/index.js';
import type { BundleParts } from './bundle-parts.js';
import { cascadeWork } from './cascade-work.js';
import { LoadWatch } from './load-watch.js';
import { pipelineWork } from './pipeline-work.js';
import type { LiveModel, PoolWork } from './pool-work.js';
import { pooledWork } from './pooled-work.js';

/** BundleOf is a bundle of a plan of one kind. */
export type BundleOf<K extends StagePlanKind> = BundleParts & { readonly plan: PlanFile<K> };

/** BundleWork is what is done with a bundle's files: the models as clients see them, and the work of each pool. */
export interface BundleWork {
  readonly models: LiveModel[];
  readonly work: PoolWork[];
}

/** RunOf says how plans of one kind are run. */
interface RunOf<K extends StagePlanKind> {
  /** work finds a bundle's work, and adds to `faults` where the manifest is not that of the plan. */
  work(bundle: BundleOf<K>, faults: Fault[]): BundleWork;
  /**
   * watch gives a function that is called for each arrival, and reports once that the load has strayed from
   * the planned one.
   */
  watch(plan: PlanFile<K>, tell: (share: number) => void): ArrivalWatch | undefined;
}

/** ArrivalWatch hears of each arrival, at its time since the beginning. */
export interface ArrivalWatch {
  arrived(atMs: number): void;
}

const RUNS: { readonly [K in StagePlanKind]: RunOf<K> } = {
  'pooled-plan': { work: pooledWork, watch: () => undefined },
  'pipeline-plan': { work: pipelineWork, watch: () => undefined },
  // Only gears are planned for a distribution of loads.
  'gear-plan': { work: cascadeWork, watch: (plan, tell) => new LoadWatch(plan, tell) },
};

/**
 * runOf gives how a plan of its kind is run. As with `planOf`, the cast is where the compiler cannot see that a plan and
 * its entry are of one kind.
 */
export function runOf<K extends StagePlanKind>({ kind }: { readonly kind: K } & PlanFile<K>): RunOf<K> {
  return RUNS[kind] as RunOf<K>;
}
