import { NONE } from '../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../decisions.js';
import type { OpenBatches } from '../state/index.js';
import type { Agenda } from './agenda.js';
import type { GivingUp } from './giving-up.js';
import type { PlannedWork } from './planned-work.js';
import type { Queues } from './queues.js';
import type { RecentWaits } from './recent-waits.js';
import type { Residency } from './residency.js';
import type { Placeable } from './table.js';
import type { Task } from './work.js';

const Decision = SharedDecision;

/** ExecutionsOptions holds the parts of Executions. */
export interface ExecutionsOptions {
  readonly decisions: Decisions;
  readonly batches: OpenBatches;
  readonly agenda: Agenda;
  readonly queues: Queues;
  readonly work: PlannedWork;
  readonly residency: Residency;
  readonly placeable: Placeable;
  readonly givingUp: GivingUp;
  readonly waits: RecentWaits;
}

/** Executions lets devices execute batches, one at a time each. */
export class Executions {
  /** The batch that each device executes, NONE where none. */
  private readonly running: Int32Array;

  constructor(
    devices: number,
    private readonly options: ExecutionsOptions,
  ) {
    this.running = new Int32Array(devices).fill(NONE);
  }

  /** on is the batch that a device executes, NONE where none. */
  on(device: number): number {
    return this.running[device] as number;
  }

  /** begin lets an idle device execute its next batch, without the requests for which it is too late. */
  begin(at: number, device: number): void {
    const { queues, work, placeable, givingUp } = this.options;
    // A batch without the tasks that were given up has room for others.
    for (let tasks = queues.nextBatch(device); tasks.length > 0; tasks = queues.nextBatch(device)) {
      const { component } = tasks[0] as Task;
      const rows = tasks.reduce((sum, task) => sum + task.rows, 0);
      const endNs = at + work.executionNs(device, component, rows);
      const pool = placeable.poolOf(device, component);
      if (givingUp.drops(at, tasks, { endNs, pool })) continue;
      this.execute(at, tasks, { device, component, rows, endNs });
      return;
    }
  }

  /** closed closes a batch whose tasks a device has executed or lost. */
  closed(batch: number, tasks: readonly Task[]): void {
    const { batches, work, agenda } = this.options;
    const device = batches.device(batch);
    for (const { request } of tasks) request.inBatches -= 1;
    this.running[device] = NONE;
    work.ended(device);
    batches.close(batch);
    agenda.touched.add(device);
  }

  private execute(
    at: number,
    tasks: readonly Task[],
    {
      device,
      component,
      rows,
      endNs,
    }: {
      readonly device: number;
      readonly component: number;
      readonly rows: number;
      readonly endNs: number;
    },
  ): void {
    const { queues, batches, work, residency, placeable, decisions, waits } = this.options;
    const batch = batches.open(placeable.poolOf(device, component), device);
    for (const task of tasks) {
      queues.leave(task);
      batches.add(batch, task.number);
      waits.over(at, task);
      task.state = 'running';
      task.endNs = endNs;
      task.request.inBatches += 1;
    }
    this.running[device] = batch;
    residency.used(at, device, component);
    work.begun(device, { component, rows, untilNs: endNs });
    decisions.push(Decision.execute, batch, device);
  }
}
