import type { Cluster, DeviceProfile, Fault, LatencyTable } from '../../artifacts/index.js';
import { fault } from '../../artifacts/index.js';
import type { ProblemModel, ResolvedPlanner } from '../problem.js';
import { blockOfLayers } from './layer-rows.js';

/**
 * Eleven days. Latencies of ranges of blocks are differences of sums, in which a longer latency would leave nothing of
 * the others.
 */
const MOST_LATENCY_US = 1e12;

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
  return [
    ...cutFaults(model, path),
    ...(planner.granularity === 'layer' ? layerFaults(model, path) : []),
    ...model.classes.flatMap((name) => {
      const at = `${path}#/devices/${name}`;
      const device = profile.devices[name] as DeviceProfile;
      const sizes = cluster.devices[name]?.virtual ?? [1];
      return [
        ...sizeFaults(device, sizes, name, at),
        ...tableFaults(device.blockLatencyUs, sizes, profile.blocks.length, 'blocks', `${at}/blockLatencyUs`),
      ];
    }),
  ];
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

function tableFaults(
  table: LatencyTable,
  sizes: readonly number[],
  length: number,
  unit: string,
  at: string,
): Fault[] {
  return sizes.flatMap((v) =>
    Object.entries(table[v] ?? {}).flatMap(([batch, row]) =>
      rowFaults(row, length, unit, `${at}/${v}/${batch}`),
    ),
  );
}

function rowFaults(row: readonly (number | null)[], length: number, unit: string, at: string): Fault[] {
  if (row.length !== length) return [fault(`has ${row.length} ${unit}; the model has ${length}`, at)];
  return row.flatMap((us, i) => {
    if (us === null) return [fault('was not measured (null)', `${at}/${i}`)];
    if (us > MOST_LATENCY_US)
      return [fault(`is ${us} µs; latencies up to ${MOST_LATENCY_US} µs are planned with`, `${at}/${i}`)];
    return Number.isFinite(us) && us >= 0 ? [] : [fault(`is ${us}, not a latency`, `${at}/${i}`)];
  });
}

function isCount(value: number): boolean {
  return Number.isFinite(value) && value >= 0;
}

/** Layer granularity needs the layers, the block of each, and their times at v = 1, batch 1. */
function layerFaults(model: ProblemModel, path: string): Fault[] {
  const { profile } = model;
  const layers = profile.layers ?? [];
  if (layers.length === 0) return [fault('has no layers, which granularity: layer needs', `${path}#/layers`)];
  const homeless = [...blockOfLayers(profile).entries()].filter(([, block]) => block < 0);
  const faults = homeless.slice(0, 3).map(([i]) => fault('is in no block', `${path}#/layers/${i}`));
  for (const name of model.classes) {
    const at = `${path}#/devices/${name}/layerLatencyUs`;
    const table = profile.devices[name]?.layerLatencyUs ?? {};
    if (table['1']?.['1'] === undefined) faults.push(fault('lacks virtual size 1, batch 1', at));
    faults.push(...tableFaults(table, Object.keys(table).map(Number), layers.length, 'layers', at));
  }
  return faults;
}
