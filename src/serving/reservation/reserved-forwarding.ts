import { grownColumn, NONE as SHARED_NONE } from '../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../decisions.js';
import type { Durations, OpenBatches } from '../state/index.js';
import { mostStages, stagesFrom } from '../topology.js';
import type { Forwarding } from './forwarding.js';
import type { GapBooking } from './gap-booking.js';
import { type Journeys, Path, Leg as SharedLeg } from './path.js';
import type { ReservationState } from './reservation-state.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;
const Leg = SharedLeg;

/**
 * ReservedForwarding lets every device and link serve its reservations in their order, each as soon as its batch is
 * there. A batch that is not there when its reserved time is past lets later ones go first. A device also executes a
 * later batch that is there and, by its reserved length, ends before the next reservation begins. Where every step
 * takes as long as expected, steps begin at the reserved times. Otherwise reservations are moved to fit the measured
 * times (PPipe §5.4).
 */
export class ReservedForwarding implements Forwarding {
  /**
   * `underWay` is the batch that each resource works on. Resources are numbered as in the booking's table.
   */
  private readonly underWay: Int32Array;
  /**
   * `ready` is how many batches are there and wait for each resource. Where none does, the resource's row
   * need not be searched.
   */
  private readonly ready: Int32Array;
  private readonly isTouched: Uint8Array;
  private touched: Int32Array;
  private touchedCount = 0;
  private readonly up: Uint8Array;
  private readonly path: Path;
  /** `stages` is the number of stages of the pipeline from each pool on. */
  private readonly stages: Int32Array;

  private readonly decisions: Decisions;
  private readonly batches: OpenBatches;
  private readonly journeys: Journeys;
  private readonly durations: Durations;
  private readonly isWanted: (batch: number) => boolean;

  constructor(
    state: ReservationState,
    private readonly booking: GapBooking,
  ) {
    const { devices, links, pools } = state.topology;
    this.decisions = state.decisions;
    this.batches = state.batches;
    this.journeys = state.journeys;
    this.durations = state.durations;
    this.isWanted = state.isWanted;
    const resources = devices.length + links.uplinkCount + links.downlinkCount;
    this.underWay = new Int32Array(resources).fill(NONE);
    this.ready = new Int32Array(resources);
    this.isTouched = new Uint8Array(resources);
    this.touched = new Int32Array(resources);
    this.up = new Uint8Array(devices.length);
    this.stages = stagesFrom(state.topology);
    this.path = new Path(mostStages(pools));
  }

  begin(batch: number): void {
    this.ready[this.batches.device(batch)]! += 1;
    this.touch(this.batches.device(batch));
  }

  started(): void {}

  executed(at: number, batch: number, last: boolean): void {
    const stage = this.journeys.stage[batch] as number;
    const device = this.batches.device(batch);
    this.free(device);
    this.booking.release(device, this.journeys.step(batch, stage), at);
    if (at !== this.journeys.endAt(batch, stage)) this.closeUp(at, device);
    if (last) return;
    this.journeys.leg[batch] = Leg.toSend;
    const next = this.journeys.device(batch, stage + 1);
    if (next === NONE || this.up[next] === 0) this.findWay(at, batch, stage + 1);
    else if (at > this.journeys.endAt(batch, stage)) this.postpone(at, batch, stage + 1);
    this.offerToLinks(at, batch);
  }

  transferred(at: number, batch: number): boolean {
    const stage = (this.journeys.stage[batch] as number) + 1;
    const from = this.batches.device(batch);
    const pool = this.batches.pool(batch);
    const device = this.journeys.device(batch, stage);
    this.journeys.stage[batch] = stage;
    this.journeys.leg[batch] = Leg.toExecute;
    if (device !== NONE) this.endTransfer(at, batch, from, device);
    this.batches.moveTo(batch, pool + 1, device);
    if (device === NONE || this.up[device] === 0) {
      this.forget(at, batch, stage);
      return false;
    }
    const expected =
      this.journeys.sendAt(batch, stage) + this.durations.transferNs(pool, this.batches.size(batch));
    this.ready[device]! += 1;
    if (at !== expected) this.closeUp(at, device);
    this.touch(device);
    return true;
  }

  private endTransfer(at: number, batch: number, from: number, to: number): void {
    this.leaveLink(at, batch, this.booking.uplink(from));
    this.leaveLink(at, batch, this.booking.downlink(to));
  }

  private leaveLink(at: number, batch: number, link: number): void {
    if (this.underWay[link] !== batch) return;
    this.free(link);
    this.booking.table.remove(link, this.journeys.step(batch, this.journeys.stage[batch] as number), at);
  }

  lost(at: number, batch: number): void {
    this.forget(at, batch, this.journeys.stage[batch] as number);
  }

