import { stageName } from '../../formats/index.js';
import type { DropReason, Topology } from '../../serving/index.js';
import type { Dropped, Drops } from '../live/drops.js';
import { LONGEST_RESTART_MS } from '../live/live-device.js';

/**
 * WorkflowDrops gives the endings of requests of workflows that are dropped. A request is worth sending again
 * once the rows that are open have been served, of all workflows together, at the rate of the plan, less the
 * share of devices that are down.
 */
export class WorkflowDrops implements Pick<Drops, 'took' | 'gave' | 'device' | 'ending'> {
  private readonly isUp: Uint8Array;
  private openRows = 0;

  constructor(private readonly topology: Topology) {
    this.isUp = new Uint8Array(topology.devices.length);
  }

  took(_model: number, rows: number): void {
    this.openRows += rows;
  }

  gave(_model: number, rows: number): void {
    this.openRows -= rows;
  }

  device(device: number, isUp: boolean): void {
    this.isUp[device] = isUp ? 1 : 0;
  }

  /** ending gives the ending of an open request that is dropped where it waits for a pool, or at the entry (−1). */
  ending(_model: number, reason: DropReason, pool: number): Dropped {
    const at = this.topology.pools[pool];
    const ending = { kind: 'dropped', reason, retryAfterS: this.retryAfterS() } as const;
    if (at === undefined) return { ...ending, place: 'entry' };
    const stage = stageName(at.stage);
    return { ...ending, place: stage, stage };
  }

  private retryAfterS(): number {
    const rps = this.topology.models.reduce((sum, { throughputRps }) => sum + throughputRps, 0);
    const up = this.isUp.reduce((sum, one) => sum + one, 0) / this.isUp.length;
    if (up > 0) return Math.max(1, Math.ceil(this.openRows / (rps * up)));
    return Math.max(LONGEST_RESTART_MS / 1000, Math.ceil(this.openRows / rps));
  }
}
