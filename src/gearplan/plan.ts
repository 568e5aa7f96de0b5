import { itemAt, largestOf } from '../collections/index.js';
import {
  type AccuracyInterval,
  type CascadeSpec,
  cascadeMethodOf,
  type Gear,
  type GearLimit,
  type GearPlan,
  type GearStage,
  type GearStep,
  gearObjective,
  isEmulated,
  measurementNotes,
  NS_PER_MS,
  type OpenCluster,
  type SingleAccuracy,
  type StageInput,
  servingMarks,
  servingNotes,
} from '../formats/index.js';
import { shareOf } from '../metrics/index.js';
import { classFigures, classUses, hourlyCost, latencyUsByBatch, weightBytes } from '../pipeline/index.js';
import { bytesPerRow, seatsFrom } from '../plans/index.js';
import { atMostAll, type RangeGear } from './best-gears.js';
import type { Cascade } from './cascade.js';
import { type GearSolution, slowestNs } from './objectives.js';
import { modelLoads } from './placement.js';
import type { GearPlanBody } from './plan-body.js';
import type { FamilyModel, GearProblem } from './problem.js';
import type { HeldPlan } from './promise.js';
import type { CascadeFiles, ClassProblem } from './resolve.js';
import { writtenShares } from './shares.js';
import { type ArrivalsOf, type GearError, GearTrials } from './trials.js';

/** The value that CascadeServe finds to work well (§5). */
const ALPHA = 8;
const INTERVAL_MS = 100;

/** PlannedFamily is a solution with all that its plan is written from. */
export interface PlannedFamily {
  readonly spec: CascadeSpec;
  readonly files: CascadeFiles;
  readonly of: ClassProblem;
  readonly solution: GearSolution;
  readonly status: 'optimal' | 'feasible';
  readonly objective: GearPlan['objective']['kind'];
  readonly notes: readonly string[];
  readonly arrivalsOf: ArrivalsOf;
  /** Why each range has no more accurate cascade, where that is known; else it is tried. */
  readonly limits?: readonly (GearLimit | undefined)[];
  /** The results of the simulations that confirm the promise. */
  readonly held?: HeldPlan;
}

/** gearPlanBodyOf writes a solution as a plan. */
export function gearPlanBodyOf(planned: PlannedFamily): GearPlanBody {
  const { spec, files, solution, status, objective, held } = planned;
  const writer = new PlanWriter(planned);
  const notes = [...new Set([...planned.notes, ...writer.profileNotes()])];
  const { value, bound, choice, problem, scope } = solution;
  const promisedMs = Number.isFinite(problem.latencyNs) ? problem.latencyNs / NS_PER_MS : undefined;
  const { classes, placement } = writer.placement(files.cluster);
  const cost = hourlyCost(classes, files.cluster);
  const gears = writer.gears();
  const p95Ms = largestOf(gears.map((gear) => gear.p95Ms));
  return {
    name: spec.name ?? 'cascade',
    method: cascadeMethodOf(spec),
    ...(notes.length === 0 ? {} : { notes }),
    status,
    objective: objectiveOf({ kind: objective, value, bound, scope }, status),
    cluster: files.cluster,
    slo: spec.slo,
    sloMs: spec.slo.latencyMs ?? promisedMs ?? slowestNs(choice) / NS_PER_MS,
    maxRps: spec.load.maxRps,
    accuracy: choice.accuracy,
    accuracyInterval: intervalOf(choice.accuracy, solution.problem),
    requestAccuracy: requestAccuracy(gears),
    bestSingle: bestSingleOf(problem),
    p95Ms,
    ...(held === undefined ? {} : { promise: held.promise }),
    ...(cost === undefined ? {} : { hourlyCost: cost }),
    certainty: spec.certainty ?? 'top-2',
    switching: { intervalMs: spec.load.intervalMs ?? INTERVAL_MS, alpha: ALPHA },
    stages: writer.stages(),
    gears,
    classes,
    placement,
  };
}

