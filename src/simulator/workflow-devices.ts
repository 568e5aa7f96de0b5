import { NONE as SHARED_NONE } from '../collections/index.js';
import { brokenPromise, type Topology, type WorkflowCore, type WorkflowTable } from '../serving/index.js';
import type { EventQueue } from './events.js';
import type { Watchers } from './watchers.js';
import { WorkflowEvent as SharedWorkflowEvent } from './workflow-events.js';

const NONE = SHARED_NONE;
const WorkflowEvent = SharedWorkflowEvent;

// The errors are made outside the methods of the loop, as in virtual-driver.ts, to keep it fast.
function refusedSecond(device: number, what: string): Error {
  return brokenPromise(`device ${device} is given a second ${what}`);
}

function refusedRows(rows: number, pool: number): Error {
  return brokenPromise(`a batch has ${rows} rows, more than pool ${pool} executes`);
}

/** WorkflowDevicesOptions holds the parts of WorkflowDevices. */
export interface WorkflowDevicesOptions {
  readonly topology: Topology;
  readonly table: WorkflowTable;
  readonly core: WorkflowCore;
  readonly events: EventQueue;
  readonly watchers: Watchers;
}

/**
 * WorkflowDevices lets devices execute and load. A device executes one batch and loads one component at a time. The
 * disk of a server gives one component at a time.
 */
export class WorkflowDevices {
  private readonly running: Int32Array;
  private readonly startedAt: Float64Array;
  private readonly endsAt: Float64Array;
  private readonly loading: Int32Array;
  private readonly loadedAt: Float64Array;
  private readonly diskFreeAt: Float64Array;
  /** How many loads have begun. */
  loads = 0;

  constructor(private readonly options: WorkflowDevicesOptions) {
    const count = options.topology.devices.length;
    this.running = new Int32Array(count).fill(NONE);
    this.startedAt = new Float64Array(count);
    this.endsAt = new Float64Array(count);
    this.loading = new Int32Array(count).fill(NONE);
    this.loadedAt = new Float64Array(count);
    this.diskFreeAt = new Float64Array(options.table.hosts.length);
  }

  /** execute lets a device begin a batch, of which the driver tells the core. */
  execute(at: number, batch: number, device: number): void {
    const { core, topology, events, watchers } = this.options;
    if (this.running[device] !== NONE) throw refusedSecond(device, 'batch');
    const pool = core.batchPool(batch);
    const rows = core.batchRows(batch);
    const tookNs = topology.pools[pool]?.latencyNs[rows - 1];
    if (tookNs === undefined) throw refusedRows(rows, pool);
    this.running[device] = batch;
    this.startedAt[device] = at;
    this.endsAt[device] = at + tookNs;
    events.schedule(at + tookNs, WorkflowEvent.executionEnds, device);
    watchers.started(batch, pool, device, rows, at, at);
  }

  /** executed gives the batch whose execution has ended on a device, NONE where it was lost. */
  executed(at: number, device: number): number {
    const batch = this.running[device] as number;
    if (batch === NONE || this.endsAt[device] !== at) return NONE;
    this.running[device] = NONE;
    return batch;
  }

  /** startedNs is when the last batch of a device began. */
  startedNs(device: number): number {
    return this.startedAt[device] as number;
  }

  /** load lets a device begin to load a component. */
  load(
    at: number,
    device: number,
    { pool, fromDisk }: { readonly pool: number; readonly fromDisk: boolean },
  ) {
    const { table, events, watchers } = this.options;
    const { loadNs, diskNs } = table.pools[pool] as WorkflowTable['pools'][number];
    const { host } = table.devices[device] as WorkflowTable['devices'][number];
    if (this.loading[device] !== NONE) throw refusedSecond(device, 'load');
    this.loading[device] = pool;
    this.loads += 1;
    let readyAt = at;
    if (fromDisk) {
      readyAt = Math.max(at, this.diskFreeAt[host] as number) + diskNs;
      this.diskFreeAt[host] = readyAt;
    }
    watchers.loadBegun(at, device, pool);
    this.loadedAt[device] = readyAt + loadNs;
    events.schedule(readyAt + loadNs, WorkflowEvent.loadEnds, device);
  }

  /** loaded gives the pool whose component a device has loaded, NONE where the load was lost. */
  loaded(at: number, device: number): number {
    const pool = this.loading[device] as number;
    if (pool === NONE || this.loadedAt[device] !== at) return NONE;
    this.loading[device] = NONE;
    return pool;
  }

  /** lose lets what a device executes and loads be no more. */
  lose(device: number): void {
    this.running[device] = NONE;
    this.loading[device] = NONE;
  }
}
