import { Lists, NONE } from '../../collections/index.js';
import { Decision, type Decisions } from '../decisions.js';
import { type Flow, type Journeys, Leg } from '../reservation/index.js';
import type { Batches } from '../state/index.js';

/**
 * HandedOnFlow hands every batch on as soon as it is there. Devices and links serve the batches they are
 * handed, first come, first served.
 */
export class HandedOnFlow implements Flow {
  private readonly handed: Lists;
  private readonly up: Uint8Array;

  constructor(
    private readonly decisions: Decisions,
    private readonly batches: Batches,
    private readonly journeys: Journeys,
    devices: number,
    /**
     * `isWanted` removes the tasks that their clients no longer want from a batch, and tells whether any are
     * left.
     */
    private readonly isWanted: (batch: number) => boolean,
  ) {
    this.handed = new Lists(devices);
    this.up = new Uint8Array(devices);
  }

  begin(batch: number): void {
    this.hand(batch);
  }

  private hand(batch: number): void {
    const device = this.batches.device(batch);
    this.handed.push(device, batch);
    this.decisions.push(Decision.execute, batch, device);
  }

  started(_at: number, batch: number): void {
    this.journeys.leg[batch] = Leg.executing;
  }

  executed(_at: number, batch: number, last: boolean): void {
    const device = this.batches.device(batch);
    this.handed.remove(device, batch);
    if (!last) this.decisions.push(Decision.transfer, batch, device, NONE);
  }

  transferred(_at: number, batch: number): boolean {
    const stage = (this.journeys.stage[batch] as number) + 1;
    const device = this.journeys.device(batch, stage);
    this.journeys.stage[batch] = stage;
    this.journeys.leg[batch] = Leg.toExecute;
    this.batches.moveTo(batch, this.batches.pool(batch) + 1, device);
    if (this.up[device] === 0) return false;
    if (this.isWanted(batch)) this.hand(batch);
    else this.batches.close(batch);
    return true;
  }

  lost(_at: number, batch: number): void {
    this.handed.remove(this.batches.device(batch), batch);
  }

  deviceUp(device: number): void {
    this.up[device] = 1;
  }

  deviceDown(_at: number, device: number): number[] {
    this.up[device] = 0;
    return this.handed.takeAll(device);
  }

  decide(): void {}
}
