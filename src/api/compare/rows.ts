import type { CompareRow } from '../../artifacts/index.js';
import type { PlanBody, PooledOutcome } from '../../milp/index.js';
import type { CompareCase } from './cases.js';
import { costPerMillion } from './cost-per-million.js';
import { endedReasons } from './ended-reasons.js';

type RowHead = Pick<CompareRow, 'mix' | 'slo' | 'sloMs' | 'margin'>;

function headOf({ mix, slo, margin, spec }: CompareCase): RowHead {
  return {
    mix,
    ...(slo === undefined ? {} : { slo }),
    sloMs: spec.models.map(({ sloMs }) => sloMs),
    ...(margin === undefined ? {} : { margin }),
  };
}

/**
 * refusedRow makes the row of a case that cannot be solved at all, such as when no model fits its mix or its
 * margin leaves no time.
 */
export function refusedRow(asked: CompareCase, reasons: readonly string[]): CompareRow {
  return { ...headOf(asked), status: 'infeasible', reasons };
}

/** rowOf makes the row of a case that was solved. */
export function rowOf(asked: CompareCase, outcome: PooledOutcome): CompareRow {
  switch (outcome.status) {
    case 'infeasible':
      return { ...headOf(asked), status: 'infeasible', reasons: outcome.reasons };
    case 'no-plan-in-time':
      return { ...headOf(asked), status: 'no-plan-in-time', reasons: endedReasons(outcome) };
    default:
      return { ...headOf(asked), ...figuresOf(outcome.plan) };
  }
}

function figuresOf(plan: PlanBody): Omit<CompareRow, keyof RowHead> {
  const throughputRps = plan.models.reduce((sum, model) => sum + model.throughputRps, 0);
  const used = Object.fromEntries(Object.entries(plan.classes).map(([name, use]) => [name, use.used]));
  const hourlyCost = costOf(plan);
  const perMillion = costPerMillion(hourlyCost, throughputRps);
  return {
    status: plan.status,
    objective: plan.objective,
    throughputRps,
    models: plan.models.map(({ name, throughputRps: rps, heldRps }) => ({
      name,
      throughputRps: rps,
      ...(heldRps === undefined ? {} : { heldRps }),
    })),
    ...heldFigures(plan, hourlyCost),
    used,
    ...(hourlyCost === undefined ? {} : { hourlyCost }),
    ...(perMillion === undefined ? {} : { costPerMillionRequests: perMillion }),
    ...utilisationOf(plan),
  };
}

function heldFigures(
  { hold, models }: PlanBody,
  hourlyCost: number | undefined,
): Pick<CompareRow, 'heldRps' | 'hold' | 'costPerMillionHeld'> {
  if (hold === undefined) return {};
  const heldRps = models.reduce((sum, model) => sum + (model.heldRps ?? 0), 0);
  const { value, bound } = hold;
  const perMillion = costPerMillion(hourlyCost, heldRps);
  return {
    ...{ heldRps, hold: { value, bound } },
    ...(perMillion === undefined ? {} : { costPerMillionHeld: perMillion }),
  };
}

function costOf({ classes, cluster }: PlanBody): number | undefined {
  let cost = 0;
  for (const [name, { used }] of Object.entries(classes)) {
    const price = cluster.devices[name]?.hourlyCost;
    if (used > 0 && price === undefined) return undefined;
    cost += used * (price ?? 0);
  }
  return cost;
}

/**
 * utilisationOf sums the busy GPU time. A pool is busy for the part of its rate that its pipeline's
 * throughput takes.
 */
function utilisationOf(plan: PlanBody): Pick<CompareRow, 'utilisation' | 'utilisationByClass'> {
  const busy = new Map<string, number>();
  for (const { pipelines } of plan.models)
    for (const { throughputRps, partitions } of pipelines)
      for (const { device, gpus, throughputRps: most } of partitions)
        busy.set(device, (busy.get(device) ?? 0) + (gpus * throughputRps) / most);
  const there = Object.entries(plan.classes).filter(([, { count }]) => count > 0);
  const all = there.reduce((sum, [, { count }]) => sum + count, 0);
  const total = [...busy.values()].reduce((sum, gpus) => sum + gpus, 0);
  return {
    utilisation: total / all,
    utilisationByClass: Object.fromEntries(
      there.map(([name, { count }]) => [name, (busy.get(name) ?? 0) / count]),
    ),
  };
}

/** Figures that differ by less than this, relatively, count as equal. */
const SAME = 1e-9;

interface Priced {
  readonly row: CompareRow;
  readonly cost: number;
  /** How good the plan is: more is better. */
  readonly merit: number;
}

/**
 * withFrontier gives the rows with `frontier`, which says whether a row is on the frontier of its SLOs and margin. Plans
 * that maximise throughput are compared by the objective's value, those of cascades by accuracy or latency where that was
 * made best, and others by the throughput of all models. A row without a cost, or alone at its SLOs and margin, gets no
 * mark.
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
 * meritOf gives the rate of a plan, or what is held of it, or the accuracy of a cascade, or its latency with the sign
 * changed, as less of it is better.
 */
function meritOf({ objective, hold, throughputRps }: CompareRow): number | undefined {
  switch (objective?.kind) {
    case 'throughput':
      return hold?.value ?? objective.value;
    case 'accuracy':
      return objective.value;
    case 'latency':
      return -objective.value;
    default:
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