/** objectiveOf has no gap where the bound is reached in too small a scope to be called optimal. */
function objectiveOf(
  made: Parameters<typeof gearObjective>[0],
  status: PlannedFamily['status'],
): GearPlan['objective'] {
  const { gap, scope, ...reached } = gearObjective(made);
  const isOpen = status === 'feasible' && gap === 0;
  return {
    ...reached,
    ...(gap === undefined || isOpen ? {} : { gap }),
    ...(scope === undefined ? {} : { scope }),
  };
}

/** bestSingleOf is the model that is right about most records; of several, the cheapest. */
function bestSingleOf({ models }: GearProblem): SingleAccuracy {
  const singles = models.map((model) => ({ model: model.name, accuracy: accuracyAlone(model) }));
  return singles.reduce((best, one) => (one.accuracy > best.accuracy ? one : best));
}

function accuracyAlone({ correct }: FamilyModel): number {
  return correct.reduce((sum, one) => sum + one, 0) / correct.length;
}

/**
 * intervalOf is where a share of right answers lies. Over several gears it is a mean of shares of the same samples, which
 * spreads no wider than a share.
 */
export function intervalOf(accuracy: number, { models }: Pick<GearProblem, 'models'>): AccuracyInterval {
  const samples = itemAt(models, 0).correct.length;
  const { low, high } = shareOf(accuracy * samples, samples);
  return { low, high, samples };
}

/** requestAccuracy weighs the accuracy of gears by the requests that each is expected to serve. */
function requestAccuracy(gears: readonly Gear[]): number {
  const requests = gears.map(({ fromRps, toRps, share }) => (share * (fromRps + toRps)) / 2);
  const all = requests.reduce((sum, one) => sum + one, 0);
  return atMostAll(
    gears.reduce((sum, { accuracy }, i) => sum + (accuracy * (requests[i] as number)) / all, 0),
  );
}

/** PlanWriter writes the parts of a plan. Models that no gear uses are left out, and so are devices without models. */
class PlanWriter {
  private readonly problem: GearProblem;
  private readonly cascades: readonly Cascade[];
  private readonly held: readonly number[];
  private readonly used: readonly number[];

  constructor(private readonly planned: PlannedFamily) {
    const { problem, choice } = planned.solution;
    this.problem = problem;
    this.cascades = choice.gears.map(({ index }) => itemAt(choice.cascades, index));
    const used = this.cascades.reduce((set, { models }) => models.reduce((all, m) => all | (1 << m), set), 0);
    this.used = problem.models.flatMap((_, model) => ((used >> model) & 1 ? [model] : []));
    this.held = choice.placement.map((set) => set & used).filter((set) => set !== 0);
  }

  stages(): GearStage[] {
    const { spec, files, of } = this.planned;
    return this.used.map((model) => {
      const at = of.order[model] as number;
      const { profile } = itemAt(files.profiles, at);
      const family = itemAt(this.problem.models, model);
      const { latencyNs, name } = family;
      const alone = accuracyAlone(family);
      const bytes = weightBytes(profile);
      const { inputs, outputs } = profile.model;
      const output = spec.models[at]?.output ?? (outputs?.length === 1 ? outputs[0]?.name : undefined);
      const sent = (inputs ?? []).map((input) => bytesPerRow(input) ?? 0);
      return {
        name,
        model: profile.model.name,
        device: of.device,
        virtual: 1,
        batch: latencyNs.length,
        replicas: this.held.filter((set) => (set >> model) & 1).length,
        latencyUsByBatch: latencyUsByBatch(
          { device: profile.devices[of.device] as (typeof profile.devices)[string], virtual: 1 },
          latencyNs.length,
        ),
        accuracy: alone,
        accuracyInterval: intervalOf(alone, this.problem),
        ...(bytes === undefined ? {} : { weightBytes: bytes }),
        ...servingMarks(profile.model),
        ...(inputs === undefined
          ? {}
          : { inputs: inputs.map((input): StageInput => ({ ...input, from: [`request.${input.name}`] })) }),
        ...(outputs === undefined ? {} : { outputs }),
        ...(output === undefined ? {} : { output }),
        transferBytes: sent.reduce((sum, one) => sum + one, 0),
      };
    });
  }

