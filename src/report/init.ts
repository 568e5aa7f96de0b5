import type { InitSpec } from '../api/index.js';
import { milliseconds, type Table } from './table.js';

/** proposalTable has one row per model of a spec that was begun: its SLO, and the latency that it follows from. */
export function proposalTable({ models }: Pick<InitSpec, 'models'>): Table {
  return {
    columns: ['model', 'SLO ms', 'because of'],
    rows: models.map(({ name, sloMs, from }) => [
      name,
      String(sloMs),
      from === undefined
        ? 'as given'
        : `${from.times} × ${milliseconds(from.latencyUs)} ms on ${from.deviceClass} (${from.what}, batch ${from.batch})`,
    ]),
  };
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
