import type { HoldProgress } from '../../hold/index.js';

/** HoldDone is what a search is doing, and how many runs were simulated for that. */
export interface HoldDone extends HoldProgress {
  /** How many runs were simulated of the rates that are simulated now. */
  readonly runsOfRates: number;
  /** How many runs were simulated since the search began. */
  readonly runs: number;
}

/**
 * HoldReport reports every step of a search and of every run that was simulated, as runs take most of the
 * time.
 */
export class HoldReport {
  private progress: HoldProgress = { phase: 'trying', done: 0 };
  private rates = '';
  private runsOfRates = 0;
  private runs = 0;

  constructor(private readonly onDone: ((done: HoldDone) => void) | undefined) {}

  /** began takes what the search is about to do. */
  began(progress: HoldProgress): void {
    this.progress = progress;
    this.rates = '';
    this.runsOfRates = 0;
    this.tell();
  }

  /** simulated takes the end of a run. */
  simulated(rps: readonly number[]): void {
    const rates = rps.join();
    this.runsOfRates = rates === this.rates ? this.runsOfRates + 1 : 1;
    this.rates = rates;
    this.runs += 1;
    this.tell();
  }

  private tell(): void {
    const { progress, runsOfRates, runs } = this;
    this.onDone?.({ ...progress, runsOfRates, runs });
  }
}

/** holdText describes the progress of a search for the plan that holds most, or holds its rates at the least price. */
export function holdText(
  { phase, done, of, value, runsOfRates, runs }: HoldDone,
  runsToConfirm: number,
): string {
  const best = value === undefined ? '' : `, best ${value.toPrecision(6)}`;
  const simulated = `${best} (${runs} runs simulated)`;
  const plan = of === undefined ? `plan ${done + 1}` : `plan ${Math.min(done + 1, of)} of at most ${of}`;
  switch (phase) {
    case 'trying':
      return `simulating: ${plan}${simulated}`;
    case 'ranking':
      return `comparing what plans hold: ${plan}${simulated}`;
    case 'moving':
      return `moving GPUs between pools: ${plan}${simulated}`;
    case 'confirming':
      return `confirming what the plan holds: run ${Math.min(runsOfRates + 1, runsToConfirm)} of ${runsToConfirm} of a rate${simulated}`;
    case 'lowering':
      return `looking for cheaper plans: ${plan}${simulated}`;
  }
}
