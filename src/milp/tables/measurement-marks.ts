import {
  type Cluster,
  type DeviceClass,
  type DeviceProfile,
  type Fault,
  fault,
  isImported,
  type Profile,
  unfitWarnings,
} from '../../artifacts/index.js';
import type { ProblemModel } from '../problem.js';

/** MeasuredClass is a device class that a plan could use, with the figures of it that the plan could be made of. */
interface MeasuredClass {
  readonly name: string;
  readonly device: DeviceProfile;
  readonly cells: readonly { readonly virtual: number; readonly batch: number }[];
}

/** What a model's figures were taken from: its profile, and the classes of the cluster that it may use. */
type Measured = Pick<ProblemModel, 'profile' | 'classes'>;

/** A note names this many combinations, or classes, and counts the others. */
const MOST_NAMED = 5;

/**
 * measurementNotes tells a person which figures of a model's profile are unfit, emulated or imported, of those that a
 * plan for the cluster could use. There is one note for each kind.
 */
export function measurementNotes({ profile, classes }: Measured, cluster: Cluster): string[] {
  const usable = usableClasses(profile, classes, cluster);
  const { name } = profile.model;
  const unfit = usable.flatMap((one) => unfitCells(profile, one).map(({ at }) => `${one.name} ${at}`));
  const emulated = usable.filter(isEmulated).map((one) => `${one.name}${slowdownText(one)}`);
  const imported = usable.filter((one) => isImported(profile, one.name)).map((one) => one.name);
  return [
    ...(unfit.length === 0
      ? []
      : [`${name}: its profile calls figures unfit that the plan could use: ${named(unfit)}`]),
    ...(emulated.length === 0
      ? []
      : [`${name}: its figures of ${named(emulated)} were measured on an emulated device`]),
    ...(imported.length === 0
      ? []
      : [`${name}: its figures of ${named(imported)} were imported, so nothing says how they were measured`]),
  ];
}

/**
 * measurementFaults refuses every class whose figures `measurementNotes` tells of, with what to do about each kind.
 * @param profiles one for each model, with the paths that faults name
 */
export function measurementFaults(
  models: readonly Measured[],
  profiles: readonly { readonly path: string }[],
  cluster: Cluster,
): Fault[] {
  return models.flatMap(({ profile, classes }, m) => {
    const path = profiles[m]?.path ?? profile.model.name;
    return usableClasses(profile, classes, cluster).flatMap((one) => classFaults(profile, one, path));
  });
}

function classFaults(profile: Profile, one: MeasuredClass, path: string): Fault[] {
  const at = `${path}#/devices/${one.name}`;
  const unfit = unfitCells(profile, one);
  const first = unfit[0];
  return [
    ...(first === undefined
      ? []
      : [
          fault(
            `has unfit figures at ${named(unfit.map((cell) => cell.at))}, for example ${first.warning}; measure them again on an idle machine, with more time (plan profile --max-ms)`,
            at,
          ),
        ]),
    ...(isEmulated(one)
      ? [fault(`is an emulated device${slowdownText(one)}; profile the model on the device itself`, at)]
      : []),
    ...(isImported(profile, one.name)
      ? [fault('was imported from the files of another tool; profile the model on the device', at)]
      : []),
  ];
}

/** usableClasses leaves out classes without a free GPU, and figures at virtual sizes that the cluster does not have. */
function usableClasses(profile: Profile, classes: readonly string[], cluster: Cluster): MeasuredClass[] {
  return classes.flatMap((name): MeasuredClass[] => {
    const { count, taken = 0, virtual: sizes = [1] } = cluster.devices[name] as DeviceClass;
    const device = profile.devices[name] as DeviceProfile;
    if (count <= taken) return [];
    const cells = sizes.flatMap((virtual) =>
      Object.keys(device.blockLatencyUs[virtual] ?? {}).map((batch) => ({ virtual, batch: Number(batch) })),
    );
    return [{ name, device, cells }];
  });
}

function unfitCells(profile: Profile, { name, cells }: MeasuredClass): { at: string; warning: string }[] {
  return cells.flatMap(({ virtual, batch }) => {
    const [warning] = unfitWarnings(profile, { className: name, virtual, batch });
    return warning === undefined ? [] : [{ at: `1/${virtual} batch ${batch}`, warning }];
  });
}

function isEmulated({ device }: MeasuredClass): boolean {
  return device.emulated === true || (device.slowdown ?? 1) > 1;
}

function slowdownText({ device: { slowdown } }: MeasuredClass): string {
  return slowdown === undefined ? '' : ` (${slowdown}× slower)`;
}

/** named lists the first few, and counts the others. */
function named(all: readonly string[]): string {
  const more = all.length - MOST_NAMED;
  return more <= 0 ? all.join(', ') : `${all.slice(0, MOST_NAMED).join(', ')} and ${more} more`;
}
