import { largestOf } from '../../collections/index.js';
import { OpenBatches } from '../state/index.js';
import type { Topology } from '../topology.js';
import { OpenWork } from './open-work.js';
import type { Task } from './work.js';

/**
 * WorkNumbers answers what a driver asks of the numbers of requests, tasks and batches. Every core of workflows has
 * these answers in common: it extends this class, and changes what `open` and `batches` hold.
 */
export abstract class WorkNumbers {
  protected readonly open = new OpenWork();
  protected readonly batches: OpenBatches;

  constructor(protected readonly topology: Topology) {
    this.batches = new OpenBatches(largestOf(topology.pools.map(({ batch }) => batch)));
  }

  batchSize(batch: number): number {
    return this.batches.size(batch);
  }

  batchTask(batch: number, i: number): number {
    return this.batches.task(batch, i);
  }

  batchPool(batch: number): number {
    return this.batches.pool(batch);
  }

  batchDevice(batch: number): number {
    return this.batches.device(batch);
  }

  /** batchEdge is 0: batches of workflows are not sent on. */
  batchEdge(): number {
    return 0;
  }

  batchRows(batch: number): number {
    let rows = 0;
    for (const task of this.tasksOf(batch)) rows += task.rows;
    return rows;
  }

  requestOf(task: number): number {
    return this.open.task(task).request.number;
  }

  rowOf(): number {
    return 0;
  }

  taskOf(request: number): number {
    return this.bodyOf(request);
  }

  bodyOf(request: number): number {
    return this.open.request(request).body.number;
  }

  outputBytes(task: number): number {
    return this.open.task(task).bytes;
  }

  takersOf(task: number): number {
    return this.open.task(task).readers.size;
  }

  /** tasksOf lists the tasks of a batch. */
  protected tasksOf(batch: number): Task[] {
    const tasks: Task[] = [];
    for (let i = 0; i < this.batches.size(batch); i++)
      tasks.push(this.open.task(this.batches.task(batch, i)));
    return tasks;
  }
}
