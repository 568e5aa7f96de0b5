import type { Topology } from '../../src/serving/index.js';
import type { SimulationObserver, SimulationView } from '../../src/simulator/index.js';
import { plannedNs } from '../serving/virtual-driver.js';

/**
 * OutsideObserver watches a run from outside and throws at the first broken rule: a device with two batches;
 * a link with two transfers; a batch that is larger than planned or out of order; a step that does not take
 * what was planned; or an outcome that comes twice, never, or on the wrong side of the deadline. It shares
 * nothing with the driver but what it is told.
 */
export class OutsideObserver implements SimulationObserver {
  private view: SimulationView | undefined;
  private readonly deviceFree: number[];
  private readonly upFree: number[];
  private readonly downFree: number[];
  private readonly openOf = new Map<number, { at: number; model: number }>();
  private readonly onDevice = new Map<number, number>();
  private now = 0;
  arrivals = 0;
  readonly outcomes = [0, 0, 0, 0];
  mostOpen = 0;
  greatestRequest = 0;
  batches = 0;
  transfers = 0;

  /**
   * @param asPlanned whether executions take the planned time
   */
  constructor(
    private readonly topology: Topology,
    private readonly asPlanned = true,
  ) {
    this.deviceFree = topology.devices.map(() => 0);
    this.upFree = Array.from({ length: topology.links.uplinkCount }, () => 0);
    this.downFree = Array.from({ length: topology.links.downlinkCount }, () => 0);
  }

  begun(view: SimulationView): void {
    this.view = view;
  }

  arrived(atNs: number, model: number, request: number): void {
    this.forward(atNs);
    if (this.openOf.has(request)) throw new Error(`request number ${request} is given while in use`);
    this.openOf.set(request, { at: atNs, model });
    this.arrivals += 1;
    this.mostOpen = Math.max(this.mostOpen, this.openOf.size);
    this.greatestRequest = Math.max(this.greatestRequest, request);
  }

  ended(atNs: number, model: number, request: number, arrivedAtNs: number, outcome: number): void {
    this.forward(atNs);
    const open = this.openOf.get(request);
    if (open === undefined) throw new Error(`request number ${request} ended twice or never came`);
    if (open.at !== arrivedAtNs || open.model !== model) throw new Error('another request ended than came');
    const late = atNs > arrivedAtNs + this.topology.models[model]!.sloNs;
    if (outcome < 2 && late !== (outcome === 1)) throw new Error(`outcome ${outcome} at ${atNs}`);
    this.openOf.delete(request);
    this.outcomes[outcome]! += 1;
  }

  started(
    batch: number,
    pool: number,
    device: number,
    size: number,
    handedNs: number,
    startNs: number,
  ): void {
    this.forward(startNs);
    if (this.onDevice.has(device)) throw new Error(`two batches on device ${device}`);
    if (this.topology.devices[device]!.pool !== pool) throw new Error('a batch on a device of another pool');
    if (size < 1 || size > this.topology.pools[pool]!.batch) throw new Error(`a batch of ${size}`);
    if (startNs < handedNs || startNs < this.deviceFree[device]!) throw new Error('a batch began too early');
    this.requestsOf(batch, size);
    this.onDevice.set(device, batch);
  }

  executed(
    batch: number,
    pool: number,
    device: number,
    size: number,
    _handedNs: number,
    startNs: number,
    endNs: number,
  ): void {
    this.forward(endNs);
    if (this.onDevice.get(device) !== batch) throw new Error('a batch ended that had not begun');
    this.onDevice.delete(device);
    this.deviceFree[device] = endNs;
    this.batches += 1;
    const took = endNs - startNs;
    if (this.asPlanned && took !== plannedNs(this.topology, { pool, size, device }))
      throw new Error(`executing ${size} took ${took}`);
  }

  transferred(
    batch: number,
    pool: number,
    fromDevice: number,
    toDevice: number,
    size: number,
    handedNs: number,
    startNs: number,
    endNs: number,
  ): void {
    this.forward(endNs);
    const uplink = this.topology.links.uplinkOf[fromDevice]!;
    if (startNs < handedNs || (startNs < endNs && startNs < this.upFree[uplink]!))
      throw new Error(`two transfers on uplink ${uplink}`);
    if (startNs < endNs) this.upFree[uplink] = endNs;
    if (toDevice >= 0 && startNs < endNs) {
      const downlink = this.topology.links.downlinkOf[toDevice]!;
      if (startNs < this.downFree[downlink]!) throw new Error(`two transfers on downlink ${downlink}`);
      this.downFree[downlink] = endNs;
    }
    if (endNs - startNs !== this.topology.pools[pool]!.transferNs[size - 1])
      throw new Error('a transfer took long');
    this.requestsOf(batch, size);
    this.transfers += 1;
  }

  /** close checks that every request that came has an outcome. */
  close(): void {
    if (this.openOf.size > 0) throw new Error(`${this.openOf.size} requests never ended`);
    if (this.outcomes.reduce((a, b) => a + b) !== this.arrivals)
      throw new Error('outcomes and arrivals differ');
    if (this.onDevice.size > 0) throw new Error('a batch is still on a device');
  }

  private requestsOf(batch: number, size: number): void {
    const { core, requestOf } = this.view!;
    if (core.batchSize(batch) !== size) throw new Error('the size told is not the batch’s');
    const tasks = Array.from({ length: size }, (_, i) => core.batchTask(batch, i));
    if (new Set(tasks).size !== size) throw new Error('a task is twice in a batch');
    for (const task of tasks) requestOf(task);
  }

  private forward(at: number): void {
    if (at < this.now || !Number.isInteger(at)) throw new Error(`time goes from ${this.now} to ${at}`);
    this.now = at;
  }
}
