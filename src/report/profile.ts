import type { PartitionedModel } from '../api/index.js';
import {
  type DeviceProfile,
  type Profile,
  summedUs,
  toldUp,
  unfitFigures,
  wholeLatencyUs,
} from '../formats/index.js';
import { bytes, figure, milliseconds, orDash, type Table } from './table.js';

/**
 * latencyTable has one row per class, virtual size and batch that was measured: the whole model's latency, the sum of
 * its blocks, what blocks and pairs predict of the whole over what it took, and the requests/s of a whole device that
 * runs the whole model (the blocks one after another, where the whole was not measured). A figure that no row has gets no
 * column.
 */
export function latencyTable(profile: Profile): Table {
  const rows: string[][] = [];
  for (const [name, device] of Object.entries(profile.devices)) {
    for (const [virtual, byBatch] of Object.entries(device.blockLatencyUs)) {
      for (const [batch, blocks] of Object.entries(byBatch)) {
        const sum = summedUs(blocks);
        const whole = device.wholeLatencyUs?.[virtual]?.[batch];
        const predicted = profile.measurement?.predictedOverWhole?.[name]?.[virtual]?.[batch];
        const us = wholeLatencyUs(device, { virtual: Number(virtual), batch: Number(batch) });
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
  const columns = [...PLACE_COLUMNS, ...LATENCY_COLUMNS, 'requests/s per device'];
  const shown = columns.map(
    (head, i) => !LATENCY_COLUMNS.includes(head) || rows.some((row) => row[i] !== '—'),
  );
  return {
    columns: columns.filter((_, i) => shown[i]),
    rows: rows.map((row) => row.filter((_, i) => shown[i])),
    spare: ['predicted/whole', 'blocks ms'],
  };
}

const PLACE_COLUMNS = ['device', 'size', 'batch'];
/** A profile may lack these figures: two blocks predict nothing of the whole, and an imported model may have no whole. */
const LATENCY_COLUMNS = ['whole ms', 'blocks ms', 'predicted/whole'];

/**
 * boundaryChangeLine states the change of the outputs by float16 at the cuts. `change` is a share of max|output|; it is
 * not finite where they overflow.
 */
export function boundaryChangeLine(change: number): string {
  return Number.isFinite(change)
    ? `float16 at every boundary changes outputs by up to ${upTo(change)} of max|output|`
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
  const heads = classes.map(({ head }) => head);
  return {
    columns: ['block', 'nodes', 'sends on', ...heads],
    rows,
    spare: ['nodes', 'sends on', ...heads.slice(1).toReversed()],
  };
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

/** These words say where or how much; warnings that differ only in them are of one kind. */
// A profile has its warnings in words alone except for unfit figures (`measurement.unfit`), so their kind is
// read from these.
const PLACE = /^.* 1\/\d+ batch \d+( block \d+| whole model)?|(?<=^(output|layers of) )\S+/;
const AMOUNT = /-?\d[\d.,]*/g;

/**
 * warningLines gives a profile's warnings as a person reads them: one line for each kind, in the order in which the
 * kinds first appear. It names the first warning of its kind, and says how many more there are.
 */
export function warningLines(profile: Pick<Profile, 'measurement' | 'devices'>): string[] {
  const unfit = new Set(unfitFigures(profile).map(({ warning }) => warning));
  const kinds = new Map<string, string[]>();
  for (const warning of profile.measurement?.warnings ?? []) {
    const kind = unfit.has(warning) ? 'unfit' : kindOf(warning);
    kinds.set(kind, [...(kinds.get(kind) ?? []), warning]);
  }
  return [...kinds].map(([kind, [first = '', ...others]]) => {
    if (others.length === 0) return first;
    if (kind === 'unfit')
      return `figures are unfit at ${others.length + 1} combinations of device, virtual size and batch (the profile names them in measurement.warnings), for example ${first}`;
    return `${first} (and ${others.length} more like it, in measurement.warnings of the profile)`;
  });
}

function kindOf(warning: string): string {
  return warning.replace(PLACE, '').replaceAll(AMOUNT, '#');
}

/**
 * chainLines says how far a chain of blocks is from the whole model, as it is served, and with graph optimizations off
 * where that differs. It tells apart what ONNX Runtime's optimizations do to the whole model too.
 */
export function chainLines({
  largestDifference: off,
  servedDifference: served,
  levelsDifference: levels,
}: Omit<NonNullable<PartitionedModel['extracted']>, 'files'>): string[] {
  const most = (change: number) => `at most ${upTo(change)} of max|output|`;
  const lines = [`chained as they are served, they differ from the whole model by ${most(served)}`];
  if (off !== served) lines.push(`with graph optimizations off, they differ by ${most(off)}`);
  if (levels > NOTABLE_CHANGE) {
    lines.push(
      `with and without optimizations, the whole model differs from itself by ${most(levels)}: ONNX Runtime's optimizations change its results, cut or not`,
    );
  }
  return lines;
}

/** upTo writes a share that is reached at most in two digits, rounded up. */
function upTo(change: number): string {
  return toldUp(change, 2).toExponential(1);
}

/** Sums in another order change outputs by less than this share of the largest. */
const NOTABLE_CHANGE = 1e-3;
