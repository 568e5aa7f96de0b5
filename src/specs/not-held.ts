import { counted, type NoPlan, type NoPlanReason } from '../formats/index.js';

/** NotHeld says how many plans were tried, and how near the best came to the rates. */
export interface NotHeld {
  readonly trials: number;
  /** The share of its rate that every model holds in that plan. */
  readonly heldShare: number;
  /**
   * judgedBy says whether that is by the mean over the seeds of the search, or by the lower end over others.
   */
  readonly judgedBy: 'mean' | 'lower-end';
  readonly models: readonly NotHeldModel[];
}

/** NotHeldModel is a model with what was asked for, and what it holds in the plan that comes closest. */
export interface NotHeldModel {
  readonly name: string;
  /** Absent where the most is asked for that a plan holds. */
  readonly rps?: number;
  readonly heldRps: number;
  /** The share of its requests that must be in time. */
  readonly attainment: number;
}

/** notHeldParts gives what a document says of plans that do not hold the rates: figures, and a reason for each model that lacks. */
export function notHeldParts(notHeld: NotHeld): Pick<NoPlan, 'notHeld' | 'reasons'> {
  const { trials, heldShare, judgedBy, models } = notHeld;
  const reasons = models.flatMap((model) => lackingReason(model));
  return {
    notHeld: { trials, heldShare, judgedBy },
    reasons: reasons.length > 0 ? reasons : [{ code: 'not-held', text: notHeldReason(notHeld) }],
  };
}

function lackingReason({ name, rps = 0, heldRps, attainment }: NotHeldModel): NoPlanReason[] {
  if (heldRps >= rps) return [];
  const heldShare = heldRps / rps;
  const inTime = Number((100 * attainment).toPrecision(12));
  const text = `${name} holds ${percent(heldShare)} of the ${rps} requests/s that were asked for with ${inTime} % in time, in the plan that comes closest`;
  return [{ code: 'not-held', model: name, rps, heldRps, heldShare, attainment, text }];
}

/** percent writes a share rounded down, so that no share below 1 reads as all. */
function percent(share: number): string {
  return `${(Math.floor(1e4 * share + 1e-6) / 100).toFixed(2)} %`;
}

/** notHeldReason says in words that no plan holds the rates, and how near the best came. The share is rounded down. */
export function notHeldReason({ trials, heldShare, judgedBy }: Omit<NotHeld, 'models'>): string {
  const tried = `${counted(trials, 'plan')} that ${trials === 1 ? 'was' : 'were'} simulated`;
  if (heldShare === 0)
    return `of ${tried}, none holds rates worth naming: one model or another has too few requests in time at any`;
  const share = percent(heldShare);
  const how =
    judgedBy === 'mean'
      ? 'by the mean attainment of the runs of the search'
      : 'by the lower end of the confidence interval of its attainment';
  return `of ${tried}, none holds the rates that were asked for; the one that comes closest holds ${share} of them, judged ${how}`;
}
