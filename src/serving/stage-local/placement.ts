/**
 * Where tasks wait and which device serves them next: the placement of a StageLocalPolicy. Queues are numbered; those that a
 * change of devices concerns are marked in `touched`.
 */
export interface Placement {
  /** Per queue, 1 where it is to be looked at again. */
  readonly touched: Uint8Array;
  /** The queue in which a task stands, by what `begin` or `goOn` said last. */
  queueOf(task: number): number;
  /** The queue before a pool that is not its pipeline's first. */
  queueBefore(pool: number): number;
  /** The pool that all in a queue wait for, NONE where it is not one: where drops from the queue are said to happen. */
  placeOf(queue: number): number;
  /** The tasks or devices that a queue's next batches are made of have changed, other than by a task at its end. */
  changed(queue: number): void;
  /** Whether a task that came now, behind `ahead` others that are in no queue yet, would surely be too late. */
  isTooLong(at: number, model: number, latestEnd: number, ahead: number): boolean;

  /** A task begins its way. */
  begin(at: number, task: number): void;
  /** A task goes on to a pool; where it cannot be served there, and elsewhere can, it begins again. */
  goOn(at: number, task: number, pool: number): void;
  /** A task that began has its outcome. */
  ended(task: number): void;

  /** The device that takes a queue's next batch; NONE where none does now. */
  device(queue: number): number;
  /** When a device has done all that it was handed; in the past where it is idle. */
  freeAt(device: number): number;
  /** Whether what stands in a queue could be served by devices that are up. */
  isUp(queue: number): boolean;
  /** When a pool last had work. */
  lastUseAt(pool: number): number;

  /** The device that the batch is on is handed it. */
  handed(at: number, batch: number): void;
  started(at: number, batch: number): void;
  executed(at: number, batch: number, endedAt: number): void;
  failed(at: number, batch: number): void;

  isDeviceUp(device: number): boolean;
  deviceUp(at: number, device: number): void;
  /** The batch that runs on the device, NONE where none does. */
  running(device: number): number;
  /** @returns the batches that were on the device, in order */
  deviceDown(device: number): readonly number[];
  /** The queues whose tasks are to go on anew now that a pool has lost a device: all its devices are gone. */
  broken(pool: number): readonly number[];
}
