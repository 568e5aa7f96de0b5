import { grownColumn, NONE as SHARED_NONE } from '../../collections/index.js';

const NONE = SHARED_NONE;

/**
 * Path is a batch's way through its pipeline as a probe finds it: for each stage a device, and when the batch
 * is sent, starts and ends there. Times are in nanoseconds.
 */
export class Path {
  stages = 0;
  readonly device: Int32Array;
  /** `sendAt` is when its tensors are sent to each stage; the first stage has no such time. */
  readonly sendAt: Float64Array;
  readonly startAt: Float64Array;
  readonly endAt: Float64Array;
  /** `waitNs` is the time that the batch waits for devices and links, over all stages. */
  waitNs = 0;

  constructor(mostStages: number) {
    this.device = new Int32Array(mostStages);
    this.sendAt = new Float64Array(mostStages);
    this.startAt = new Float64Array(mostStages);
    this.endAt = new Float64Array(mostStages);
  }

  /** finish is when the last stage ends. */
  get finish(): number {
    return this.endAt[this.stages - 1] as number;
  }
}

/** Leg says where a batch is on its path. */
export const Leg = { toExecute: 0, executing: 1, toSend: 2, sending: 3 } as const;

/** Journeys holds the paths of the batches under way, as columns by batch number. */
export class Journeys {
  /**
   * `shift` gives a batch room for a power of two of steps, so that a step's number is taken apart without a
   * division.
   */
  private readonly shift: number;
  private devices = new Int32Array(0);
  private sends = new Float64Array(0);
  private starts = new Float64Array(0);
  private ends = new Float64Array(0);
  entry = new Int32Array(0);
  stage = new Int32Array(0);
  leg = new Uint8Array(0);

  constructor(mostStages: number) {
    this.shift = Math.ceil(Math.log2(mostStages));
  }

  /** step is the number of a batch's step: its execution at the stage, or its transfer to the stage. */
  step(batch: number, stage: number): number {
    return (batch << this.shift) + stage;
  }

  batchOf(step: number): number {
    return step >> this.shift;
  }

  stageOf(step: number): number {
    return step & ((1 << this.shift) - 1);
  }

  begin(batch: number, entry: number, path: Path): void {
    if (batch >= this.entry.length) this.grow(Math.max(64, 2 * batch));
    this.entry[batch] = entry;
    this.stage[batch] = 0;
    this.leg[batch] = Leg.toExecute;
    this.follow(batch, path, 0);
  }

  /** follow takes over a path from a stage on. */
  follow(batch: number, path: Path, from: number): void {
    const first = this.step(batch, 0);
    for (let k = from; k < path.stages; k++) {
      this.devices[first + k] = path.device[k] as number;
      this.sends[first + k] = path.sendAt[k] as number;
      this.starts[first + k] = path.startAt[k] as number;
      this.ends[first + k] = path.endAt[k] as number;
    }
  }

  /** move changes the times of one stage. */
  move(batch: number, stage: number, sendAt: number, startAt: number, endAt: number): void {
    const at = this.step(batch, stage);
    this.sends[at] = sendAt;
    this.starts[at] = startAt;
    this.ends[at] = endAt;
  }

  /** end records that the batch has no path from this stage on. */
  end(batch: number, stage: number): void {
    this.devices[this.step(batch, stage)] = NONE;
  }

  device(batch: number, stage: number): number {
    return this.devices[this.step(batch, stage)] as number;
  }

  sendAt(batch: number, stage: number): number {
    return this.sends[this.step(batch, stage)] as number;
  }

  startAt(batch: number, stage: number): number {
    return this.starts[this.step(batch, stage)] as number;
  }

  endAt(batch: number, stage: number): number {
    return this.ends[this.step(batch, stage)] as number;
  }

  private grow(capacity: number): void {
    this.devices = grownColumn(this.devices, capacity << this.shift);
    this.sends = grownColumn(this.sends, capacity << this.shift);
    this.starts = grownColumn(this.starts, capacity << this.shift);
    this.ends = grownColumn(this.ends, capacity << this.shift);
    this.entry = grownColumn(this.entry, capacity);
    this.stage = grownColumn(this.stage, capacity);
    this.leg = grownColumn(this.leg, capacity);
  }
}
