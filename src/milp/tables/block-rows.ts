import { type DeviceProfile, layersBeforeBlocks, type Profile } from '../../formats/index.js';
import type { ProfileRows } from './profile-rows.js';
import { cutOverheads, spanLatencies, type TimedSpan } from './span-latencies.js';

/** Every block counts as at least this long, as in the published plans. */
const LEAST_BLOCK_US = 1;
/**
 * LEAST_SHARE is the least share of its longest block that a partition takes, if it was not timed, whatever noise says.
 * A pair was seen to take 0.65 of its longer block, whose large result need not be written where the next block is
 * joined to it.
 */
export const LEAST_SHARE = 1 / 2;

/**
 * blockRows reads a profile's blocks as rows. The latency of a block that is joined to the one before is its
 * measured latency less what the cut between them adds (`cutOverheads`).
 */
export function blockRows(profile: Profile): ProfileRows {
  const units = profile.blocks.length;
  const cutBytes = new Float64Array(units + 1);
  for (let j = 1; j < units; j++) cutBytes[j] = profile.blocks[j - 1]?.cutBytes ?? 0;
  // Blocks without layers give several cuts before one layer.
  const before = layersBeforeBlocks(profile.blocks);
  const cutsAt = (layer: number) => before.flatMap((layers, cut) => (layers === layer ? [cut] : []));
  return {
    units,
    cutBytes,
    weightBytes: profile.blocks.map((block) => block.weightBytes ?? 0),
    latencies(className, virtual, batch) {
      const cell = { device: profile.devices[className], virtual, batch };
      const blockUs = blockLatencies(cell);
      if (blockUs === undefined) return undefined;
      const overheads = overheadsOf(cell, blockUs);
      const joined = blockUs.map((us, k) => us - (overheads[k] as number));
      return spanLatencies(joined, overheads, [
        ...tooShort(blockUs, overheads),
        ...pairSpans(cell),
        ...timedSpans(cell, units, cutsAt),
      ]);
    },
  };
}

/** Cell names a device's figures at a virtual size and a batch size. */
export interface Cell {
  readonly device: DeviceProfile | undefined;
  readonly virtual: number;
  readonly batch: number;
}

/** blockLatencies gives the measured latencies of all blocks, each at least 1 µs. */
export function blockLatencies({ device, virtual, batch }: Cell): number[] | undefined {
  return device?.blockLatencyUs[virtual]?.[batch]?.map((us) => Math.max(LEAST_BLOCK_US, us ?? 0));
}

/** overheadsOf gives what each cut between blocks adds, as far as the profile says; see `cutOverheads`. */
export function overheadsOf({ device, virtual, batch }: Cell, blockUs: readonly number[]): Float64Array {
  const pairs = device?.pairLatencyUs?.[virtual]?.[batch];
  const pairUs = pairs?.every((us) => us !== null) ? (pairs as number[]) : undefined;
  const wholeUs = device?.wholeLatencyUs?.[virtual]?.[batch];
  return cutOverheads({
    blockUs,
    ...(pairUs === undefined ? {} : { pairUs }),
    ...(wholeUs === undefined ? {} : { wholeUs }),
  });
}

/** tooShort lists the spans that would take less than their longest block allows, with the least that they take. */
function tooShort(blockUs: readonly number[], overheads: Float64Array): TimedSpan[] {
  if (overheads.every((us) => us === 0)) return [];
  const short: TimedSpan[] = [];
  for (let first = 0; first < blockUs.length; first++) {
    let us = blockUs[first] as number;
    let longest = us;
    for (let end = first + 2; end <= blockUs.length; end++) {
      const own = blockUs[end - 1] as number;
      us += own - (overheads[end - 1] as number);
      longest = Math.max(longest, own);
      if (us < LEAST_SHARE * longest) short.push({ first, end, us: LEAST_SHARE * longest });
    }
  }
  return short;
}

/** pairSpans lists the pairs of blocks, where all of them were timed. */
export function pairSpans({ device, virtual, batch }: Cell): TimedSpan[] {
  const pairs = device?.pairLatencyUs?.[virtual]?.[batch];
  if (!pairs?.every((us) => us !== null)) return [];
  return (pairs as number[]).map((us, k) => ({ first: k, end: k + 2, us: Math.max(LEAST_BLOCK_US, us) }));
}

/**
 * timedSpans lists the spans that the profile holds as timed in one piece, the whole model among them.
 * @param units the number of units of the whole model
 * @param cutsAt the cuts that lie before a layer
 */
export function timedSpans(
  { device, virtual, batch }: Cell,
  units: number,
  cutsAt: (layer: number) => readonly number[],
): TimedSpan[] {
  const wholeUs = device?.wholeLatencyUs?.[virtual]?.[batch];
  const whole = wholeUs === undefined || units < 2 ? [] : [{ first: 0, end: units, us: wholeUs }];
  const spans = (device?.spanLatencyUs?.[virtual]?.[batch] ?? []).flatMap(({ layers: [from, to], us }) =>
    cutsAt(from).flatMap((first) => cutsAt(to).map((end) => ({ first, end, us }))),
  );
  return [...whole, ...spans.filter(({ first, end }) => first < end)];
}