  /**
   * profileNotes reports on the batches and figures of the models that a gear uses, on the class that serves
   * them.
   */
  profileNotes(): string[] {
    const { files, of } = this.planned;
    return this.used.flatMap((model) => {
      const { profile } = itemAt(files.profiles, of.order[model] as number);
      const { latencyNs, name } = itemAt(this.problem.models, model);
      const used = classFigures(profile, { device: of.device, virtual: 1, batch: latencyNs.length });
      return [...servingNotes(name, profile.model), ...measurementNotes(name, profile, [used])];
    });
  }

  gears(): Gear[] {
    const { ranges, models } = this.problem;
    return this.planned.solution.choice.gears.map((chosen, range): Gear => {
      const { fromRps, toRps, share } = itemAt(ranges, range);
      const cascade = itemAt(this.cascades, range);
      const load = modelLoads(models, cascade, toRps);
      const limit = this.limit(range, chosen);
      const headroom = this.problem.headroom?.[range] ?? 0;
      const { p95Ns, busy } = chosen.gear;
      const figures = this.planned.held?.gears[range] ?? { p95Ms: p95Ns / NS_PER_MS, utilization: busy };
      return {
        fromRps,
        toRps,
        share,
        cascade: this.steps(cascade, chosen, load),
        timeoutMs: chosen.gear.timeoutNs / NS_PER_MS,
        accuracy: cascade.accuracy,
        accuracyInterval: intervalOf(cascade.accuracy, this.problem),
        ...(headroom === 0 ? {} : { headroom }),
        ...figures,
        ...(limit === undefined ? {} : { limitedBy: limit }),
      };
    });
  }

  private steps(cascade: Cascade, { gear }: RangeGear, load: Float64Array): GearStep[] {
    const shares = writtenShares(this.held, load);
    return cascade.models.map((model, step) => ({
      stage: this.problem.models[model]?.name as string,
      ...(step < cascade.thresholds.length ? { threshold: cascade.thresholds[step] as number } : {}),
      visits: cascade.visits[step] as number,
      minQueue: gear.minQueues[step] as number,
      loadShares: this.held.flatMap((set, device) =>
        (set >> model) & 1 ? [itemAt(shares, model)[device] as number] : [],
      ),
    }));
  }

  /**
   * limit says why the next more accurate cascade does not serve a range on this placement; where one cascade serves all
   * ranges, why the next does not serve all.
   */
  private limit(range: number, { index }: RangeGear): GearLimit | undefined {
    const { limits } = this.planned;
    if (limits !== undefined) return limits[range];
    const { choice } = this.planned.solution;
    const next = choice.cascades[index - 1];
    if (next === undefined) return undefined;
    const error = choice.unchanging === undefined ? this.errorOf(range, next) : choice.unchanging.fault;
    if (error === undefined) return undefined;
    const { by, model } = error;
    return { accuracy: next.accuracy, by, stage: this.problem.models[model]?.name as string };
  }

  private errorOf(range: number, cascade: Cascade): GearError | undefined {
    const { placement } = this.planned.solution.choice;
    const tried = new GearTrials(this.problem, this.planned.arrivalsOf).try(range, cascade, placement);
    return 'gear' in tried ? undefined : tried.error;
  }

  placement({ devices }: OpenCluster): Pick<GearPlan, 'classes' | 'placement'> {
    const { of, files, spec } = this.planned;
    const { device } = of;
    const perServer = devices[device]?.perServer ?? 1;
    const nameOf = (model: number) => this.problem.models[model]?.name as string;
    const placement = this.held.flatMap((set, gpu) => {
      const stages = this.used.filter((model) => (set >> model) & 1).map(nameOf);
      return seatsFrom(gpu, {
        devices: 1,
        virtual: 1,
        perServer,
        seat: { class: device, virtual: 1, stages },
      });
    });
    const emulated = new Set(
      files.profiles.some(({ profile }) => isEmulated(profile.devices[device])) ? [device] : [],
    );
    const sets = [
      {
        device,
        virtual: 1,
        replicas: this.held.length,
        standby: 0,
        stages: spec.models.map((_, i) => i),
        shared: true,
        path: '',
      },
    ];
    return { placement, classes: classUses(sets, files.cluster, emulated) };
  }
}
