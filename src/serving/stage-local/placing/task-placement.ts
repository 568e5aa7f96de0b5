import type { QueueSet } from './queue-set.js';

/**
 * TaskPlacement says where tasks wait and which device serves them next (PlacementRule). Queues are numbered, and
 * those that a change of devices concerns are marked in `touched`.
 */
export interface TaskPlacement {
  /** `touched` holds the queues that are to be looked at again. */
  readonly touched: QueueSet;
  /** queueOf is the queue in which a task stands, as `begin` or `goOn` decided last. */
  queueOf(task: number): number;
  /** queueBefore is the queue before a pool that is not the entry of its pipeline. */
  queueBefore(pool: number): number;
  /** waitingBefore counts the tasks that wait for a pool. */
  waitingBefore(pool: number): number;
  /**
   * placeOf is the pool that all tasks of a queue wait for, NONE where there are several. A drop from the
   * queue is said to happen there.
   */
  placeOf(queue: number): number;
  /** poolOf is the pool for which a device takes a queue's next batch. */
  poolOf(queue: number, device: number): number;
  /**
   * changed reports that the tasks or devices for a queue's next batches have changed, other than by a task at
   * its end.
   */
  changed(queue: number): void;
  /**
   * isTooLong returns whether a task that came now, behind `ahead` others that are in no queue yet, would
   * surely be too late.
   */
  isTooLong(at: number, model: number, latestEnd: number, ahead: number): boolean;

  /** begin places a task at the beginning of a pipeline. */
  begin(at: number, task: number): void;
  /**
   * goOn places a task at a pool. Where the task cannot be served there but can be elsewhere, it begins
   * again.
   */
  goOn(at: number, task: number, pool: number): void;
  /** branched reports that a task has come to be beside another of its row, in the same DAG. */
  branched(task: number): void;
  /** ended reports that a task that began has its outcome. */
  ended(task: number): void;

  /** device is the device that takes a queue's next batch, NONE where none does now. */
  device(queue: number): number;
  /**
   * freeAt is the time at which a device is expected to have done everything that it was handed. It is in the
   * past where the device is idle.
   */
  freeAt(device: number): number;
  /** isUp returns whether the tasks in a queue could be served by devices that are up. */
  isUp(queue: number): boolean;
  /** lastUseAt is the time at which a pool last had work; where its devices are of several classes, a device. */
  lastUseAt(pool: number, device: number): number;

  /** handed reports that the batch was handed to its device. */
  handed(at: number, batch: number): void;
  started(at: number, batch: number): void;
  executed(at: number, batch: number, endedAt: number): void;
  failed(at: number, batch: number): void;

  isDeviceUp(device: number): boolean;
  deviceUp(at: number, device: number): void;
  /** running is the batch that runs on the device, NONE where none does. */
  running(device: number): number;
  /**
   * deviceDown reports that a device is gone.
   * @returns the batches that were on it, in order
   */
  deviceDown(device: number): readonly number[];
  /**
   * retire takes a device out of its pools: it takes no batch any more, but ends the one that it runs.
   * @returns the batches that it was handed and has not begun, in order
   */
  retire(device: number): readonly number[];
  /**
   * left lists the queues whose tasks must be placed again after a device is down or retired: none while each of its pools has
   * another that can serve them.
   */
  left(device: number): readonly number[];
  /** joined lists the queues whose tasks must be placed again now that a device has come up. */
  joined(device: number): readonly number[];
  /** devicesUp counts the devices of a pool that are up. */
  devicesUp(pool: number): number;
}
