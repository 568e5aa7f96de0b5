import { pushAll } from '../../collections/index.js';
import {
  type Cluster,
  type DeviceProfile,
  distinctFaults,
  type Fault,
  fault,
  figuresPlace,
  layersBeforeBlocks,
  type Profile,
  type ProfiledSpan,
  shown,
} from '../../formats/index.js';
import type { ProblemModel, ResolvedPlanner } from '../problem.js';

/** Sixteen thousand years. The search holds no longer times. */
const MOST_LATENCY_US = 5e17;

/**
 * profileFaults finds the faults that keep a profile from being planned with: figures that are missing, null, negative
 * or not finite, rows of different lengths, and virtual sizes that the cluster names and the profile lacks. It looks
 * only at classes that the model may use. By layers it also demands layers, a block for each (it names the first three
 * without one), and times of each class at v = 1, batch 1.
 * @param path the profile's file, to which faults refer
 */
export function profileFaults(
  model: ProblemModel,
  path: string,
  { cluster, planner }: { readonly cluster: Cluster; readonly planner: ResolvedPlanner },
): Fault[] {
  const { profile } = model;
  const blocks = profile.blocks.length;
  return distinctFaults([
    ...cutFaults(model, path),
    ...(planner.granularity === 'layer' ? layerFaults(model, path) : []),
    ...model.classes.flatMap((name) => {
      const at = figuresPlace(path, profile, name);
      const device = profile.devices[name] as DeviceProfile;
      const sizes = cluster.devices[name]?.virtual ?? [1];
      return [
        ...sizeFaults(device, sizes, name, at),
        ...eachCell(device.blockLatencyUs, { sizes, at: `${at}/blockLatencyUs` }, (row, here) =>
          rowFaults(row, { length: blocks, unit: 'blocks' }, here),
        ),
        ...eachCell(device.pairLatencyUs, { sizes, at: `${at}/pairLatencyUs` }, (row, here) =>
          pairFaults(row, blocks, here),
        ),
        ...eachCell(device.wholeLatencyUs, { sizes, at: `${at}/wholeLatencyUs` }, timedFaults),
        ...eachCell(device.spanLatencyUs, { sizes, at: `${at}/spanLatencyUs` }, (spans, here) =>
          spanFaults(spans, layerCount(profile), here),
        ),
      ];
    }),
  ]);
}

function cutFaults({ profile }: ProblemModel, path: string): Fault[] {
  return profile.blocks.flatMap(({ cutBytes, weightBytes }, i) => [
    ...(isCount(cutBytes)
      ? []
      : [fault(`is ${cutBytes}, not a number of bytes`, `${path}#/blocks/${i}/cutBytes`)]),
    ...(weightBytes === undefined || isCount(weightBytes)
      ? []
      : [fault(`is ${weightBytes}, not a number of bytes`, `${path}#/blocks/${i}/weightBytes`)]),
  ]);
}

function sizeFaults(device: DeviceProfile, sizes: readonly number[], name: string, at: string): Fault[] {
  const has = Object.keys(device.blockLatencyUs);
  return sizes
    .filter((v) => Object.keys(device.blockLatencyUs[v] ?? {}).length === 0)
    .map((v) =>
      fault(
        `lacks virtual size ${v}, which the cluster names for ${name}; it has ${has.join(', ') || 'none'}`,
        `${at}/blockLatencyUs`,
      ),
    );
}

/** eachCell gathers the faults of a table's cells, at the virtual sizes that count, each with its place. */
function eachCell<T>(
  table: Readonly<Record<string, Readonly<Record<string, T>>>> | undefined,
  { sizes, at }: { readonly sizes: readonly number[]; readonly at: string },
  faultsOf: (cell: T, at: string) => Fault[],
): Fault[] {
  return sizes.flatMap((v) =>
    Object.entries(table?.[v] ?? {}).flatMap(([batch, cell]) => faultsOf(cell, `${at}/${v}/${batch}`)),
  );
}

