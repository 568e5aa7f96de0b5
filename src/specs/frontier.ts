import type { CompareRow } from '../formats/index.js';

/** Figures that differ by less than this, relatively, count as equal. */
const SAME = 1e-9;

interface Priced {
  readonly row: CompareRow;
  readonly cost: number;
  /** How good the plan is: more is better. */
  readonly merit: number;
}

/**
 * withFrontier gives the rows with `frontier`, which says whether a row is on the frontier of its SLOs and margin.
 * Plans that maximise throughput are compared by the objective's value, those of cascades by accuracy or latency where
 * that was made best; of those that meet the same at least cost only the cheapest is on it. A row without a cost, or
 * alone at its SLOs and margin, gets no mark.
 */
export function withFrontier(rows: readonly CompareRow[]): CompareRow[] {
  const groups = new Map<string, CompareRow[]>();
  for (const row of rows) {
    const key = `${row.slo}/${row.margin}/${row.sloAccuracy}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const frontier = new Set([...groups.values()].flatMap((group) => (group.length > 1 ? best(group) : [])));
  const marked = new Set([...groups.values()].filter((group) => group.length > 1).flat());
  return rows.map((row) =>
    marked.has(row) && row.hourlyCost !== undefined ? { ...row, frontier: frontier.has(row) } : row,
  );
}

function best(group: readonly CompareRow[]): CompareRow[] {
  const priced = group.flatMap((row): Priced[] => {
    const merit = meritOf(row);
    return row.hourlyCost === undefined || merit === undefined ? [] : [{ row, cost: row.hourlyCost, merit }];
  });
  return priced.filter((one) => !priced.some((other) => dominates(other, one))).map(({ row }) => row);
}

/**
 * meritOf gives the rate of a plan, or what is held of it, or the accuracy of a cascade; or its latency or power with the
 * sign changed, as less of it is better. Plans that meet what is asked for at least cost are equally good.
 */
function meritOf({ objective, hold, throughputRps }: CompareRow): number | undefined {
  switch (objective?.kind) {
    case 'throughput':
      return hold?.value ?? objective.value;
    case 'accuracy':
      return objective.value;
    case 'latency':
    case 'power':
      return -objective.value;
    // All of these plans promise the same, so that only the cheapest is the best.
    case 'cost':
    case 'devices':
      return 0;
    case undefined:
      return throughputRps;
  }
}

function dominates(a: Priced, b: Priced): boolean {
  const asGood = !isMore(a.cost, b.cost) && !isMore(b.merit, a.merit);
  return asGood && (isMore(b.cost, a.cost) || isMore(a.merit, b.merit));
}

function isMore(one: number, other: number): boolean {
  return one - other > SAME * Math.abs(other);
}
