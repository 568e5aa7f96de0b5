import type { PipelinePlan, StagePlacement } from '../../formats/index.js';
import { gpuRuns } from './gpu-runs.js';

/** PlacedPlan is the part of a plan that says which GPUs hold which models. */
export type PlacedPlan = Pick<PipelinePlan, 'placement' | 'cluster'>;

interface SidePlacement extends StagePlacement {
  readonly side: 0 | 1;
}

/** movedGpus counts the GPUs that hold other models than before, or none any more, or some for the first time. */
export function movedGpus(a: PlacedPlan, b: PlacedPlan): number {
  const places = [a, b].flatMap(({ placement }, side) =>
    placement.map((place): SidePlacement => ({ ...place, side: side === 0 ? 0 : 1 })),
  );
  const cluster = { devices: { ...a.cluster.devices, ...b.cluster.devices } };
  return gpuRuns(places, cluster).reduce(
    (moved, run) => (dutiesOf(run.places, 0) === dutiesOf(run.places, 1) ? moved : moved + run.count),
    0,
  );
}

function dutiesOf(places: readonly SidePlacement[], side: 0 | 1): string {
  return places
    .filter((place) => place.side === side)
    .map(({ stages, virtual, standby = false }) => `${[...stages].sort().join(' ')} ${virtual} ${standby}`)
    .sort()
    .join('; ');
}
