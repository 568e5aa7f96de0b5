import type { InfeasibilityExplanation, PlanExplanation } from '../../milp/index.js';
import { figure, orDash, type Table, upwards } from '../table.js';

/** bindingText states in a sentence what holds the plan back. */
export function bindingText({ classes, models, complete }: PlanExplanation): string {
  const devices = classes.filter(({ binds }) => binds).map(({ name }) => `the devices of ${name}`);
  const slos = models.flatMap(({ name, looserSloMs }) =>
    looserSloMs === undefined ? [] : [`the SLO of ${name} (better from ${ms(looserSloMs)} on)`],
  );
  const all = [...devices, ...slos];
  const partial = complete ? '' : '; interrupted: the explanation is partial';
  return `binding: ${all.length === 0 ? 'nothing that was tried' : all.join(', ')}${partial}`;
}

/**
 * classExplanationTable has one row per class: the LP's price, and what one GPU more or less really gives.
 */
export function classExplanationTable({ classes }: PlanExplanation): Table {
  return {
    columns: ['class', 'used', 'shadow price', 'one more gives', 'one less costs', ''],
    spare: ['shadow price', 'one less costs'],
    rows: classes.map(({ name, used, count, shadowPrice, oneMore, oneLess, whyUnused }) => [
      name,
      `${used} of ${count}`,
      signed(shadowPrice),
      signed(oneMore),
      oneLess === undefined ? (count > 0 ? 'no plan' : '—') : signed(oneLess),
      whyUnused === undefined ? '' : `unused: ${whyUnused}`,
    ]),
  };
}

/**
 * sloExplanationTable has one row per model: what its SLO leaves unused, and the SLOs at which the plan would
 * change.
 */
export function sloExplanationTable({ models }: PlanExplanation): Table {
  return {
    columns: ['model', 'SLO ms', 'slowest ms', 'of ms', 'plan holds to', 'below', 'better from', 'then'],
    spare: ['then', 'below', 'of ms', 'slowest ms'],
    rows: models.map((model) => [
      model.name,
      figure(model.sloMs),
      figure(model.slowestMs),
      figure(model.allowedMs),
      ms(model.tighterSloMs),
      orDash(model.tighterSloMs, () =>
        model.tighterValue === undefined ? 'no plan' : figure(model.tighterValue),
      ),
      ms(model.looserSloMs),
      orDash(model.looserValue, figure),
    ]),
  };
}

/**
 * infeasibilityTable has one row per model: its SLO, the smallest SLO that any of its pipelines meets, and an SLO at
 * which all models together have a plan.
 */
export function infeasibilityTable({ models }: InfeasibilityExplanation): Table {
  return {
    columns: ['model', 'SLO ms', 'smallest SLO of any pipeline', 'SLO that has a plan'],
    rows: models.map(({ name, sloMs, smallestFeasibleSloMs, feasibleSloMs }) => [
      name,
      figure(sloMs),
      ms(smallestFeasibleSloMs),
      ms(feasibleSloMs),
    ]),
  };
}

function signed(value: number | undefined): string {
  return orDash(value, (some) => (some > 0 ? `+${figure(some)}` : figure(some)));
}

function ms(value: number | undefined): string {
  return orDash(value, (some) => `${upwards(some)} ms`);
}
