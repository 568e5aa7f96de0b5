import { itemAt, smallestOf } from '../collections/index.js';
import type { BatchFormation, Profile } from '../formats/index.js';
import type { PlanBody, PooledProblem, ProblemModel } from '../milp/index.js';

/** ModelSetting says how one model is planned, so that what is planned can be held. */
export interface ModelSetting {
  /** The share of the SLO that is withheld from the planner. */
  readonly sloMargin: number;
  readonly batchFormation: BatchFormation;
  /** The largest batch that is planned; absent where every measured one may be. */
  readonly mostBatch?: number;
  /** The model is planned for this multiple of its share of the load, or of its rate. */
  readonly headroom: number;
}

/** isOneMargin returns whether all models have the same margin, no headroom and any batch. */
export function isOneMargin(settings: readonly ModelSetting[]): boolean {
  return settings.every(
    ({ sloMargin, headroom, mostBatch }) =>
      sloMargin === settings[0]?.sloMargin && headroom === 1 && mostBatch === undefined,
  );
}

/** settingsAsked gives the settings that a problem asks for by itself. */
export function settingsAsked({ models }: PooledProblem): ModelSetting[] {
  return models.map(({ sloMarginUs, sloUs, batchFormation }) => ({
    sloMargin: sloMarginUs / sloUs,
    batchFormation,
    headroom: 1,
  }));
}

/** withSettings gives the problem with each model planned by its setting. */
export function withSettings(problem: PooledProblem, settings: readonly ModelSetting[]): PooledProblem {
  const models = problem.models.map((model, m) => {
    const { headroom, mostBatch } = itemAt(settings, m);
    const margined = withMargin(model, itemAt(settings, m));
    return {
      ...margined,
      profile: mostBatch === undefined ? model.profile : withMostBatch(model.profile, mostBatch),
      weight: model.weight * headroom,
      rps: model.rps === undefined ? undefined : model.rps * headroom,
    };
  });
  return { ...problem, models };
}

function withMargin(
  model: ProblemModel,
  { sloMargin, batchFormation }: Pick<ModelSetting, 'sloMargin' | 'batchFormation'>,
): ProblemModel {
  const { sloMarginMs: _, ...spec } = model.spec;
  return { ...model, sloMarginUs: sloMargin * model.sloUs, batchFormation, spec: { ...spec, sloMargin } };
}

/** withMostBatch leaves out of a profile what was measured at larger batches. */
function withMostBatch(profile: Profile, mostBatch: number): Profile {
  const devices = Object.entries(profile.devices).map(([name, device]) => {
    const { blockLatencyUs, layerLatencyUs } = device;
    const kept = {
      ...device,
      blockLatencyUs: withoutLarger(blockLatencyUs, mostBatch),
      ...(layerLatencyUs === undefined ? {} : { layerLatencyUs: withoutLarger(layerLatencyUs, mostBatch) }),
    };
    return [name, kept] as const;
  });
  return { ...profile, devices: Object.fromEntries(devices) };
}

function withoutLarger<T>(
  bySize: Record<string, Record<string, T>>,
  mostBatch: number,
): Record<string, Record<string, T>> {
  return Object.fromEntries(
    Object.entries(bySize).map(([virtual, byBatch]) => [
      virtual,
      Object.fromEntries(Object.entries(byBatch).filter(([batch]) => Number(batch) <= mostBatch)),
    ]),
  );
}

/**
 * heldProblem gives the problem that a held plan answers: that of the spec, with the margins and batch formations that
 * the plan names for its models. Its checker may compare the plan with it.
 */
export function heldProblem(problem: PooledProblem, { hold }: Pick<PlanBody, 'hold'>): PooledProblem {
  if (hold === undefined) return problem;
  const models = problem.models.map((model, m) => {
    const setting = hold.models[m];
    return setting === undefined ? model : withMargin(model, setting);
  });
  return { ...problem, models };
}

/**
 * asAsked turns a plan that was made with headroom into one that answers the problem itself: with its weights and rates,
 * and a bound that no plan of it beats whatever its margins.
 * @throws Error where the plan beats the bound, which is a bug in the planner
 */
export function asAsked(plan: PlanBody, { models, planner }: PooledProblem, bound: number): PlanBody {
  const asked = plan.models.map((planned, m) => {
    const { weight, rps } = itemAt(models, m);
    return { ...planned, weight, ...(rps === undefined ? {} : { rps }) };
  });
  const isThroughput = planner.objective === 'throughput';
  const value = isThroughput
    ? smallestOf(asked.filter(({ weight }) => weight > 0).map((one) => one.throughputRps / one.weight))
    : plan.objective.value;
  const beaten = isThroughput ? value / bound - 1 : 1 - value / bound;
  if (beaten > ROUNDING) throw new Error(`a plan of ${value} beats the bound ${bound} of all plans`);
  const proved = isThroughput ? Math.max(bound, value) : Math.min(bound, value);
  const gap = value === proved ? 0 : isThroughput ? proved / value - 1 : value / proved - 1;
  const classes = Object.entries(plan.classes).map(
    ([name, { shadowPrice: _, ...use }]) => [name, use] as const,
  );
  return {
    ...plan,
    status: gap <= OPTIMAL_GAP ? 'optimal' : 'feasible',
    objective: { ...plan.objective, value, bound: proved, gap },
    models: asked,
    classes: Object.fromEntries(classes),
  };
}

/** A gap this small is rounding, */
const OPTIMAL_GAP = 1e-9;
/** and so is what an LP's optimum lacks of a plan. */
const ROUNDING = 1e-6;
