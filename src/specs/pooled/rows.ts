import type { CompareRow } from '../../formats/index.js';
import type { PlanBody, PooledOutcome } from '../../milp/index.js';
import { costPerMillion, useFigures } from '../cost-per-million.js';
import { endedReasons } from '../ended-reasons.js';
import type { CompareCase } from './cases.js';

type RowHead = Pick<CompareRow, 'mix' | 'slo' | 'sloMs' | 'margin'>;

/** headOf gives the part of a row that says what a case asks for. */
export function headOf({ mix, slo, margin, spec }: CompareCase): RowHead {
  return {
    mix,
    ...(slo === undefined ? {} : { slo }),
    sloMs: spec.models.map(({ sloMs }) => sloMs),
    ...(margin === undefined ? {} : { margin }),
  };
}

/** rowOf makes the row of a case that was solved. */
export function rowOf(asked: CompareCase, outcome: PooledOutcome): CompareRow {
  switch (outcome.status) {
    case 'infeasible':
      return { ...headOf(asked), status: 'infeasible', reasons: outcome.reasons };
    case 'no-plan-in-time':
      return { ...headOf(asked), status: 'no-plan-in-time', reasons: endedReasons(outcome) };
    case 'optimal':
    case 'feasible':
      return { ...headOf(asked), ...figuresOf(outcome.plan) };
  }
}

function figuresOf(plan: PlanBody): Omit<CompareRow, keyof RowHead> {
  const throughputRps = plan.models.reduce((sum, model) => sum + model.throughputRps, 0);
  const hourlyCost = costOf(plan);
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
    ...useFigures(plan.classes, { hourlyCost, rps: throughputRps }),
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
    heldRps,
    hold: { value, bound },
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
