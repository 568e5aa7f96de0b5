/** Forwarding takes dispatched batches along their paths. */
export interface Forwarding {
  /** begin reports that a batch was dispatched and its path reserved. */
  begin(batch: number): void;
  started(at: number, batch: number): void;
  /**
   * executed reports that a batch has executed.
   * @param last whether that was its last stage
   */
  executed(at: number, batch: number, last: boolean): void;
  /**
   * transferred reports that a batch is with the next pool.
   * @returns false where its next device is gone: the forwarding has then forgotten the batch
   */
  transferred(at: number, batch: number): boolean;
  /** lost forgets a batch that gave no results on its device. */
  lost(at: number, batch: number): void;
  /**
   * deviceDown reports that a device is gone, and forgets the batches on it.
   * @returns these batches; the leg of those that it ran is `executing`
   */
  deviceDown(at: number, device: number): number[];
  deviceUp(device: number): void;
  decide(at: number): void;
}
