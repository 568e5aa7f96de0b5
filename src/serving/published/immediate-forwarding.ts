import { Lists, NONE as SHARED_NONE } from '../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../decisions.js';
import {
  type Forwarding,
  type Journeys,
  type ReservationState,
  Leg as SharedLeg,
} from '../reservation/index.js';
import type { OpenBatches } from '../state/index.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;
const Leg = SharedLeg;

/**
 * ImmediateForwarding hands every batch on as soon as it is there. Devices and links serve the batches they are
 * handed, first come, first served.
 */
export class ImmediateForwarding implements Forwarding {
  private readonly handed: Lists;
  private readonly up: Uint8Array;

  private readonly decisions: Decisions;
  private readonly batches: OpenBatches;
  private readonly journeys: Journeys;
  private readonly isWanted: (batch: number) => boolean;

  constructor(
    {
      decisions,
      batches,
      journeys,
      isWanted,
    }: Pick<ReservationState, 'decisions' | 'batches' | 'journeys' | 'isWanted'>,
    devices: number,
  ) {
    this.decisions = decisions;
    this.batches = batches;
    this.journeys = journeys;
    this.isWanted = isWanted;
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
