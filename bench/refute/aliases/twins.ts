import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeviceProfile, OpenCluster, OpenDeviceClass, Profile } from '../../../src/formats/index.js';
import type { Dice } from '../../seeded/dice.js';

/**
 * Twins are two folders with the same spec, whose cluster has more classes in both: they differ in where the figures of
 * those are.
 */
export interface Twins {
  /** The spec whose cluster says by `as` which figures the classes have. */
  readonly aliased: string;
  /** The spec whose profiles have copies of the figures under the names of the classes. */
  readonly copied: string;
  readonly cluster: OpenCluster;
  /** The classes that are aliases, with the class that each is of. */
  readonly aliases: Readonly<Record<string, string>>;
}

type SpecWithCluster = { cluster: string | OpenCluster; slo?: { latencyMs?: number } };

/** Of cascades, answers without a plan try many numbers of devices of each class, which takes long. */
const LONGER_SLO = 3;

/**
 * madeTwins adds one or two classes to the cluster of a spec that was written into a folder: each has the figures of a class
 * there, and a count, a price and servers of its own. At times it takes the place of the class itself.
 */
export async function madeTwins(dice: Dice, spec: string, folder: string): Promise<Twins> {
  const made = JSON.parse(await readFile(spec, 'utf8')) as SpecWithCluster;
  if (made.slo?.latencyMs !== undefined) made.slo.latencyMs *= LONGER_SLO;
  const own =
    typeof made.cluster === 'string'
      ? (JSON.parse(await readFile(join(folder, made.cluster), 'utf8')) as OpenCluster)
      : made.cluster;
  const names = Object.keys(own.devices);
  const of = dice.chance(0.3) ? names : [dice.pick(names)];
  const aliases = Object.fromEntries(of.map((name) => [`${name}-spot`, name]));
  const added = of.map((name) => [`${name}-spot`, anotherClass(dice, own.devices[name] ?? {})] as const);
  // A class that a stage or model names stays in the cluster.
  const replaces = !JSON.stringify({ ...made, cluster: {} }).includes(`"${of[0]}"`) && dice.chance(0.3);
  const kept = Object.entries(own.devices).filter(([name]) => !(replaces && name === of[0]));
  const cluster = (isAliased: boolean): OpenCluster => ({
    ...own,
    devices: Object.fromEntries([
      ...kept,
      ...added.map(([name, device]) => [name, isAliased ? { as: aliases[name], ...device } : device]),
    ]),
  });
  await measureMore(dice, folder);
  const aliased = await written(folder, 'aliased', { made, cluster: cluster(true), copies: {} });
  const copied = await written(folder, 'copied', { made, cluster: cluster(false), copies: aliases });
  return { aliased, copied, cluster: cluster(true), aliases };
}

/**
 * measureMore gives the profiles of a folder what else profiles say of each class: spreads, and which figures are unfit
 * or emulated.
 */
async function measureMore(dice: Dice, folder: string): Promise<void> {
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.json')) continue;
    const path = join(folder, file);
    const profile = JSON.parse(await readFile(path, 'utf8')) as Profile;
    if (profile.kind !== 'profile') continue;
    for (const device of Object.values(profile.devices)) {
      if (dice.chance(0.8))
        device.blockLatencyP95Us = scaled(device.blockLatencyUs, 1 + dice.below(50) / 100);
      if (dice.chance(0.1)) Object.assign(device, { emulated: true, slowdown: 2 });
    }
    const [name] = Object.keys(profile.devices) as [string];
    const warning = `${name} 1/1 batch 1 block 0 is unfit: it varies`;
    const cell = {
      class: name,
      virtual: 1,
      batch: 1,
      figures: [{ part: 'block' as const, block: 0 }],
      warning,
    };
    // Before version 1.4, only the warnings said what is unfit.
    if (dice.chance(0.4))
      profile.measurement = { warnings: [warning], ...(dice.chance(0.5) ? { unfit: [cell] } : {}) };
    await writeFile(path, JSON.stringify(profile));
  }
}

function scaled(table: DeviceProfile['blockLatencyUs'], factor: number): DeviceProfile['blockLatencyUs'] {
  return Object.fromEntries(
    Object.entries(table).map(([virtual, byBatch]) => [
      virtual,
      Object.fromEntries(
        Object.entries(byBatch).map(([batch, row]) => [batch, row.map((us) => us && us * factor)]),
      ),
    ]),
  );
}

function anotherClass(dice: Dice, device: OpenDeviceClass): OpenDeviceClass {
  const { count, hourlyCost, taken: _, ...rest } = device;
  return {
    ...rest,
    ...(count === undefined || dice.chance(0.2)
      ? count === undefined
        ? {}
        : { count }
      : { count: 1 + dice.below(2) }),
    ...(hourlyCost === undefined ? {} : { hourlyCost: hourlyCost * dice.pick([0.3, 1, 1.7]) }),
    perServer: 1 + dice.below(2),
  };
}

interface Twin {
  readonly made: SpecWithCluster;
  readonly cluster: OpenCluster;
  readonly copies: Readonly<Record<string, string>>;
}

/** written writes a spec and copies of the files beside the first one; profiles get the figures that the classes lack. */
async function written(folder: string, name: string, { made, cluster, copies }: Twin): Promise<string> {
  const into = join(folder, name);
  await mkdir(into);
  for (const file of await readdir(folder, { withFileTypes: true })) {
    if (!file.isFile()) continue;
    const text = await readFile(join(folder, file.name), 'utf8');
    await writeFile(join(into, file.name), file.name.endsWith('.json') ? withCopies(text, copies) : text);
  }
  const path = join(into, 'spec.json');
  const isFile = typeof made.cluster === 'string';
  if (isFile) await writeFile(join(into, made.cluster as string), JSON.stringify(cluster));
  await writeFile(path, JSON.stringify(isFile ? made : { ...made, cluster }));
  return path;
}

function withCopies(text: string, copies: Readonly<Record<string, string>>): string {
  const profile = JSON.parse(text) as Profile;
  if (profile.kind !== 'profile') return text;
  for (const [name, of] of Object.entries(copies))
    if (profile.devices[of] !== undefined) copyFigures(profile, of, name);
  return JSON.stringify(profile);
}

function copyFigures(profile: Profile, of: string, name: string): void {
  profile.devices[name] = profile.devices[of] as DeviceProfile;
  const { warnings = [], unfit } = profile.measurement ?? {};
  const renamed = (warning: string) => warning.replace(new RegExp(`^${of} `), `${name} `);
  const own = warnings.filter((warning) => warning.startsWith(`${of} `));
  if (own.length > 0)
    profile.measurement = { ...profile.measurement, warnings: [...warnings, ...own.map(renamed)] };
  const unfitOf = unfit?.filter((one) => one.class === of) ?? [];
  if (unfitOf.length > 0)
    profile.measurement = {
      ...profile.measurement,
      unfit: [
        ...(unfit ?? []),
        ...unfitOf.map((one) => ({ ...one, class: name, warning: renamed(one.warning) })),
      ],
    };
}
