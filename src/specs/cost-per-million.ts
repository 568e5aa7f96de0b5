/**
 * costPerMillion gives the cost of a million requests at a rate. It is undefined where devices have no price, or where
 * nothing is served that could be paid for, as a plan that holds no rate: no number says that, in JSON least of all.
 */
export function costPerMillion(hourlyCost: number | undefined, rps: number | undefined): number | undefined {
  if (hourlyCost === undefined || rps === undefined) return undefined;
  const cost = (hourlyCost / (3600 * rps)) * 1e6;
  return Number.isFinite(cost) ? cost : undefined;
}
