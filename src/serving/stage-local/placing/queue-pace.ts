import { NONE as SHARED_NONE } from '../../../collections/index.js';
import type { ServingPace } from '../../state/index.js';
import type { WeighingRule } from '../policy.js';
import type { SharedState } from '../shared-state.js';
import { PerDevice } from './per-device.js';
import type { TaskPlacement } from './task-placement.js';

const NONE = SHARED_NONE;

type PaceParts = Pick<SharedState, 'columns' | 'durations' | 'planner' | 'collected'> & {
  readonly placement: TaskPlacement;
};

function marginOf(rule: WeighingRule): number {
  switch (rule.kind) {
    case 'none':
      return 0;
    case 'levels':
      return rule.margin;
  }
}

/** QueuePace says how fast the tasks of a queue are served, by what is expected of its stage and of those after it. */
export class QueuePace {
  private readonly margin: number;
  private at = 0;

  /** @param parts are looked at when something is asked, for they are made after this */
  constructor(
    rule: WeighingRule,
    private readonly parts: PaceParts,
  ) {
    this.margin = marginOf(rule);
  }

  /** passed sets the present time. */
  passed(at: number): void {
    this.at = at;
  }

  /** of writes the pace of a queue. */
  of(queue: number, pace: ServingPace): void {
    const { columns, durations, planner, placement, collected } = this.parts;
    const { at } = this;
    const pool = placement.placeOf(queue);
    const batch = columns.batch[pool] as number;
    const device = placement instanceof PerDevice ? placement.deviceOf(queue) : NONE;
    const devices = device === NONE ? Math.max(1, placement.devicesUp(pool)) : 1;
    pace.startNs = device === NONE ? at : Math.max(at, placement.freeAt(device));
    pace.taken = collected.size(queue);
    pace.batch = batch;
    pace.stepNs = durations.executionNs(pool, batch, device) / devices;
    pace.endsAfterNs =
      planner?.estimatesLater === true
        ? planner.durationNs(pool, device) + planner.laterNs(at, pool)
        : durations.workNs(pool, batch, device);
    pace.marginNs = this.margin * (columns.poolSloNs[pool] as number);
  }
}
