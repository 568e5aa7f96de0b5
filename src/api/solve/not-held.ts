import { counted } from '../../artifacts/index.js';

/** NotHeld says how many plans were tried, and how near the best came to the rates. */
export interface NotHeld {
  readonly trials: number;
  /** The share of its rate that every model holds in that plan. */
  readonly heldShare: number;
  /** Whether that is by the mean over the seeds of the search, or by the lower end over seeds that were to confirm it. */
  readonly judgedBy: 'mean' | 'lower-end';
}

/** notHeldReason says in words that no plan holds the rates, and how near the best came. The share is rounded down. */
export function notHeldReason({ trials, heldShare, judgedBy }: NotHeld): string {
  const tried = `${counted(trials, 'plan')} that ${trials === 1 ? 'was' : 'were'} simulated`;
  if (heldShare === 0)
    return `of ${tried}, none holds rates worth naming: one model or another has too few requests in time at any`;
  const share = `${(Math.floor(1e4 * heldShare + 1e-6) / 100).toFixed(2)} %`;
  const how =
    judgedBy === 'mean'
      ? 'by the mean attainment of the runs of the search'
      : 'by the lower end of the confidence interval of its attainment, after the runs of the search had found that it held them';
  return `of ${tried}, none holds the rates that were asked for; the one that comes closest holds ${share} of them, judged ${how}`;
}
