import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { GapBooking } from '../../../src/serving/reservation/gap-booking.js';
import { Path } from '../../../src/serving/reservation/path.js';
import { Durations } from '../../../src/serving/state/durations.js';
import { randomTopology } from '../random-plans.js';

type Interval = readonly [start: number, end: number];

/** naiveSlot finds the earliest slot by trying `from` and the end of every reservation after it. */
function naiveSlot(rows: readonly Interval[][], from: number, length: number): number {
  const taken = rows.flat();
  const starts = [from, ...taken.map(([, end]) => end).filter((end) => end > from)].sort((a, b) => a - b);
  const isFree = (at: number) => taken.every(([start, end]) => end <= at || start >= at + length);
  return starts.find(isFree)!;
}

describe('GapBooking', () => {
  it('finds what a search of every device and every gap finds, through thousands of probes', () => {
    let probes = 0;
    let inGaps = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const stream = streamOf(seed, 'booking');
      const topology = randomTopology(stream);
      const { pools, devices } = topology;
      const durations = new Durations(topology, { kind: 'none' });
      const booking = new GapBooking(topology, durations);
      const path = new Path(5);
      // The reservations, kept apart from the booking.
      const rows = new Map<number, Interval[]>();
      const rowOf = (resource: number) => {
        const row = rows.get(resource) ?? [];
        rows.set(resource, row);
        return row;
      };
      devices.forEach((_, device) => {
        booking.deviceUp(device);
      });
      const entries = topology.models.flatMap((model) => model.entries);
      let at = 0;
      for (let batch = 0; batch < 40; batch++) {
        at += stream.integer(3_000_000);
        const entry = entries[stream.integer(entries.length)]!;
        let stages = 1;
        while (pools[entry + stages - 1]!.next !== undefined) stages += 1;
        const most = Math.min(...pools.slice(entry, entry + stages).map((pool) => pool.batch));
        const size = 1 + stream.integer(most);
        expect(booking.probe(path, entry, size, 0, at)).toBe(true);
        expect(path.stages).toBe(stages);
        probes += 1;
        let ready = at;
        for (let k = 0; k < stages; k++) {
          const latency = durations.executionNs(entry + k, size);
          const transfer = k === 0 ? 0 : durations.transferNs(entry + k - 1, size);
          const sending = k === stages - 1 ? 0 : durations.transferNs(entry + k, size);
          const sentTo = (device: number) => {
            if (transfer === 0) return ready;
            const links = [booking.uplink(path.device[k - 1]!), booking.downlink(device)];
            return naiveSlot(links.map(rowOf), ready, transfer);
          };
          const leftAt = (device: number, end: number) =>
            sending === 0 ? end : naiveSlot([rowOf(booking.uplink(device))], end, sending);
          const soonest = pools[entry + k]!.devices.map((device) => {
            const start = naiveSlot([rowOf(device)], sentTo(device) + transfer, latency);
            return leftAt(device, start + latency);
          });
          const device = path.device[k]!;
          const [start, end] = [path.startAt[k]!, path.endAt[k]!];
          expect(leftAt(device, end)).toBe(Math.min(...soonest));
          expect(end).toBe(start + latency);
          expect(naiveSlot([rowOf(device)], start, latency)).toBe(start);
          if (k > 0) expect(path.sendAt[k]).toBe(sentTo(device));
          if (rowOf(device).some(([later]) => later >= end)) inGaps += 1;
          ready = end;
        }
        expect(path.waitNs).toBe(path.finish - at - durations.workNs(entry, size));
        if (stream.uniform() < 0.2) continue;
        booking.reserve(path, entry, size, 0, batch * 5);
        for (let k = 0; k < stages; k++) {
          const device = path.device[k]!;
          rowOf(device).push([path.startAt[k]!, path.endAt[k]!]);
          const transfer = k === 0 ? 0 : durations.transferNs(entry + k - 1, size);
          if (transfer === 0) continue;
          const sent = path.sendAt[k]! + transfer;
          rowOf(booking.uplink(path.device[k - 1]!)).push([path.sendAt[k]!, sent]);
          rowOf(booking.downlink(device)).push([path.sendAt[k]!, sent]);
        }
      }
    }
    expect(probes).toBe(2400);
    expect(inGaps).toBeGreaterThan(20);
  });
});
