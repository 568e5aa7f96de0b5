import { largestOf } from '../collections/index.js';
import { allowedLate, demandsOf, type Relaxed, type StageDemand } from './floors.js';
import type { Sample, TailObjective } from './problem.js';

/** Asking is a set of requests of a sample, of which a share is to be in time, with what they ask of each stage. */
export interface Asking {
  readonly objective: TailObjective;
  readonly requests: number;
  /** Their arrivals, ascending. */
  readonly atNs: Float64Array;
  readonly demands: readonly StageDemand[];
  /** For each request of the sample, 1 where it is one of these; absent where all are. */
  readonly isOne?: Uint8Array;
}

/**
 * askingsOf lists sets of requests by which what serves a sample can be bounded: for each objective the requests that it
 * is about. Where they are of applications, all requests together come last: no more of them may be late than the
 * objectives allow together, and those in time are by the longest SLO.
 * @param demands what all requests of the sample ask of each stage
 */
export function askingsOf(relaxed: Relaxed, sample: Sample, demands: readonly StageDemand[]): Asking[] {
  const { objectives } = relaxed.problem;
  const requests = sample.atNs.length;
  const whole = { requests, atNs: sample.atNs, demands };
  const own = objectives.map((objective): Asking => {
    const { application } = objective;
    if (application === undefined) return { objective, ...whole };
    const isOne = Uint8Array.from({ length: requests }, (_, r) =>
      (sample.applications?.[r] ?? 0) === application ? 1 : 0,
    );
    const atNs = sample.atNs.filter((_, r) => isOne[r] === 1);
    return { objective, requests: atNs.length, atNs, demands: demandsOf(relaxed, sample, isOne), isOne };
  });
  if (objectives.every(({ application }) => application === undefined)) return own;
  const late = own.reduce((sum, one) => sum + allowedLate(one.objective, one.requests), 0);
  const sloNs = largestOf(objectives.map((one) => one.sloNs));
  const attainment = requests === 0 ? 1 : (requests - late) / requests;
  return [...own, { objective: { attainment, sloNs }, ...whole }];
}
