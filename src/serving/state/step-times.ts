import { blendLatencies } from '../topology.js';
import type { DeviceClasses } from './device-classes.js';

/** A single measurement counts as at least LEAST_RATIO and at most MOST_RATIO times the planned time. */
const LEAST_RATIO = 0.25;
const MOST_RATIO = 16;
/**
 * Learning is by which weight measured times count, and how many deviations are added; either is absent where it does
 * not happen.
 */
export interface Learning {
  readonly weight?: number;
  readonly deviations?: number;
}

/**
 * StepTimes holds the planned and the expected times of one kind of step (execution or transfer) by row, which is a pool or
 * a class of its devices, and batch size, in nanoseconds.
 */
export class StepTimes {
  private readonly planned: Float64Array;
  private readonly expected: Float64Array;
  /**
   * `ratio` is a moving average, per pool, of measured over planned time; `deviation` is that of the distance
   * of single measurements from `ratio`.
   */
  private readonly ratio: Float64Array;
  private readonly deviation: Float64Array;
  /**
   * The settings of learning: whether anything is learnt, by which weight, and whether expected times are
   * whole.
   */
  private readonly learns: boolean;
  private readonly weight: number;
  private readonly isWhole: boolean;

  constructor(
    private readonly rowOf: Int32Array,
    /** `planned` holds the planned times of each pool; a batch of b is at index b − 1. */
    planned: readonly Float64Array[],
    { weight, deviations }: Learning,
  ) {
    this.learns = weight !== undefined;
    this.isWhole = deviations !== undefined;
    this.weight = weight ?? 0;
    const pools = planned.length;
    this.planned = new Float64Array((rowOf[pools] as number) + 1);
    planned.forEach((row, pool) => {
      this.planned.set(row, (rowOf[pool] as number) + 1);
    });
    this.expected = this.planned.slice();
    this.ratio = new Float64Array(pools).fill(1);
    this.deviation = new Float64Array(pools);
  }

  /** ns is the expected time of a step. */
  ns(pool: number, size: number): number {
    return this.expected[(this.rowOf[pool] as number) + size] as number;
  }

  /**
   * observe learns from one step.
   * @returns whether the mean or its spread may have changed
   */
  observe(pool: number, plannedNs: number, tookNs: number): boolean {
    if (!this.learns) return false;
    const ratio = this.ratio[pool] as number;
    const deviation = this.deviation[pool] as number;
    if (plannedNs === 0 || (tookNs === plannedNs && ratio === 1 && deviation === 0)) return false;
    const { weight } = this;
    const error = Math.min(Math.max(tookNs / plannedNs, LEAST_RATIO), MOST_RATIO) - ratio;
    this.ratio[pool] = ratio + weight * error;
    this.deviation[pool] = deviation + weight * (Math.abs(error) - deviation);
    return true;
  }

  relax(pool: number): void {
    if (!this.learns) return;
    const { weight } = this;
    this.ratio[pool]! += weight * Math.min(0, 1 - (this.ratio[pool] as number));
    this.deviation[pool]! *= 1 - weight;
  }

  plannedNs(pool: number, size: number): number {
    return this.planned[(this.rowOf[pool] as number) + size] as number;
  }

  /** meanNs is the mean of the measured times of a step, without added deviations. */
  meanNs(pool: number, size: number): number {
    return (this.ratio[pool] as number) * this.plannedNs(pool, size);
  }

  /** deviationNs is one mean deviation of a step. */
  deviationNs(pool: number, size: number): number {
    return (this.deviation[pool] as number) * this.plannedNs(pool, size);
  }

  /** blend expects of a pool what its classes of devices are expected to take, by how many devices of each are up. */
  blend(pool: number, classes: DeviceClasses): void {
    const rowNs = (row: number) =>
      this.expected.subarray((this.rowOf[row] as number) + 1, (this.rowOf[row + 1] as number) + 1);
    const into = rowNs(pool);
    blendLatencies(
      into,
      classes.rowsOf(pool).map((row) => ({ devices: classes.devicesUp(row), latencyNs: rowNs(row) })),
    );
    if (this.isWhole || !this.learns)
      into.forEach((ns, i) => {
        into[i] = Math.round(ns);
      });
  }

  /** expect sets the expected times of a pool to the mean plus this many deviations. */
  expect(pool: number, deviations: number): void {
    if (!this.learns) return;
    const factor = (this.ratio[pool] as number) + deviations * (this.deviation[pool] as number);
    const end = this.rowOf[pool + 1] as number;
    for (let i = (this.rowOf[pool] as number) + 1; i <= end; i++) {
      const plannedNs = this.planned[i] as number;
      // A step that is planned to take time is never expected to take none: a transfer of no time reserves no
      // link, and would then wait for one.
      this.expected[i] = this.isWhole
        ? Math.max(Math.min(1, plannedNs), Math.round(factor * plannedNs))
        : factor * plannedNs;
    }
  }
}