  deviceUp(device: number): void {
    this.up[device] = 1;
  }

  deviceDown(at: number, device: number): number[] {
    this.up[device] = 0;
    const lost: number[] = [];
    const { table } = this.booking;
    for (let i = 0; i < table.count(device); i++) {
      const batch = this.journeys.batchOf(table.owner(device, i));
      if (this.batches.device(batch) === device) lost.push(batch);
    }
    for (const batch of lost) this.forget(at, batch, this.journeys.stage[batch] as number);
    this.ready[device] = 0;
    return lost;
  }

  /** decide starts every step that is due on the resources that have changed. */
  decide(at: number): void {
    for (let i = 0; i < this.touchedCount; i++) {
      const resource = this.touched[i] as number;
      this.isTouched[resource] = 0;
      if (this.underWay[resource] !== NONE) continue;
      if (resource < this.booking.uplinkBase) this.startExecution(at, resource);
      else this.startTransfer(at, resource);
    }
    this.touchedCount = 0;
  }

  private startExecution(at: number, device: number): void {
    const batch = this.nextOn(at, device);
    if (batch === NONE) return;
    this.ready[device]! -= 1;
    if (!this.isWanted(batch)) {
      this.forget(at, batch, this.journeys.stage[batch] as number);
      this.batches.close(batch);
      return;
    }
    this.underWay[device] = batch;
    this.journeys.leg[batch] = Leg.executing;
    this.decisions.push(Decision.execute, batch, device);
  }

  private startTransfer(at: number, link: number): void {
    const batch = this.nextOn(at, link);
    if (batch === NONE) return;
    const from = this.batches.device(batch);
    const to = this.journeys.device(batch, (this.journeys.stage[batch] as number) + 1);
    const uplink = this.booking.uplink(from);
    const downlink = this.booking.downlink(to);
    const other = link === uplink ? downlink : uplink;
    if (this.underWay[other] !== NONE || this.nextOn(at, other) !== batch) return;
    this.ready[uplink]! -= 1;
    this.ready[downlink]! -= 1;
    this.underWay[uplink] = batch;
    this.underWay[downlink] = batch;
    this.journeys.leg[batch] = Leg.sending;
    this.decisions.push(Decision.transfer, batch, from, to);
  }

  /**
   * nextOn is the first batch in a resource's row that is there. Batches that have missed their time are
   * passed over.
   */
  private nextOn(at: number, resource: number): number {
    if (this.ready[resource] === 0) return NONE;
    const { table } = this.booking;
    const count = table.count(resource);
    for (let i = 0; i < count; i++) {
      const step = table.owner(resource, i);
      if (this.isDue(step, resource)) return this.journeys.batchOf(step);
      if (table.start(resource, i) >= at) return this.filling(at, resource, i);
    }
    return NONE;
  }

  /**
   * filling is a batch that is there before its time, and that will be gone before the next reserved batch is
   * expected.
   */
  private filling(at: number, resource: number, next: number): number {
    if (resource >= this.booking.uplinkBase) return NONE;
    const { table } = this.booking;
    for (let i = next + 1; i < table.count(resource); i++) {
      const step = table.owner(resource, i);
      const takes = table.end(resource, i) - table.start(resource, i);
      if (at + takes <= table.start(resource, next) && this.isDue(step, resource))
        return this.journeys.batchOf(step);
    }
    return NONE;
  }

  /** isDue returns whether a step is its batch's next, and lacks nothing but the resource. */
  private isDue(step: number, resource: number): boolean {
    const batch = this.journeys.batchOf(step);
    const isExecution = resource < this.booking.uplinkBase;
    const stage = this.journeys.stage[batch] as number;
    if (this.journeys.leg[batch] !== (isExecution ? Leg.toExecute : Leg.toSend)) return false;
    return this.journeys.stageOf(step) === (isExecution ? stage : stage + 1);
  }

  /** offerToLinks lets a batch that has executed wait for its links; a batch that needs none goes at once. */
  private offerToLinks(at: number, batch: number): void {
    const from = this.batches.device(batch);
    const to = this.journeys.device(batch, (this.journeys.stage[batch] as number) + 1);
    const takes = this.durations.transferNs(this.batches.pool(batch), this.batches.size(batch));
    if (to === NONE || takes === 0) {
      // The batch may have been larger, and have needed links, when they were reserved.
      if (to !== NONE) this.dropLinks(at, batch, (this.journeys.stage[batch] as number) + 1);
      this.journeys.leg[batch] = Leg.sending;
      this.decisions.push(Decision.transfer, batch, from, to);
      return;
    }
    for (const link of this.linksTo(batch, (this.journeys.stage[batch] as number) + 1)) {
      this.ready[link]! += 1;
      this.touch(link);
    }
  }

