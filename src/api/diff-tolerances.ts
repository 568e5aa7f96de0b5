import {
  type Changed,
  type Cluster,
  didYouMean,
  differs,
  type Fault,
  fault,
  type GateCheck,
  type OpenCluster,
  option,
  type PlanDifference,
  sidesOf,
} from '../formats/index.js';
import { hourlyCost } from '../pipeline/index.js';

/** Tolerance is how far a figure of two plans may differ: by a share of the earlier one, or by so much. */
export interface Tolerance {
  readonly most: number;
  readonly isShare: boolean;
}

/** PricedPlan is what the figures of a whole plan are computed from. */
interface PricedPlan {
  readonly classes: Readonly<Record<string, { readonly used: number }>>;
  readonly cluster: Cluster | OpenCluster;
}

/** Both is a figure in two plans, of a model or of the plan as a whole; a side is absent where its plan has none. */
interface Both {
  readonly model?: string;
  readonly change: { readonly before?: number | undefined; readonly after?: number | undefined } | undefined;
}

/** Plans are two plans, with what one changes in the other. */
export interface Plans {
  readonly diff: PlanDifference;
  readonly before: PricedPlan;
  readonly after: PricedPlan;
}

const ofModels =
  (figure: (model: PlanDifference['models'][number]) => Partial<Changed> | undefined) =>
  ({ diff }: Plans): Both[] =>
    diff.models.map((model) => ({ model: model.name, change: figure(model) }));

const ofPlan =
  (figure: (plan: PricedPlan) => number | undefined) =>
  ({ before, after }: Plans): Both[] => [{ change: { before: figure(before), after: figure(after) } }];

/** PriceChange is what two plans cost, where that differs, and the currencies of their prices where these are not one. */
type PriceChange = Pick<PlanDifference, 'hourlyCost' | 'currency'>;

/** priceChange compares what the devices in use of two plans cost per hour. It has nothing where that is not known of both. */
export function priceChange(before: PricedPlan, after: PricedPlan): PriceChange {
  const [a, b] = [before, after].map(({ classes, cluster }) => hourlyCost(classes, cluster));
  if (a === undefined || b === undefined) return {};
  const [from, to] = [before.cluster.currency, after.cluster.currency];
  const hourlyCosts = { hourlyCost: { before: a, after: b } };
  // The same number of another currency is another cost.
  if (from !== to) return { ...hourlyCosts, currency: sidesOf(from, to) };
  return a === b ? {} : hourlyCosts;
}

/** isOfPrices says whether a figure of plans is an amount of money. */
function isOfPrices(figure: string, { objective }: PlanDifference): boolean {
  return figure === 'cost' || (figure === 'objective' && objective.kind === 'cost');
}

/** FIGURES are the figures that a tolerance can name. */
const FIGURES: Readonly<Record<string, (plans: Plans) => Both[]>> = {
  cost: ofPlan(({ classes, cluster }) => hourlyCost(classes, cluster)),
  gpus: ofPlan(({ classes }) => Object.values(classes).reduce((sum, { used }) => sum + used, 0)),
  objective: ({ diff: { objective } }) => [
    { change: objective.kindBefore === undefined ? objective : undefined },
  ],
  throughput: ofModels(({ throughputRps }) => throughputRps),
  held: ofModels(({ heldRps }) => heldRps),
  slo: ofModels(({ sloMs }) => sloMs),
  accuracy: ofModels(({ accuracy }) => accuracy),
  p95: ofModels(({ p95Ms }) => p95Ms),
};

/**
 * toleranceChecks judges each figure that a tolerance names, of each model where models have it.
 * @returns the faults of tolerances that name no figure, or one that a plan does not have, where there are any
 */
export function toleranceChecks(
  tolerances: Readonly<Record<string, Tolerance>>,
  plans: Plans,
): { readonly checks: GateCheck[]; readonly faults: Fault[] } {
  const checks: GateCheck[] = [];
  const faults: Fault[] = [];
  for (const [figure, tolerance] of Object.entries(tolerances)) {
    const known = Object.keys(FIGURES);
    const figures = Object.hasOwn(FIGURES, figure) ? FIGURES[figure]?.(plans) : undefined;
    if (figures === undefined)
      faults.push(
        fault(
          `names ${figure}, which is no figure of plans${didYouMean(figure, known)}; there are ${known.join(', ')}`,
          option('tolerance'),
        ),
      );
    const { currency } = plans.diff;
    if (currency !== undefined && isOfPrices(figure, plans.diff)) {
      const [before, after] = [currency.before ?? 'no currency', currency.after ?? 'no currency'];
      const said = `names ${figure}, whose prices have ${before} in one plan and ${after} in the other: they do not compare`;
      faults.push(fault(said, option('tolerance')));
      continue;
    }
    // A model that has no such figure in either plan, as others do, has kept to it.
    const isKnown = figures?.some(({ change }) => (change?.before ?? change?.after) !== undefined) ?? false;
    for (const { model, change } of figures ?? []) {
      const { before, after } = change ?? {};
      if (isKnown && change !== undefined && before === undefined && after === undefined) continue;
      const whose = model === undefined ? '' : ` of ${model}`;
      if (before === undefined || after === undefined)
        faults.push(fault(`names ${figure}, which is not known${whose} in both plans`, option('tolerance')));
      else
        checks.push({
          what: 'difference',
          figure,
          ...(model === undefined ? {} : { model }),
          ...judged(tolerance, { before, after }),
        });
    }
  }
  return { checks, faults };
}

function judged(
  { most, isShare }: Tolerance,
  { before, after }: Changed,
): Pick<GateCheck, 'threshold' | 'value' | 'relative' | 'held'> {
  // Figures that differ by rounding alone are the same, as where no tolerance is given.
  const difference = differs({ before, after }) ? Math.abs(after - before) : 0;
  const value = isShare && difference > 0 ? difference / Math.abs(before) : difference;
  return {
    threshold: most,
    relative: isShare,
    // Of what was 0 before, nothing is a share.
    ...(Number.isFinite(value) ? { value } : {}),
    held: value <= most,
  };
}
