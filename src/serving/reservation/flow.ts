/** Takes dispatched batches along their paths. */
export interface Flow {
  /** A batch was dispatched, its path reserved. */
  begin(batch: number): void;
  started(at: number, batch: number): void;
  /** @param last whether that was its last stage */
  executed(at: number, batch: number, last: boolean): void;
  /** @returns false where its next device is gone: it is forgotten here */
  transferred(at: number, batch: number): boolean;
  /** The batch came to nothing on its device: it is forgotten here. */
  lost(at: number, batch: number): void;
  /** @returns the batches that were on the device, forgotten here; the leg of those that it ran is `executing` */
  deviceDown(at: number, device: number): number[];
  deviceUp(device: number): void;
  decide(at: number): void;
}
