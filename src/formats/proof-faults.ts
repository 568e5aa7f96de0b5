import { type Fault, fault } from './errors.js';

const ROUNDING = 1e-9;

type ProvedKind = 'throughput' | 'accuracy' | 'cost' | 'power' | 'latency' | 'devices';

/** IS_MOST tells of which objectives more is better. */
const IS_MOST: { readonly [K in ProvedKind]: boolean } = {
  throughput: true,
  accuracy: true,
  cost: false,
  power: false,
  latency: false,
  devices: false,
};

/** Proved is what a plan of any kind says of how near it is to the best one. */
export interface Proved {
  readonly status?: 'optimal' | 'feasible';
  readonly objective?: {
    readonly kind: ProvedKind;
    readonly value: number;
    readonly bound: number;
    readonly gap?: number;
  };
}

/**
 * proofFaults finds where a plan contradicts itself in how near it is to the best one: a bound that its value beats, a
 * gap that is not the distance of the two, which is reported at both, and a status that the gap does not allow. A plan
 * without a gap is optimal, whatever ended the search, and no other is.
 */
export function proofFaults({ status, objective }: Proved): Fault[] {
  if (status === undefined || objective === undefined) return [];
  const { kind, value, bound, gap } = objective;
  // NaN beats every bound.
  if (!(IS_MOST[kind] ? value <= bound * (1 + ROUNDING) : value >= bound * (1 - ROUNDING)))
    return [fault(`is ${bound}, which the value ${value} beats`, '/objective/bound')];
  const should = value === bound ? 0 : Math.max(value, bound) / Math.min(value, bound) - 1;
  // Where the bound is 0 or the plan serves nothing, no ratio says how far it is.
  const isKnown = Number.isFinite(should);
  // Older plans say an accuracy's gap as a share of the bound.
  const known = kind === 'accuracy' ? [should, (bound - value) / bound] : [should];
  if (gap !== undefined && isKnown && known.every((one) => Math.abs(gap - one) > ROUNDING * Math.max(1, one)))
    return contradictory({ value, bound, gap, should }, IS_MOST[kind]);
  const isClosed = gap === undefined ? value === bound : gap <= ROUNDING;
  if (status === 'optimal' && !isClosed)
    return [fault(`is optimal, and the gap is ${gap ?? 'not known'}`, '/status')];
  if (status === 'feasible' && gap === 0)
    return [fault('is feasible, and the gap of 0 says that it is optimal', '/status')];
  return [];
}

/** contradictory tells of a bound and a gap that contradict one another at both, since either may be the one that was edited. */
function contradictory(
  { value, bound, gap, should }: { value: number; bound: number; gap: number; should: number },
  isMost: boolean,
): Fault[] {
  const ofGap = isMost ? value * (1 + gap) : value / (1 + gap);
  return [
    fault(`is ${bound}; value and gap give ${ofGap}`, '/objective/bound'),
    fault(`is ${gap}; value and bound give ${should}`, '/objective/gap'),
  ];
}
