import type { Profile } from '../artifacts/index.js';
import { monotonicNs } from '../execution/index.js';

/** Work that may be lost: long against the time a checkpoint takes. */
const INTERVAL_NS = 5e9;

/** Hands out the profile while it is measured: after the first measurement, then at most every 5 s. */
export class Checkpoints {
  /** When the last one was; undefined before the first. */
  #keptNs: number | undefined;
  /** Whether something was measured since. */
  #unkept = false;

  constructor(
    private readonly onCheckpoint: ((profile: Profile) => Promise<void>) | undefined,
    private readonly profile: () => Profile,
  ) {}

  /** Something was measured. */
  measured(): void {
    this.#unkept = true;
  }

  async keepIfDue(): Promise<void> {
    if (this.#keptNs === undefined || monotonicNs() - this.#keptNs >= INTERVAL_NS) await this.#keep();
  }

  /** Before an error that ends the run: it is the one to tell, whatever becomes of the checkpoint. */
  async keepLast(): Promise<void> {
    try {
      await this.#keep();
    } catch {
      // The one before it stands.
    }
  }

  async #keep(): Promise<void> {
    if (this.onCheckpoint === undefined || !this.#unkept) return;
    await this.onCheckpoint(structuredClone(this.profile()));
    this.#keptNs = monotonicNs();
    this.#unkept = false;
  }
}
