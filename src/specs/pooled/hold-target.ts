import { type Fault, fault, InputError, type Loaded, option, type PooledSpec } from '../../formats/index.js';
import type { HoldTarget } from '../../hold/index.js';

/** This many plans are simulated at most; the second number is for each model after the first. */
const MOST_TRIALS = [40, 12] as const;

/**
 * holdTarget gives what a plan of a spec is to hold: what the option says, else what the spec says. The share that a model
 * has of its own comes before both. Where there is no share for all, every model must have its own.
 * @param hold the share of each model's requests, in place of that of the planner
 * @returns undefined where nothing asks for it
 * @throws InputError where some models have no share and others do, or as `arrivalFaults` says
 */
export async function holdTarget(
  { value: { planner, models }, path }: Pick<Loaded<'pooled'>, 'value' | 'path'>,
  hold: number | undefined,
): Promise<HoldTarget | undefined> {
  const asked = typeof planner?.hold === 'number' ? { attainment: planner.hold } : planner?.hold;
  const common = hold ?? asked?.attainment;
  const shares = models.map((model) => model.hold ?? common);
  if (shares.every((share) => share === undefined)) return undefined;
  const faults = [...shareFaults(shares), ...(await arrivalFaults(planner))];
  if (faults.length > 0) throw new InputError(`plan ${path}`, faults);
  const [first, other] = MOST_TRIALS;
  return {
    attainment: shares as number[],
    arrivals: asked?.arrivals ?? 'poisson',
    ...(asked?.cv === undefined ? {} : { cv: asked.cv }),
    mostTrials: first + other * (models.length - 1),
  };
}

/** shareFaults refuses shares of some models where the others have none. */
function shareFaults(shares: readonly (number | undefined)[]): Fault[] {
  if (shares.every((share) => share !== undefined)) return [];
  const lacking = shares.flatMap((share, m) => (share === undefined ? [`/models/${m}`] : []));
  const said = `needs a share for the others too: give planner.hold or ${option('hold')}, or hold at ${lacking.join(', ')}`;
  return shares.flatMap((share, m) => (share === undefined ? [] : [fault(said, `/models/${m}/hold`)]));
}

/** arrivalFaults says what is wrong with the arrivals under which a spec is to hold: gamma needs `cv`, and only gamma has one. */
export async function arrivalFaults(planner: PooledSpec['planner']): Promise<Fault[]> {
  if (planner?.hold === undefined || typeof planner.hold === 'number') return [];
  // Few specs say under which arrivals plans are to hold, and no other needs the room.
  const { variationFault } = await import('../../workload/index.js');
  const { arrivals = 'poisson', cv } = planner.hold;
  const wrong = cv === undefined ? undefined : variationFault(cv);
  return [
    ...(arrivals === 'gamma' && cv === undefined
      ? [fault('gamma needs cv, how bursty it is (1: as Poisson)', '/planner/hold/arrivals')]
      : []),
    ...(arrivals !== 'gamma' && cv !== undefined
      ? [fault('is for arrivals: gamma', '/planner/hold/cv')]
      : []),
    ...(wrong === undefined ? [] : [fault(wrong, '/planner/hold/cv')]),
  ];
}

/**
 * ownShareNotes names the models that a share for all, given as an option, does not apply to, because the spec gives them
 * another one of their own.
 * @param names the names of the models, in order
 */
export function ownShareNotes(
  { models }: Pick<PooledSpec, 'models'>,
  names: readonly string[],
  hold: number | undefined,
): string[] {
  if (hold === undefined) return [];
  return models.flatMap((model, m) =>
    model.hold === undefined || model.hold === hold
      ? []
      : [`${names[m]} is to hold ${model.hold}, as the spec says of it, and not ${hold} as asked for all`],
  );
}
