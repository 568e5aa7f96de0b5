import type { InitCluster, InitSpec } from '../api/index.js';
import { milliseconds, type Table } from './table.js';

/** proposalTable has one row per model of a spec that was begun: its SLO, and the latency that it follows from. */
export function proposalTable({ models, slo }: Pick<InitSpec, 'models' | 'slo'>): Table {
  return {
    // The SLO of a pipeline or cascade is made of what each of its models would have.
    columns: ['model', slo === undefined ? 'SLO ms' : 'ms', 'because of'],
    rows: models.map(({ name, sloMs, from }) => [
      name,
      String(sloMs),
      from === undefined
        ? 'as given'
        : `${from.times} × ${milliseconds(from.latencyUs)} ms on ${from.deviceClass} (${from.what}, batch ${from.batch})`,
    ]),
  };
}

/** proposalLine tells the SLO of a pipeline or cascade; undefined where each model has its own. */
export function proposalLine({ slo }: Pick<InitSpec, 'slo'>): string | undefined {
  if (slo === undefined) return undefined;
  const why = { sum: 'the sum of these', largest: 'the largest of these', given: 'as given' }[slo.from];
  return `SLO ${slo.sloMs} ms: ${why}`;
}

/** proposedDevicesTable has one row per class of the cluster of a spec that was begun. */
export function proposedDevicesTable({ cluster }: Pick<InitSpec, 'cluster'>): Table {
  return {
    columns: ['class', 'devices', 'virtual sizes'],
    rows: Object.entries(cluster.devices).map(([name, { count, virtual = [1] }]) => [
      name,
      String(count),
      virtual.map((v) => `1/${v}`).join(', '),
    ]),
  };
}

/** foundDevicesTable has one row per class of a cluster that was begun from nodes. */
export function foundDevicesTable({ cluster }: Pick<InitCluster, 'cluster'>): Table {
  return {
    columns: ['class', 'devices', 'per server', 'GiB', 'virtual sizes'],
    rows: Object.entries(cluster.devices).map(([name, { count, perServer, memoryGiB, virtual = [1] }]) => [
      name,
      String(count),
      String(perServer),
      memoryGiB === undefined ? '–' : String(memoryGiB),
      virtual.map((v) => `1/${v}`).join(', '),
    ]),
  };
}
