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
 * proofFaults finds where a plan contradicts itself in how near it is to the best one: a bound that its value beats, a gap
 * that is not the distance of the two, and a status that the gap does not allow. A plan without a gap is optimal, whatever
 * ended the search, and no other is.
 */
export function proofFaults({ status, objective }: Proved): Fault[] {
  if (status === undefined || objective === undefined) return [];
  const { kind, value, bound, gap } = objective;
  if (IS_MOST[kind] ? value > bound * (1 + ROUNDING) : value < bound * (1 - ROUNDING))
    return [fault(`is ${bound}, which the value ${value} beats`, '/objective/bound')];
  const should = gapOf(objective);
  // Where the bound is 0 or the plan serves nothing, no ratio says how far it is.
  const isKnown = Number.isFinite(should);
  if (gap !== undefined && isKnown && Math.abs(gap - should) > ROUNDING * Math.max(1, should))
    return [fault(`is ${gap}; value and bound give ${should}`, '/objective/gap')];
  const isClosed = gap === undefined ? value === bound : gap <= ROUNDING;
  if (status === 'optimal' && !isClosed)
    return [fault(`is optimal, and the gap is ${gap ?? 'not known'}`, '/status')];
  if (status === 'feasible' && gap === 0)
    return [fault('is feasible, and the gap of 0 says that it is optimal', '/status')];
  return [];
}

function gapOf({ kind, value, bound }: NonNullable<Proved['objective']>): number {
  if (value === bound) return 0;
  switch (kind) {
    case 'throughput':
      return bound / value - 1;
    case 'accuracy':
      return (bound - value) / bound;
    case 'cost':
    case 'power':
    case 'latency':
    case 'devices':
      return value / bound - 1;
  }
}