function rowFaults(
  row: readonly (number | null)[],
  { length, unit }: { readonly length: number; readonly unit: string },
  at: string,
): Fault[] {
  if (row.length !== length) return [fault(`has ${row.length} ${unit}; the model has ${length}`, at)];
  return row.flatMap((us, i) => {
    if (us === null) return [fault('was not measured (null)', `${at}/${i}`)];
    return latencyFaults(us, `${at}/${i}`);
  });
}

function latencyFaults(us: number, at: string): Fault[] {
  if (us > MOST_LATENCY_US)
    return [fault(`is ${us} µs; latencies up to ${MOST_LATENCY_US} µs are planned with`, at)];
  return Number.isFinite(us) && us >= 0 ? [] : [fault(`is ${us}, not a latency`, at)];
}

/** Pairs may be missing or null, but each row has one figure per pair of neighbouring blocks. */
function pairFaults(row: readonly (number | null)[], blocks: number, at: string): Fault[] {
  if (row.length !== Math.max(0, blocks - 1))
    return [fault(`has ${row.length} pairs; the model's ${blocks} blocks make ${blocks - 1}`, at)];
  return row.flatMap((us, i) => (us === null ? [] : latencyFaults(us, `${at}/${i}`)));
}

/** timedFaults finds a timed latency that is not above 0, and the other faults of latencies. */
function timedFaults(us: number, at: string): Fault[] {
  return us > 0 ? latencyFaults(us, at) : [fault(`is ${us}, not a latency`, at)];
}

function layerCount({ layers, blocks }: Profile): number {
  return layers?.length ?? layersBeforeBlocks(blocks)[blocks.length] ?? 0;
}

/** A timed span has layers of the model, in order. */
function spanFaults(spans: readonly ProfiledSpan[], layers: number, at: string): Fault[] {
  return spans.flatMap(({ layers: [from, to], us }, i) => {
    const here = `${at}/${i}`;
    const said = `is of layers ${from} to ${to}; the model has ${layers}`;
    const misplaced = from < to && to <= layers ? [] : [fault(said, `${here}/layers`)];
    return [...misplaced, ...timedFaults(us, `${here}/us`)];
  });
}

function isCount(value: number): boolean {
  return Number.isFinite(value) && value >= 0;
}

/** The blocks name all layers, in order. */
function misplacedFaults({ layers = [], blocks }: Profile, path: string): Fault[] {
  const named = blocks.flatMap(({ nodes = [] }) => nodes);
  const known = new Set(named);
  const homeless = [...layers.entries()].filter(([, { name }]) => !known.has(name));
  if (homeless.length > 0)
    return homeless.slice(0, 3).map(([i]) => fault('is in no block', `${path}#/layers/${i}`));
  const i = named.findIndex((name, k) => name !== layers[k]?.name);
  if (i < 0) return [];
  const here = layers[i] === undefined ? 'the layers end' : `layer ${i} is ${shown(layers[i].name)}`;
  return [fault(`name ${shown(named[i])} where ${here}`, `${path}#/blocks`)];
}

/** Layer granularity needs the layers, the block of each, and their times at v = 1, batch 1. */
function layerFaults(model: ProblemModel, path: string): Fault[] {
  const { profile } = model;
  const layers = profile.layers ?? [];
  if (layers.length === 0) return [fault('has no layers, which granularity: layer needs', `${path}#/layers`)];
  const faults = misplacedFaults(profile, path);
  for (const name of model.classes) {
    const at = `${figuresPlace(path, profile, name)}/layerLatencyUs`;
    const table = profile.devices[name]?.layerLatencyUs ?? {};
    if (table['1']?.['1'] === undefined) faults.push(fault('lacks virtual size 1, batch 1', at));
    pushAll(
      faults,
      eachCell(table, { sizes: Object.keys(table).map(Number), at }, (row, here) =>
        rowFaults(row, { length: layers.length, unit: 'layers' }, here),
      ),
    );
  }
  return faults;
}
