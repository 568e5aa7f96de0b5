import type { CompareRow } from '../formats/index.js';

/**
 * costPerMillion gives the cost of a million requests at a rate. It is undefined where devices have no price, or where
 * nothing is served that could be paid for, as a plan that holds no rate: no number says that, in JSON least of all.
 */
export function costPerMillion(hourlyCost: number | undefined, rps: number | undefined): number | undefined {
  if (hourlyCost === undefined || rps === undefined) return undefined;
  const cost = (hourlyCost / (3600 * rps)) * 1e6;
  return Number.isFinite(cost) ? cost : undefined;
}

/** useFigures gives the GPUs that a plan uses by class and, where all of these have a price, what they and its requests cost. */
export function useFigures(
  classes: Readonly<Record<string, { readonly used: number }>>,
  { hourlyCost, rps }: { readonly hourlyCost: number | undefined; readonly rps: number | undefined },
): Pick<CompareRow, 'used' | 'hourlyCost' | 'costPerMillionRequests'> {
  const perMillion = costPerMillion(hourlyCost, rps);
  return {
    used: Object.fromEntries(Object.entries(classes).map(([name, { used }]) => [name, used])),
    ...(hourlyCost === undefined ? {} : { hourlyCost }),
    ...(perMillion === undefined ? {} : { costPerMillionRequests: perMillion }),
  };
}
