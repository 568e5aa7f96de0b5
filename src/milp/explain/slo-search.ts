/** AllowedValue is the objective's value at an SLO; undefined if there is no plan. */
export type AllowedValue = number | undefined;

/** The SLOs that are tried above a spec's, as multiples of it. Then the interval between the last two is halved. */
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

/** Halving ends at this width, as a part of the spec's SLO. */
const WIDTH = 0.005;

/** SloSearch is how a looser SLO is looked for. */
interface SloSearch {
  readonly valueAt: (sloUs: number) => AllowedValue;
  readonly accepts: (value: AllowedValue) => boolean;
  readonly stopped: () => boolean;
}

/**
 * looserSlo is the least SLO (µs) above a given one whose value is accepted, too large by at most 0.005 of the given
 * one. It relies on values that never get worse as the SLO grows, and asks for at most fourteen.
 * @returns undefined if there is none up to twice the SLO, or if the search was stopped
 */
export function looserSlo(
  sloUs: number,
  search: SloSearch,
): { sloUs: number; value: AllowedValue } | undefined {
  const { valueAt, accepts, stopped } = search;
  let below = 0;
  for (const step of STEPS) {
    const value = valueAt(sloUs * (1 + step));
    if (stopped()) return undefined;
    if (accepts(value)) return halved(sloUs, below, { step, value }, search);
    below = step;
  }
  return undefined;
}

function halved(
  sloUs: number,
  from: number,
  to: { step: number; value: AllowedValue },
  { valueAt, accepts, stopped }: SloSearch,
): { sloUs: number; value: AllowedValue } | undefined {
  let [below, above] = [from, to];
  while (above.step - below > WIDTH) {
    const step = (below + above.step) / 2;
    const value = valueAt(sloUs * (1 + step));
    if (stopped()) return undefined;
    if (accepts(value)) above = { step, value };
    else below = step;
  }
  return { sloUs: sloUs * (1 + above.step), value: above.value };
}
