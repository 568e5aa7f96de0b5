import { emittedHead, everyInput, inputFile, loadArtifact, withOwnFaults } from '../artifacts/index.js';
import {
  type Fault,
  type FieldChange,
  fault,
  faultAt,
  firstFaults,
  type GateCheck,
  InputError,
  option,
  type PlanDifference,
} from '../formats/index.js';
import { type Plans, priceChange, type Tolerance, toleranceChecks } from './diff-tolerances.js';

/** No more fields are reported one by one. */
const MOST_FIELDS = 50;

/** DiffOptions says what of the difference is judged. */
export interface DiffOptions {
  /** check says whether the plans are judged to be the same, which `checks` then says. */
  readonly check?: boolean | undefined;
  /** The figures that are judged in place of that, by name, and how far each may differ. */
  readonly tolerance?: Readonly<Record<string, Tolerance>> | undefined;
}

/**
 * diffPlanFiles says what the plan `after` changes in the plan `before`: rates, pipelines, SLOs, GPUs that serve something
 * else, and all else by which they are served. Plans of pipelines are compared stage by stage, and those of cascades load
 * by load. It notes where a plan contradicts itself, since no other command uses such a plan, and does not judge it.
 * @throws InputError where a file is no plan, one to be judged contradicts itself, the plans are of two kinds, or a
 *   tolerance names a figure that they do not have; MissingError where it is missing
 */
export async function diffPlanFiles(
  before: string,
  after: string,
  { check = false, tolerance }: DiffOptions = {},
): Promise<PlanDifference> {
  const { PLAN_KINDS, planOf } = await import('../plans/index.js');
  const reading = everyInput('compare the plans', [
    loadArtifact(before, PLAN_KINDS),
    loadArtifact(after, PLAN_KINDS),
  ]);
  const said = `is for what ${option('check')} judges: give both`;
  const own = tolerance === undefined || check ? [] : [fault(said, option('tolerance'))];
  const [a, b] = await withOwnFaults('compare the plans', reading, () => own);
  if (own.length > 0) throw new InputError('compare the plans', own);
  if (a.kind !== b.kind)
    throw new InputError(`compare ${before} with ${after}`, [
      fault(`they are of two kinds: ${a.kind} and ${b.kind}`),
    ]);
  const head = emittedHead('plan-diff', [
    inputFile('before', a, undefined),
    inputFile('after', b, undefined),
  ]);
  const { told, fields } = planOf(a.value).diff(a.value, b.value);
  const contradicted = [a, b].map(({ value, path }) => ({
    path,
    faults: planOf(value).contradictions(value),
  }));
  if (check) refuseContradicted(`judge the changes from ${before} to ${after}`, contradicted);
  const notes = contradicted.flatMap(({ path, faults }) => contradictionNotes(faults, path));
  const [old, next] = [a, b].map(({ value }) => ({
    classes: planOf(value).uses(value),
    cluster: value.cluster,
  })) as [Plans['before'], Plans['after']];
  const priced = { ...head, ...told, ...priceChange(old, next) };
  const diff = withFields(priced, fields);
  const checks = check ? checksOf({ diff, before: old, after: next }, tolerance) : undefined;
  return {
    ...diff,
    ...(notes.length === 0 ? {} : { notes }),
    ...(checks === undefined ? {} : { checks }),
  };
}

/** checksOf judges the figures that tolerances name, or without any whether the plans are the same. */
function checksOf(plans: Plans, tolerance: DiffOptions['tolerance']): GateCheck[] {
  if (tolerance === undefined) return [{ what: 'same', held: plans.diff.same }];
  const { checks, faults } = toleranceChecks(tolerance, plans);
  if (faults.length > 0) throw new InputError('compare the plans', faults);
  return checks;
}

/**
 * refuseContradicted refuses to judge plans that contradict themselves, as `validate` refuses them: their figures may
 * not be true.
 */
function refuseContradicted(
  task: string,
  plans: readonly { readonly path: string; readonly faults: readonly Fault[] }[],
): void {
  const faults = plans.flatMap(({ path, faults: found }) =>
    found.map((one) => faultAt(one, `${path}#${one.path}`)),
  );
  if (faults.length === 0) return;
  throw new InputError(
    task,
    faults,
    'No command uses a plan that contradicts itself: make it again with plan solve.',
  );
}

function contradictionNotes(faults: readonly Fault[], path: string): string[] {
  if (faults.length === 0) return [];
  const said = firstFaults(faults).map(({ path: at, message }) => `${at} ${message}`);
  return [`${path} contradicts itself, so that no command uses it: ${said.join('; ')}`];
}

/** withFields adds fields that differ, by which plans are not the same. */
function withFields(diff: PlanDifference, fields: readonly FieldChange[]): PlanDifference {
  if (fields.length === 0) return diff;
  return { ...diff, fields: fields.slice(0, MOST_FIELDS), same: false };
}