  /**
   * postpone keeps a late batch on its path and moves its reservations back as far as it must, over those of
   * other batches if need be. The reservations of those other batches are moved when their turn comes. A
   * search for free slots would instead put the batch behind all reservations, and leave its own slots
   * unused.
   */
  private postpone(at: number, batch: number, stage: number): void {
    const stages = this.stages[this.journeys.entry[batch] as number] as number;
    const size = this.batches.size(batch);
    let ready = at;
    for (let k = stage; k < stages; k++) {
      const pool = (this.journeys.entry[batch] as number) + k;
      const takes = this.durations.transferNs(pool - 1, size);
      const device = this.journeys.device(batch, k);
      const send = Math.max(ready, this.journeys.sendAt(batch, k));
      const start = Math.max(send + takes, this.journeys.startAt(batch, k));
      const isLater = start > this.journeys.startAt(batch, k);
      if (takes > 0 && send > this.journeys.sendAt(batch, k)) {
        for (const link of this.linksTo(batch, k)) {
          this.booking.table.remove(link, this.journeys.step(batch, k), at);
          this.booking.table.insert(link, send, send + takes, this.journeys.step(batch, k));
          this.touch(link);
        }
      }
      ready = start + this.durations.executionNs(pool, size);
      this.journeys.move(batch, k, send, start, ready);
      if (!isLater) return;
      this.booking.release(device, this.journeys.step(batch, k), at);
      this.booking.execute(device, start, ready, this.journeys.step(batch, k));
      this.touch(device);
    }
  }

  /** findWay reserves the rest of the path again; where a stage has no device left, the path ends. */
  private findWay(at: number, batch: number, stage: number): void {
    this.dropReservations(at, batch, stage);
    const entry = this.journeys.entry[batch] as number;
    const size = this.batches.size(batch);
    this.path.device[stage - 1] = this.batches.device(batch);
    if (this.booking.probe(this.path, entry, size, stage, at)) {
      this.booking.reserve(this.path, entry, size, stage, this.journeys.step(batch, 0));
      this.journeys.follow(batch, this.path, stage);
    } else this.journeys.end(batch, stage);
  }

  private forget(at: number, batch: number, stage: number): void {
    const device = this.batches.device(batch);
    if (device !== NONE && this.underWay[device] === batch) this.free(device);
    if (device !== NONE) {
      this.booking.release(device, this.journeys.step(batch, stage), at);
      this.touch(device);
    }
    this.dropReservations(at, batch, stage + 1);
  }

  /**
   * dropReservations removes the reservations of a stage and all later ones, with those of the links to them.
   */
  private dropReservations(at: number, batch: number, stage: number): void {
    const stages = this.stages[this.journeys.entry[batch] as number] as number;
    for (let k = stage; k < stages; k++) {
      const device = this.journeys.device(batch, k);
      if (device === NONE) return;
      this.booking.release(device, this.journeys.step(batch, k), at);
      this.touch(device);
      this.dropLinks(at, batch, k);
    }
  }

  private dropLinks(at: number, batch: number, stage: number): void {
    for (const link of this.linksTo(batch, stage)) {
      this.booking.table.remove(link, this.journeys.step(batch, stage), at);
      this.touch(link);
    }
  }

  private linksTo(batch: number, stage: number): [number, number] {
    const uplink = this.booking.uplink(this.journeys.device(batch, stage - 1));
    return [uplink, this.booking.downlink(this.journeys.device(batch, stage))];
  }

  private closeUp(at: number, device: number): void {
    const working = this.underWay[device] as number;
    const step =
      working === NONE ? NONE : this.journeys.step(working, this.journeys.stage[working] as number);
    this.booking.closeUp(device, at, step, (other) => this.arrivalAt(other, at));
  }

  /** arrivalAt is when a step's batch will be where it executes: now, where it is there already. */
  private arrivalAt(step: number, at: number): number {
    const batch = this.journeys.batchOf(step);
    const stage = this.journeys.stageOf(step);
    if (this.journeys.stage[batch] === stage) return at;
    const pool = (this.journeys.entry[batch] as number) + stage - 1;
    return this.journeys.sendAt(batch, stage) + this.durations.transferNs(pool, this.batches.size(batch));
  }

  private free(resource: number): void {
    this.underWay[resource] = NONE;
    this.touch(resource);
  }

  private touch(resource: number): void {
    if (this.isTouched[resource] === 1) return;
    this.isTouched[resource] = 1;
    if (this.touchedCount === this.touched.length)
      this.touched = grownColumn(this.touched, 2 * this.touchedCount);
    this.touched[this.touchedCount++] = resource;
  }
}
