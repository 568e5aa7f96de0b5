import { decodedText, pathFrom, readWhole } from '../artifacts/index.js';
import {
  type Fault,
  fault,
  firstFaults,
  type GearPlan,
  type Loaded,
  option,
  sha256Of,
  type ToldFaults,
} from '../formats/index.js';
import type { PlanKind } from '../plans/index.js';
import { classLimitOf, type FamilyRecords, MOST_RECORD_BYTES, recordsOf } from '../records/index.js';
import type { VerdictOf } from '../simulator/index.js';

/** RecordsFile is the file that records were read from. */
export interface RecordsFile {
  readonly path: string;
  readonly sha256: string;
}

/** CascadeOfPlan is a plan that was read, with the models of its cascades. */
type CascadeOfPlan = Pick<Loaded<PlanKind>, 'value' | 'path'> & Pick<GearPlan, 'stages'>;

/**
 * certaintiesOf says how certain the model of a stage is of a request: of the first request as of the first sample, and
 * after the last sample as of the first again. So requests have the same fates under every policy.
 */
export function certaintiesOf({ samples, certainty }: FamilyRecords): VerdictOf {
  return (order, _row, stage) => (certainty[stage] as Float64Array)[order % samples] as number;
}

/**
 * familyRecords reads the records of a gear plan's models, by which requests are answered rightly or wrongly: those that
 * are named, or else those that the plan was made from.
 * @param told where every fault is added
 * @returns undefined after a fault
 */
export async function familyRecords(
  plan: CascadeOfPlan,
  named: string | undefined,
  told: ToldFaults,
): Promise<{ records: FamilyRecords; file: RecordsFile } | undefined> {
  const own = plan.value.inputs?.find(({ role }) => role === 'records');
  const path = named ?? (own === undefined ? undefined : pathFrom(plan.path, own.path));
  if (path === undefined) {
    told.missing([
      fault('names no records, by which requests are answered: give them', option('records', plan.path)),
    ]);
    return undefined;
  }
  try {
    const bytes = await readWhole(path, MOST_RECORD_BYTES);
    const sha256 = sha256Of(bytes);
    const isOther = named === undefined && sha256 !== own?.sha256;
    if (isOther) told.add(changed(path, own?.sha256 ?? '', sha256));
    const { stages } = plan;
    const names = stages.map(({ name }) => name);
    const found = await recordsOf(decodedText(bytes, path), names, classLimitOf(stages));
    if ('samples' in found) return isOther ? undefined : { records: found, file: { path, sha256 } };
    told.addAll(
      firstFaults(found.faults).map(({ path: at, message }) =>
        fault(message, at === '' ? path : `${path} ${at}`),
      ),
    );
  } catch (error) {
    told.addOfFile(path, error);
  }
  return undefined;
}

function changed(path: string, was: string, is: string): Fault {
  return fault(
    `are not the records the plan was made from: their digest is ${is.slice(0, 12)}…, not ${was.slice(0, 12)}…; solve again, or name them with ${option('records')}`,
    path,
  );
}
