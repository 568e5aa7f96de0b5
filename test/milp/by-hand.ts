import type { Cluster, DeviceClass, PooledSpec, PooledSpecModel, Profile } from '../../src/formats/index.js';
import { type PooledProblem, resolvePooled } from '../../src/milp/index.js';

/** Block latencies by device, virtual size and batch size. */
export type Latencies = Record<string, Record<number, Record<number, number[]>>>;

/** A takes 1 ms for one request and 1.5 ms for two, so a GPU serves 1000 or 1333 requests per second. */
export const ON_A: Latencies = { A: { 1: { 1: [1000], 2: [1500] } } };

/** A model whose figures are written by hand. Cuts carry no bytes unless `cutBytes` is given. */
export interface ModelByHand extends Omit<PooledSpecModel, 'profile'> {
  readonly name: string;
  readonly latencyUs: Latencies;
  readonly cutBytes?: readonly number[];
  readonly weightBytes?: readonly number[];
}

export function profileByHand({ name, latencyUs, cutBytes, weightBytes }: ModelByHand): Profile {
  const blocks = Object.values(latencyUs)[0]?.[1]?.[1]?.length ?? 1;
  return {
    kind: 'profile',
    version: '1.0',
    model: { name },
    blocks: Array.from({ length: blocks }, (_, b) => ({
      cutBytes: cutBytes?.[b] ?? 0,
      ...(weightBytes === undefined ? {} : { weightBytes: weightBytes[b] as number }),
    })),
    devices: Object.fromEntries(
      Object.entries(latencyUs).map(([device, blockLatencyUs]) => [device, { blockLatencyUs }]),
    ),
  };
}

/**
 * problemByHand resolves a problem of a few figures. Its margin is a tenth of the SLO unless the planner gives another.
 */
export function problemByHand(
  devices: Record<string, DeviceClass>,
  models: readonly ModelByHand[],
  planner: PooledSpec['planner'] = {},
): PooledProblem {
  const cluster: Cluster = { devices, networkGbps: 8 };
  const margin = planner.sloMarginMs === undefined ? { sloMargin: 0.1 } : {};
  const spec: PooledSpec = {
    kind: 'pooled',
    cluster,
    models: models.map(({ name, latencyUs: _, cutBytes: __, weightBytes: ___, ...model }) => ({
      profile: name,
      ...model,
    })),
    planner: { ...margin, ...planner },
  };
  const profiles = models.map((model) => ({ profile: profileByHand(model), path: model.name }));
  return resolvePooled(spec, { cluster, profiles, where: 'by hand' });
}
