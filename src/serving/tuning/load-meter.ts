/** MeterReading holds, for each set of devices, sums since the run began. Times are nanoseconds. */
export interface MeterReading {
  /** The tasks that were executed. */
  readonly tasks: Float64Array;
  /** The time that devices were executing; a batch counts when it ends. */
  readonly busyNs: Float64Array;
  /** The time that devices took work: the sum over devices. */
  readonly readyNs: Float64Array;
  /** The tasks that were there, waiting or executing, times how long they were. */
  readonly insideNs: Float64Array;
}

/** LoadMeter adds up what tuners look at besides arrivals. Each event costs constant time. */
export class LoadMeter {
  private readonly tasks: Float64Array;
  private readonly busyNs: Float64Array;
  private readonly readyNs: Float64Array;
  private readonly insideNs: Float64Array;
  /** Until when each set's times are added up. */
  private readonly upTo: Float64Array;
  private readonly readyNow: Int32Array;
  private readonly insideNow: Int32Array;

  constructor(private readonly sets: number) {
    this.tasks = new Float64Array(sets);
    this.busyNs = new Float64Array(sets);
    this.readyNs = new Float64Array(sets);
    this.insideNs = new Float64Array(sets);
    this.upTo = new Float64Array(sets);
    this.readyNow = new Int32Array(sets);
    this.insideNow = new Int32Array(sets);
  }

  /** came reports that tasks came to a set. */
  came(at: number, set: number, tasks: number): void {
    this.addUp(at, set);
    this.insideNow[set]! += tasks;
  }

  /** left reports that tasks left a set. */
  left(at: number, set: number, tasks: number): void {
    this.addUp(at, set);
    this.insideNow[set]! -= tasks;
  }

  /**
   * leftSince reports tasks that left a set where nobody knows when: they count as inside until the last time that was
   * reported of the set.
   */
  leftSince(set: number, tasks: number): void {
    this.insideNow[set]! -= tasks;
  }

  executed(set: number, tasks: number, tookNs: number): void {
    this.tasks[set]! += tasks;
    this.busyNs[set]! += tookNs;
  }

  /** ready reports that devices of a set take work, or no longer do, for a negative number. */
  ready(at: number, set: number, devices: number): void {
    this.addUp(at, set);
    this.readyNow[set]! += devices;
  }

  /** readyIn is the number of devices of a set that take work now. */
  readyIn(set: number): number {
    return this.readyNow[set] as number;
  }

  /** read gives the sums until now. They are copies. */
  read(at: number): MeterReading {
    for (let set = 0; set < this.sets; set++) this.addUp(at, set);
    const { tasks, busyNs, readyNs, insideNs } = this;
    return {
      tasks: tasks.slice(),
      busyNs: busyNs.slice(),
      readyNs: readyNs.slice(),
      insideNs: insideNs.slice(),
    };
  }

  /** addUp adds up until a time. A time before the last one counts as the last one. */
  private addUp(at: number, set: number): void {
    const ns = Math.max(0, at - (this.upTo[set] as number));
    this.upTo[set]! += ns;
    this.readyNs[set]! += ns * (this.readyNow[set] as number);
    this.insideNs[set]! += ns * (this.insideNow[set] as number);
  }
}
