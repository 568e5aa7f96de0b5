import { monotonicNs } from '../execution/index.js';
import type { Profile } from '../formats/index.js';

/** This much work may be lost; it is long compared with the time that a checkpoint takes. */
const INTERVAL_NS = 5e9;

/** Checkpoints hands out the profile while it is measured: after the first measurement, then at most every 5 s. */
export class Checkpoints {
  /** The time of the last checkpoint; undefined before the first. */
  private keptNs: number | undefined;
  /** unkept says whether something was measured since. */
  private unkept = false;

  constructor(
    private readonly onCheckpoint: ((profile: Profile) => Promise<void>) | undefined,
    private readonly profile: () => Profile,
  ) {}

  /** Notes that something was measured. */
  measured(): void {
    this.unkept = true;
  }

  /** Hands the profile out where something was measured since, and nothing was kept for 5 s. */
  async keepIfDue(): Promise<void> {
    if (this.keptNs === undefined || monotonicNs() - this.keptNs >= INTERVAL_NS) await this.keep();
  }

  /** Keeps the last figures before an error ends the run. That error is the one to report, whatever happens here. */
  async keepLast(): Promise<void> {
    try {
      await this.keep();
    } catch {
      // The one before it stands.
    }
  }

  private async keep(): Promise<void> {
    if (this.onCheckpoint === undefined || !this.unkept) return;
    await this.onCheckpoint(structuredClone(this.profile()));
    this.keptNs = monotonicNs();
    this.unkept = false;
  }
}
