import { figuresPlace, homeOf } from './aliases.js';
import { distinctFaults, type Fault, fault } from './errors.js';
import type { DeviceProfile, Profile, ProfiledCell } from './profile.js';
import { dipNotes } from './profile-contradictions.js';
import { unfitOf } from './unfit-figures.js';

/** MeasuredCells names figures of a profile that a plan uses, or could use: a device class and its cells. */
export interface MeasuredCells {
  readonly className: string;
  readonly cells: readonly Omit<ProfiledCell, 'className'>[];
}

/** ProfileFigures are figures of one profile on several classes. */
export interface ProfileFigures {
  readonly profile: Profile;
  /** The file of the profile, which faults name. */
  readonly path: string;
  readonly classes: readonly MeasuredCells[];
}

/** A note names this many combinations, or classes, and counts the others. */
const MOST_NAMED = 5;

/**
 * measurementNotes tells a person which figures of a profile are unfit, emulated or imported, of those that a plan could
 * use, and where a larger batch takes less time, of all. There is one note for each kind.
 * @param name how the notes call the model: its own name, or that of a stage
 */
export function measurementNotes(
  name: string,
  profile: Profile,
  classes: readonly MeasuredCells[],
): string[] {
  // An alias has the figures of its class, and the profile knows that one alone.
  const home = ({ className }: MeasuredCells): string => homeOf(profile.devices, className);
  const found = classes.flatMap((one) => unfitCells(profile, one).map(({ at }) => `${home(one)} ${at}`));
  const [unfit, names] = [[...new Set(found)], [...new Set(classes.map(home))]];
  const emulated = names.filter((one) => isEmulated(profile.devices[one]));
  const imported = names.filter((one) => isImported(profile, one));
  return [
    ...(unfit.length === 0
      ? []
      : [`${name}: its profile calls figures unfit that the plan could use: ${named(unfit)}`]),
    ...(emulated.length === 0
      ? []
      : [
          `${name}: its figures of ${named(emulated.map((one) => `${one}${slowdownText(profile, one)}`))} were measured on an emulated device`,
        ]),
    ...(imported.length === 0
      ? []
      : [`${name}: its figures of ${named(imported)} were imported, so nothing says how they were measured`]),
    ...dipNotes(profile),
  ];
}

/**
 * measurementFaults refuses every class of every profile whose figures `measurementNotes` would tell of, with what to do
 * about each kind. Where several stages or cases use one profile, its faults are reported once, for all their figures.
 */
export function measurementFaults(figures: readonly ProfileFigures[]): Fault[] {
  // An alias has the figures of its class, and so their faults.
  return distinctFaults(
    merged(figures).flatMap(({ profile, path, classes }) =>
      classes.flatMap((one) => classFaults(profile, one, path)),
    ),
  );
}

/** merged gives one entry for each file and class, with the cells of all entries, in the order of the first of them. */
function merged(figures: readonly ProfileFigures[]): ProfileFigures[] {
  const files = new Map<string, { profile: Profile; classes: Map<string, Map<string, Cell>> }>();
  for (const { profile, path, classes } of figures) {
    const file = files.get(path) ?? { profile, classes: new Map() };
    files.set(path, file);
    for (const { className, cells } of classes) {
      const kept = file.classes.get(className) ?? new Map<string, Cell>();
      file.classes.set(className, kept);
      for (const cell of cells) kept.set(cellText(cell), cell);
    }
  }
  return [...files].map(([path, { profile, classes }]) => ({
    path,
    profile,
    classes: [...classes].map(([className, cells]) => ({ className, cells: [...cells.values()] })),
  }));
}

type Cell = MeasuredCells['cells'][number];

function classFaults(profile: Profile, one: MeasuredCells, path: string): Fault[] {
  const { className } = one;
  const at = figuresPlace(path, profile, className);
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
    ...(isEmulated(profile.devices[className])
      ? [
          fault(
            `is an emulated device${slowdownText(profile, className)}; profile the model on the device itself`,
            at,
          ),
        ]
      : []),
    ...(isImported(profile, className)
      ? [fault('was imported from the files of another tool; profile the model on the device', at)]
      : []),
  ];
}

function unfitCells(
  profile: Profile,
  { className, cells }: MeasuredCells,
): { at: string; warning: string }[] {
  return cells.flatMap((cell) => {
    const [first] = unfitOf(profile, { className, ...cell });
    return first === undefined ? [] : [{ at: cellText(cell), warning: first.warning }];
  });
}

function cellText({ virtual, batch }: Cell): string {
  return `1/${virtual} batch ${batch}`;
}

/** isEmulated says whether the figures of a class were measured on another device that was held back to its speed. */
export function isEmulated(device: Pick<DeviceProfile, 'emulated' | 'slowdown'> | undefined): boolean {
  return device?.emulated === true || (device?.slowdown ?? 1) > 1;
}

/**
 * isImported says whether the figures of a class come from the files of another tool. A profile that was imported
 * before classes were marked names these files among its inputs.
 */
export function isImported({ devices, inputs = [] }: Profile, className: string): boolean {
  return devices[className]?.imported === true || inputs.some(({ role }) => role === 'latencies');
}

function slowdownText({ devices }: Profile, className: string): string {
  const slowdown = devices[className]?.slowdown;
  return slowdown === undefined ? '' : ` (${slowdown}× slower)`;
}

/** named lists the first few, and counts the others. */
function named(all: readonly string[]): string {
  const more = all.length - MOST_NAMED;
  return more <= 0 ? all.join(', ') : `${all.slice(0, MOST_NAMED).join(', ')} and ${more} more`;
}
