import type { OpenCluster } from './cluster.js';
import { type Fault, fault } from './errors.js';
import type { Measurement, Profile } from './profile.js';
import { unfitFigures } from './unfit-figures.js';

/** Classes are the device classes of a cluster, some of which may be aliases: they have the figures of another class. */
type Classes = Pick<OpenCluster, 'devices'>;

/** measuredAs gives the class by which profiles know a class of a cluster: the one that its `as` names, else itself. */
export function measuredAs({ devices }: Classes, name: string): string {
  return (Object.hasOwn(devices, name) ? devices[name]?.as : undefined) ?? name;
}

/** classText names a class of a cluster, and the class that it is an alias of. */
export function classText(cluster: Classes, name: string): string {
  const as = measuredAs(cluster, name);
  return as === name ? name : `${name} (as ${as})`;
}

/**
 * withAliases gives a profile that has the figures of each alias in a cluster under the name of the alias too, as if they
 * had been measured there. The aliases share the figures with their class, and are in no file: what is written, hashed or
 * named as an input is the profile itself. A class that the profile has figures of keeps them, as `aliasFaults` tells.
 */
export function withAliases(profile: Profile, { devices }: Classes): Profile {
  const aliases = Object.entries(devices).flatMap(([name, { as }]) =>
    as !== undefined && has(profile, as) && !has(profile, name) ? [{ name, as }] : [],
  );
  if (aliases.length === 0) return profile;
  const { measurement } = profile;
  return {
    ...profile,
    devices: withNames(profile.devices, aliases),
    ...(measurement === undefined ? {} : { measurement: aliasedMeasurement(profile, measurement, aliases) }),
  };
}

/** aliasedProfiles gives profiles with the aliases of a cluster, each file of them once more only where it has any. */
export function aliasedProfiles(
  files: readonly { readonly value: Profile; readonly path: string }[],
  cluster: Classes,
): { readonly profile: Profile; readonly path: string }[] {
  const known = new Map<Profile, Profile>();
  return files.map(({ value, path }) => {
    const profile = known.get(value) ?? withAliases(value, cluster);
    known.set(value, profile);
    return { profile, path };
  });
}

/** aliasFaults refuses aliases of which profiles have figures of their own: nobody knows which of both are meant. */
export function aliasFaults(
  { devices }: Classes,
  profiles: readonly { readonly profile: Profile; readonly path: string }[],
): Fault[] {
  const files = new Map(profiles.map(({ profile, path }) => [path, profile]));
  return Object.entries(devices).flatMap(([name, { as }]) =>
    [...files].flatMap(([path, profile]) =>
      as === undefined || !has(profile, name) || profile.devices[name] === profile.devices[as]
        ? []
        : [
            fault(
              `is ${as}, and ${path} has figures of ${name} itself: leave out "as" to plan with those, or give the class another name`,
              `/cluster/devices/${name}/as`,
            ),
          ],
    ),
  );
}

/** selfAliasFaults refuses aliases of themselves and of other aliases, also of a cluster that is not what its schema says. */
export function selfAliasFaults(read: unknown, at: string): Fault[] {
  const cluster = { devices: aliasesIn(read) };
  return Object.entries(cluster.devices).flatMap(([name, { as }]) => {
    const path = `${at}/devices/${name}/as`;
    if (as === name) return [fault(`is ${as}, the class itself: leave it out, or name another class`, path)];
    const next = measuredAs(cluster, as);
    if (next === as) return [];
    const end = endOf(cluster, as);
    const advice = end === undefined ? 'name a class that profiles have' : `write ${end}`;
    return [fault(`is ${as}, which is an alias of ${next}: ${advice}`, path)];
  });
}

/** aliasesIn gives the classes of a cluster that name another one. */
function aliasesIn(cluster: unknown): Record<string, { readonly as: string }> {
  const { devices } = (cluster ?? {}) as { readonly devices?: unknown };
  if (typeof devices !== 'object' || devices === null) return {};
  const named = Object.entries(devices).flatMap(([name, one]: [string, { as?: unknown } | null]) =>
    typeof one?.as === 'string' ? [[name, { as: one.as }] as const] : [],
  );
  return Object.fromEntries(named);
}

/** endOf follows aliases to the class that is none; undefined where they lead in a circle. */
function endOf(cluster: Classes, from: string): string | undefined {
  const seen = new Set<string>();
  for (let name = from; !seen.has(name); name = measuredAs(cluster, name)) {
    if (measuredAs(cluster, name) === name) return name;
    seen.add(name);
  }
  return undefined;
}

/** profiledClasses lists the classes of a profile that were measured: an alias has the very figures of such a class. */
export function profiledClasses({ devices }: Pick<Profile, 'devices'>): string[] {
  return Object.keys(devices).filter((name) => homeOf(devices, name) === name);
}

/** figuresPlace says where in a profile's file the figures of a class are, which may be an alias. */
export function figuresPlace(path: string, { devices }: Pick<Profile, 'devices'>, name: string): string {
  return `${path}#/devices/${homeOf(devices, name)}`;
}

/** homeOf gives the first class that has the figures of a class: the class that an alias is of. */
export function homeOf(devices: Profile['devices'], name: string): string {
  return Object.keys(devices).find((one) => devices[one] === devices[name]) ?? name;
}

interface Alias {
  readonly name: string;
  readonly as: string;
}

function has({ devices }: Profile, name: string): boolean {
  return Object.hasOwn(devices, name);
}

function withNames<T>(byClass: Readonly<Record<string, T>>, aliases: readonly Alias[]): Record<string, T> {
  const named = aliases.flatMap(({ name, as }) =>
    Object.hasOwn(byClass, as) ? [[name, byClass[as] as T] as const] : [],
  );
  return { ...byClass, ...Object.fromEntries(named) };
}

/** aliasedMeasurement gives everything that a measurement says by class under the names of aliases too. */
function aliasedMeasurement(
  profile: Profile,
  measurement: Measurement,
  aliases: readonly Alias[],
): Measurement {
  const { blockSumOverWhole, predictedOverWhole, correctedBy, host } = measurement;
  const ratios = Object.entries({ blockSumOverWhole, predictedOverWhole, correctedBy }).flatMap(
    ([key, byClass]) => (byClass === undefined ? [] : [[key, withNames(byClass, aliases)] as const]),
  );
  const unfit = unfitFigures(profile);
  const ofAliases = aliases.flatMap(({ name, as }) =>
    unfit.filter((one) => one.class === as).map((one) => ({ ...one, class: name })),
  );
  return {
    ...measurement,
    ...Object.fromEntries(ratios),
    ...(ofAliases.length === 0 ? {} : { unfit: [...unfit, ...ofAliases] }),
    ...(host === undefined ? {} : { host: withHosts(host, aliases) }),
  };
}

type Host = NonNullable<Measurement['host']>;

/** withHosts names the hosts of aliases: a merged profile lists hosts by class, also those of profiles that were merged before. */
function withHosts(host: Host, aliases: readonly Alias[]): Host {
  const { classes } = host;
  if (typeof classes !== 'object' || classes === null) return host;
  const known = classes as Record<string, Host>;
  const named = aliases.flatMap((alias) =>
    Object.hasOwn(known, alias.as)
      ? [[alias.name, withHosts(known[alias.as] as Host, [alias])] as const]
      : [],
  );
  return { ...host, classes: { ...known, ...Object.fromEntries(named) } };
}
