import type { DeviceProfile, Profile } from '../artifacts/index.js';
import { bytes, figure, milliseconds, orDash, type Table } from './table.js';

/**
 * latencyTable has one row per class, virtual size and batch that was measured: the whole model's latency, the sum of
 * its blocks, what blocks and pairs predict of the whole over what it took, and the requests/s of a whole device that
 * runs the whole model (the blocks one after another, where the whole was not measured).
 */
export function latencyTable(profile: Profile): Table {
  const rows: string[][] = [];
  for (const [name, device] of Object.entries(profile.devices)) {
    for (const [virtual, byBatch] of Object.entries(device.blockLatencyUs)) {
      for (const [batch, blocks] of Object.entries(byBatch)) {
        const sum = sumOf(blocks);
        const whole = device.wholeLatencyUs?.[virtual]?.[batch];
        const predicted = profile.measurement?.predictedOverWhole?.[name]?.[virtual]?.[batch];
        const us = whole ?? sum;
        if (!isMeasured(blocks) && whole === undefined) continue;
        rows.push([
          deviceName(name, device),
          `1/${virtual}`,
          batch,
          orDash(whole, milliseconds),
          orDash(sum, milliseconds),
          orDash(predicted, figure),
          us === undefined ? '—' : figure((Number(virtual) * Number(batch) * 1e6) / us),
        ]);
      }
    }
  }
  return {
    columns: ['device', 'size', 'batch', 'whole ms', 'blocks ms', 'predicted/whole', 'requests/s per device'],
    rows,
  };
}

/**
 * boundaryChangeLine states the change of the outputs by float16 at the cuts. `change` is a share of max|output|; it is
 * not finite where they overflow.
 */
export function boundaryChangeLine(change: number): string {
  return Number.isFinite(change)
    ? `float16 at every boundary changes outputs by up to ${change.toExponential(1)} of max|output|`
    : 'float16 at every boundary makes outputs infinite or not a number: values beyond ±65504 cross a cut';
}

/**
 * blockTable has one row per block: its nodes, the bytes that cross after it for one request, and its time in ms on
 * each class, at the smallest virtual size and the first batch size that was measured there.
 */
export function blockTable(profile: Profile): Table {
  const classes = Object.entries(profile.devices).flatMap(([name, device]) => {
    const byBatch = Object.values(device.blockLatencyUs)[0] ?? {};
    const first = Object.entries(byBatch).find(([, latencies]) => isMeasured(latencies));
    if (first === undefined) return [];
    const [batch, latencies] = first;
    return [{ head: `${deviceName(name, device)} ms (batch ${batch})`, latencies }];
  });
  const rows = profile.blocks.map((block, i) => [
    String(i),
    block.nodes ? nodeRange(block.nodes) : '',
    bytes(block.cutBytes),
    ...classes.map(({ latencies }) => orDash(latencies[i], milliseconds)),
  ]);
  return { columns: ['block', 'nodes', 'sends on', ...classes.map(({ head }) => head)], rows };
}

/** measuredText says at how many combinations of device, virtual size and batch size every block has been measured. */
export function measuredText({ devices }: Profile): string {
  const rows = Object.values(devices).flatMap(({ blockLatencyUs }) =>
    Object.values(blockLatencyUs).flatMap((byBatch) => Object.values(byBatch)),
  );
  const whole = rows.filter((row) => row.every((us) => us !== null)).length;
  return `${whole} of ${rows.length} combinations of device, virtual size and batch size are measured`;
}

function isMeasured(latencies: readonly (number | null)[]): boolean {
  return latencies.some((us) => us !== null);
}

function nodeRange(nodes: readonly string[]): string {
  const [first, last] = [nodes[0] ?? '', nodes.at(-1) ?? ''];
  return nodes.length <= 1 ? shorten(first) : `${shorten(first)} … ${shorten(last)} (${nodes.length})`;
}

function shorten(name: string): string {
  return name.length > 28 ? `…${name.slice(-27)}` : name;
}

function deviceName(name: string, device: DeviceProfile): string {
  return device.emulated ? `${name} (emulated, ${device.slowdown}× slower)` : name;
}

function sumOf(values: readonly (number | null)[]): number | undefined {
  let sum = 0;
  for (const value of values) {
    if (value === null) return undefined;
    sum += value;
  }
  return sum;
}

/** Up to this many lines about unfit figures are shown one by one. */
const MOST_UNFIT_LINES = 3;
const UNFIT = /(is|are) unfit\b/;

/**
 * warningLines gives a profile's warnings as a person reads them. On a busy machine most groups of figures are unfit in
 * nearly the same words, so that more than three such lines become one, which comes first.
 */
export function warningLines(warnings: readonly string[]): string[] {
  const unfit = warnings.filter((warning) => UNFIT.test(warning));
  if (unfit.length <= MOST_UNFIT_LINES) return [...warnings];
  const others = warnings.filter((warning) => !UNFIT.test(warning));
  const said = `figures are unfit at ${unfit.length} combinations of device, virtual size and batch (the profile names them in measurement.warnings), for example ${unfit[0]}`;
  return [said, ...others];
}
