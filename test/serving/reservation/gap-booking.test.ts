import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import { streamOf } from '../../../src/random/index.js';
import { GapBooking } from '../../../src/serving/reservation/gap-booking.js';
import { Path } from '../../../src/serving/reservation/path.js';
import { Durations } from '../../../src/serving/state/durations.js';
import { describeInWholeRun } from '../../cases.js';
import { BYTES_PER_MS, MS, onServers, stage } from '../by-hand.js';
import type { PartShape } from '../plans.js';
import { randomTopology } from '../random-plans.js';

type Interval = readonly [start: number, end: number];

/** naiveSlot finds the earliest slot by trying `from` and the end of every reservation after it. */
function naiveSlot(rows: readonly Interval[][], from: number, length: number): number {
  const taken = rows.flat();
  const starts = [from, ...taken.map(([, end]) => end).filter((end) => end > from)].sort((a, b) => a - b);
  const isFree = (at: number) => taken.every(([start, end]) => end <= at || start >= at + length);
  return starts.find(isFree)!;
}

describeInWholeRun('GapBooking', () => {
  it('finds the same way as a search of every device and every gap, through thousands of probes', () => {
    let probes = 0;
    let inGaps = 0;
    for (let seed = 1; seed <= 60; seed++) {
      const stream = streamOf(seed, 'booking');
      const topology = randomTopology(stream);
      const { pools, devices } = topology;
      const durations = new Durations(topology, { kind: 'none' });
      const booking = new GapBooking(topology, durations);
      const path = new Path(5);
      // These reservations are kept apart from the booking.
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
        while (pools[entry + stages - 1]!.edges.length > 0) stages += 1;
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

/**
 * A booking of one pipeline whose devices are all up, or those in `up`. They are on the servers named, or each on its
 * own. A row of BYTES_PER_MS takes a millisecond to send. Times are in milliseconds.
 */
function byHand(parts: PartShape[], { servers, up }: { servers?: string; up?: number[] } = {}) {
  const topology = onServers(parts, servers);
  const booking = new GapBooking(topology, new Durations(topology, { kind: 'none' }));
  for (const device of up ?? topology.devices.keys()) booking.deviceUp(device);
  // This call puts the devices into order.
  booking.freeFrom(0, 1);
  const path = new Path(parts.length);
  let steps = 0;
  /** Keeps a device for a time. @returns the number of the step */
  const hold = (device: number, start: number, end: number) => {
    booking.execute(device, start * MS, end * MS, ++steps);
    return steps;
  };
  /** Keeps a link for a time. */
  const send = (link: number, start: number, end: number) =>
    booking.table.insert(link, start * MS, end * MS, ++steps);
  const probe = (at: number, { size = 1, from = 0, entry = 0 } = {}) => {
    if (!booking.probe(path, entry, size, from, at * MS)) return undefined;
    return parts.slice(from).map((_, k) => ({
      device: path.device[from + k],
      send: path.sendAt[from + k]! / MS,
      start: path.startAt[from + k]! / MS,
      end: path.endAt[from + k]! / MS,
    }));
  };
  /** The devices that a number of batches get one after another, all ready at this time. */
  const devicesOf = (at: number, batches: number) =>
    Array.from({ length: batches }, () => {
      const device = probe(at)?.[0]?.device;
      steps += 8;
      booking.reserve(path, 0, 1, 0, steps);
      return device;
    });
  return { topology, booking, path, hold, send, probe, devicesOf };
}

describe('GapBooking.probe() on one stage', () => {
  it('begins at once on an idle device, and on a busy one when it is free', () => {
    const { probe, path, hold } = byHand([stage([10, 14])]);
    expect(probe(5, { size: 2 })).toEqual([{ device: 0, send: 5, start: 5, end: 19 }]);
    expect([path.stages, path.waitNs, path.finish]).toEqual([1, 0, 19 * MS]);
    hold(0, 5, 19);
    expect(probe(7)).toEqual([{ device: 0, send: 7, start: 19, end: 29 }]);
    expect([path.waitNs, path.finish]).toEqual([12 * MS, 29 * MS]);
  });

  it('takes the device that is free first, and among free ones the one that has been free longest', () => {
    const { probe, hold } = byHand([stage([10], { virtualGpus: 3 })]);
    hold(0, 0, 30);
    hold(1, 0, 20);
    hold(2, 0, 25);
    expect(probe(0)).toMatchObject([{ device: 1, start: 20 }]);
    expect(probe(22)).toMatchObject([{ device: 1, start: 22 }]);
    expect(probe(50)).toMatchObject([{ device: 1, start: 50 }]);
  });

  it('takes, of devices that become free together, the one that got its last work first', () => {
    const { probe, hold } = byHand([stage([10], { virtualGpus: 3 })]);
    hold(2, 0, 20);
    hold(0, 0, 20);
    hold(1, 0, 20);
    expect(probe(5)).toMatchObject([{ device: 2, start: 20 }]);
    expect(probe(40)).toMatchObject([{ device: 2, start: 40 }]);
    // The device's place on its server makes no difference.
    const together = byHand([stage([10], { virtualGpus: 3 })], { servers: 'aab' });
    for (const device of [1, 0, 2]) together.hold(device, 0, 20);
    expect(together.booking.freeFrom(0, 1)).toBe(20 * MS);
    expect(together.probe(5)).toMatchObject([{ device: 1, start: 20 }]);
  });

  it('takes devices that were never used server by server', () => {
    const parts = [stage([10], { virtualGpus: 5 })];
    expect(byHand(parts, { servers: 'aabba' }).devicesOf(0, 5)).toEqual([0, 2, 1, 3, 4]);
    // Among equals, the device that came up first is taken.
    const up = [4, 3, 2, 1, 0];
    expect(byHand(parts, { servers: 'aabba', up }).devicesOf(0, 5)).toEqual([2, 0, 3, 1, 4]);
  });

  it('numbers the devices of a server within each pool', () => {
    // Pool 0 has one device on each server, pool 1 two on the first. Each pool counts from 0.
    const parts = [stage([10], { virtualGpus: 2 }), stage([10], { virtualGpus: 3 })];
    const { booking, path } = byHand(parts, { servers: 'abaab' });
    const later: number[] = [];
    for (let batch = 0; batch < 3; batch++) {
      path.device[0] = 0;
      booking.probe(path, 0, 1, 1, 0);
      booking.reserve(path, 0, 1, 1, 8 * batch);
      later.push(path.device[1]!);
    }
    expect(later).toEqual([2, 4, 3]);
  });

  it('puts devices into order that come up in between', () => {
    const { booking, probe, hold } = byHand([stage([10], { virtualGpus: 3 })], { up: [0] });
    hold(0, 0, 30);
    expect(booking.freeFrom(0, 1)).toBe(30 * MS);
    booking.deviceUp(1);
    booking.deviceUp(2);
    expect(booking.freeFrom(0, 1)).toBe(0);
    hold(1, 0, 40);
    hold(2, 0, 20);
    expect(probe(0)).toMatchObject([{ device: 2, start: 20 }]);
  });

  it('takes devices that come up in between server by server too', () => {
    const { booking, devicesOf } = byHand([stage([10], { virtualGpus: 3 })], { servers: 'aab', up: [0] });
    booking.deviceUp(1);
    booking.deviceUp(2);
    expect(devicesOf(0, 3)).toEqual([0, 2, 1]);
  });

  it('finds no way where no device is up, whatever was found before', () => {
    const { booking, probe, path } = byHand([stage([10], { virtualGpus: 2 })]);
    expect(probe(0)).toMatchObject([{ device: 0 }]);
    booking.deviceDown(0);
    expect(probe(0)).toMatchObject([{ device: 1 }]);
    booking.deviceDown(1);
    expect(probe(0)).toBeUndefined();
    expect(path.device[0]).toBe(NONE);
    expect(booking.freeFrom(0, 1)).toBe(Number.POSITIVE_INFINITY);
  });

  it('finds no way where a later stage has no device', () => {
    expect(byHand([stage([10]), stage([10])], { up: [0] }).probe(0)).toBeUndefined();
  });
});

describe('GapBooking.probe() with gaps', () => {
  it('takes a gap that is just long enough, and none that is a nanosecond shorter', () => {
    const { probe, hold } = byHand([stage([10, 10 + 1e-6])]);
    hold(0, 50, 60);
    expect(probe(40)).toMatchObject([{ start: 40, end: 50 }]);
    expect(probe(40, { size: 2 })).toMatchObject([{ start: 60 }]);
    expect(probe(40 + 1e-6)).toMatchObject([{ start: 60 }]);
    hold(0, 80, 90);
    expect(probe(45)).toMatchObject([{ start: 60, end: 70 }]);
    expect(probe(70)).toMatchObject([{ start: 70, end: 80 }]);
    expect(probe(71)).toMatchObject([{ start: 90 }]);
  });

  it('prefers an idle device to a gap that begins at the same time', () => {
    const { probe, hold } = byHand([stage([10], { virtualGpus: 2 })]);
    hold(0, 50, 60);
    expect(probe(0)).toMatchObject([{ device: 1, start: 0 }]);
    hold(1, 0, 5);
    expect(probe(0)).toMatchObject([{ device: 0, start: 0 }]);
    // From 5 ms on both devices are free, and only device 1 stays so.
    expect(probe(5)).toMatchObject([{ device: 1, start: 5 }]);
  });

  it('takes, of gaps that begin together, the one that ends last, and of several the newest', () => {
    const { probe, hold } = byHand([stage([10], { virtualGpus: 3 })]);
    hold(0, 50, 200);
    hold(1, 80, 200);
    hold(2, 70, 200);
    expect(probe(0)).toMatchObject([{ device: 1 }]);
    const equal = byHand([stage([10], { virtualGpus: 3 })]);
    for (const device of [1, 0, 2]) equal.hold(device, 50, 200);
    expect(equal.probe(0)).toMatchObject([{ device: 2 }]);
  });

  it('looks at every gap that ends late enough, and takes the one that begins first', () => {
    const { probe, hold } = byHand([stage([10], { virtualGpus: 3 })]);
    // The gaps are from 0 to 50, from 20 to 80 and from 30 to 70 ms.
    hold(0, 50, 200);
    hold(1, 0, 20);
    hold(1, 80, 200);
    hold(2, 0, 30);
    hold(2, 70, 200);
    expect(probe(0)).toMatchObject([{ device: 0, start: 0 }]);
    expect(probe(40)).toMatchObject([{ device: 1, start: 40 }]);
    expect(probe(45)).toMatchObject([{ device: 1, start: 45 }]);
    expect(probe(71)).toMatchObject([{ start: 200 }]);
  });

  it('still knows the last gap of a device after an earlier gap was filled', () => {
    const { probe, hold, booking } = byHand([stage([10])]);
    hold(0, 50, 60);
    hold(0, 90, 100);
    const filled = hold(0, 0, 50);
    expect(probe(0)).toMatchObject([{ start: 60 }]);
    hold(0, 60, 90);
    expect(probe(0)).toMatchObject([{ start: 100 }]);
    booking.release(0, filled, 0);
    expect(probe(0)).toMatchObject([{ start: 0 }]);
  });

  it('forgets the gaps of a lost device, which has none when it comes back', () => {
    const { probe, hold, booking } = byHand([stage([10], { virtualGpus: 2 })]);
    const held = hold(0, 70, 80);
    hold(1, 50, 80);
    booking.deviceDown(0);
    expect(probe(0)).toMatchObject([{ device: 1, start: 0 }]);
    booking.release(0, held, 20 * MS);
    expect(probe(0)).toMatchObject([{ device: 1, start: 0 }]);
    booking.deviceUp(0);
    expect(probe(0)).toMatchObject([{ device: 1, start: 0 }]);
    expect(probe(65)).toMatchObject([{ device: 0, start: 65 }]);
    hold(0, 90, 95);
    expect(probe(66)).toMatchObject([{ device: 0, start: 66 }]);
  });

  it('forgets gaps that are over, and finds later ones of the same device', () => {
    const { probe, hold } = byHand([stage([10], { virtualGpus: 2 })]);
    hold(0, 20, 40);
    expect(probe(30)).toMatchObject([{ device: 1, start: 30 }]);
    // The gap before 20 ms is over by the time device 1 gets one.
    hold(1, 60, 100);
    hold(0, 70, 90);
    expect(probe(45)).toMatchObject([{ device: 0, start: 45 }]);
    hold(0, 40, 70);
    expect(probe(45)).toMatchObject([{ device: 1, start: 45 }]);
  });

  it('keeps devices that are down out of the order, even when their reservations change', () => {
    const { probe, hold, booking } = byHand([stage([10], { virtualGpus: 2 })]);
    booking.deviceDown(0);
    const held = hold(0, 50, 60);
    booking.closeUp(0, 0, NONE, () => 20 * MS);
    booking.release(0, held, 0);
    hold(1, 0, 5);
    expect(probe(0)).toMatchObject([{ device: 1, start: 5 }]);
  });

  it('looks at 128 free devices and 128 gaps, and no further', () => {
    const parts = [stage([10], { virtualGpus: 140, transferBytes: BYTES_PER_MS }), stage([10])];
    for (const [good, found] of [
      [127, 127],
      [128, 0],
    ] as const) {
      const { booking, probe, send } = byHand(parts);
      // Every uplink but that of the good device is busy until 50 ms, the one of device 0 until 40 ms.
      for (let device = 0; device < 140; device++)
        if (device !== good) send(booking.uplink(device), 0, device === 0 ? 40 : 50);
      expect(probe(0)?.[0]).toMatchObject({ device: found });
    }
    // All devices are busy from about 100 to 300 ms, and their uplinks long after. The probe looks at 128 devices that
    // are free late, none of which is good, and then at 127 gaps, those that begin last first.
    for (const [good, found] of [
      [13, 13],
      [12, 139],
    ] as const) {
      const { hold, booking, probe, send } = byHand(parts);
      for (let device = 0; device < 140; device++) {
        hold(device, 100 + device, 300);
        send(booking.uplink(device), 300, 900);
        if (device !== good) send(booking.uplink(device), 0, device === 139 ? 40 : 50);
      }
      expect(probe(0)?.[0]).toMatchObject({ device: found });
    }
  });
});

describe('GapBooking.probe() over links', () => {
  const SENDS = { transferBytes: BYTES_PER_MS };

  it('adds up waiting, sending and executing along the way', () => {
    const { probe, path, hold } = byHand([stage([10, 14], SENDS), stage([6, 8], SENDS), stage([3, 4])]);
    expect(probe(5, { size: 2 })).toEqual([
      { device: 0, send: 5, start: 5, end: 19 },
      { device: 1, send: 19, start: 21, end: 29 },
      { device: 2, send: 29, start: 31, end: 35 },
    ]);
    expect([path.stages, path.waitNs, path.finish]).toEqual([3, 0, 35 * MS]);
    hold(1, 0, 24);
    hold(2, 0, 40);
    probe(5, { size: 2 });
    // The batch waits three milliseconds for device 1 and six for device 2.
    expect([path.waitNs, path.finish]).toEqual([9 * MS, 44 * MS]);
  });

  it('waits until the uplink and the downlink are free together', () => {
    const { probe, booking, send, path } = byHand([stage([10], SENDS), stage([6])]);
    send(booking.uplink(0), 9, 12);
    send(booking.downlink(1), 12, 14);
    expect(probe(0)).toMatchObject([{}, { send: 14, start: 15, end: 21 }]);
    expect(path.waitNs).toBe(4 * MS);
    // The other directions of these links do not count.
    const other = byHand([stage([10], SENDS), stage([6])]);
    other.send(other.booking.downlink(0), 9, 12);
    other.send(other.booking.uplink(1), 12, 14);
    expect(other.probe(0)).toMatchObject([{}, { send: 10 }]);
  });

  it('takes the device whose uplink is free first after its execution', () => {
    const { probe, booking, send } = byHand([stage([10], { ...SENDS, virtualGpus: 3 }), stage([6])]);
    send(booking.uplink(0), 0, 30);
    send(booking.uplink(1), 10, 11);
    // Device 2 can send at 10 ms.
    expect(probe(0)).toMatchObject([{ device: 2 }, { send: 10 }]);
    send(booking.uplink(2), 10, 12);
    expect(probe(0)).toMatchObject([{ device: 1 }, { send: 11 }]);
  });

  it('prefers a device that can send sooner to one that is free sooner', () => {
    const { probe, booking, send, hold } = byHand([stage([10], { ...SENDS, virtualGpus: 2 }), stage([6])]);
    send(booking.uplink(0), 0, 30);
    hold(1, 0, 19);
    // Device 0 is free at 0 ms and sends at 30 ms; device 1 is free at 19 ms and sends at 29 ms.
    expect(probe(0)).toMatchObject([{ device: 1, start: 19 }, { send: 29 }]);
    hold(1, 19, 20);
    // Both can send at 30 ms: the first that is found is taken.
    expect(probe(0)).toMatchObject([{ device: 0, start: 0 }, { send: 30 }]);
    // The same holds where both wait for their uplinks.
    const equal = byHand([stage([10], { ...SENDS, virtualGpus: 2 }), stage([6])]);
    for (const device of [0, 1]) equal.send(equal.booking.uplink(device), 0, 30);
    expect(equal.probe(0)).toMatchObject([{ device: 0, start: 0 }, { send: 30 }]);
  });

  it('needs no link where no bytes are sent', () => {
    const { probe, booking, send } = byHand([stage([10], { virtualGpus: 2 }), stage([6])]);
    for (const device of [0, 1]) send(booking.uplink(device), 0, 50);
    send(booking.downlink(2), 0, 50);
    expect(probe(0)).toMatchObject([
      { device: 0, end: 10 },
      { send: 10, start: 10, end: 16 },
    ]);
  });

  it('can begin at a later stage, where the batch is ready', () => {
    const { probe, path, booking, send } = byHand([
      stage([10], SENDS),
      stage([6], { ...SENDS, virtualGpus: 2 }),
      stage([3]),
    ]);
    path.device[0] = 0;
    send(booking.uplink(0), 0, 7);
    expect(probe(5, { from: 1 })).toEqual([
      { device: 1, send: 7, start: 8, end: 14 },
      { device: 3, send: 14, start: 15, end: 18 },
    ]);
    // From there the work takes 6 + 1 + 3 ms, which leaves 3 of the 13 ms as waiting: the transfer to this stage counts
    // as waiting too.
    expect([path.stages, path.waitNs]).toEqual([3, 3 * MS]);
  });

  it('numbers devices, then uplinks, then downlinks, with one number per server', () => {
    const { booking } = byHand([stage([10], { virtualGpus: 4 })], { servers: 'abab' });
    expect([booking.uplinkBase, booking.downlinkBase]).toEqual([4, 6]);
    expect([0, 1, 2, 3].map((device) => booking.uplink(device))).toEqual([4, 5, 4, 5]);
    expect([0, 1, 2, 3].map((device) => booking.downlink(device))).toEqual([6, 7, 6, 7]);
  });
});

describe('GapBooking.freeFrom()', () => {
  it('is the earliest start with which the batch meets every stage free', () => {
    const SENDS = { transferBytes: BYTES_PER_MS };
    const { booking, hold } = byHand([
      stage([10, 14], { ...SENDS, virtualGpus: 2 }),
      stage([6, 8], SENDS),
      stage([3, 4]),
    ]);
    expect(booking.freeFrom(0, 2)).toBe(0);
    hold(0, 0, 50);
    hold(1, 0, 20);
    expect(booking.freeFrom(0, 2)).toBe(20 * MS);
    // Two rows reach device 2 after 14 + 2 ms, one row after 10 + 1 ms.
    hold(2, 0, 36);
    expect(booking.freeFrom(0, 2)).toBe(20 * MS);
    hold(2, 36, 40);
    expect([booking.freeFrom(0, 2), booking.freeFrom(0, 1)]).toEqual([24 * MS, 29 * MS]);
    // Two rows reach device 3 after 8 + 2 ms more.
    hold(3, 0, 60);
    expect(booking.freeFrom(0, 2)).toBe(34 * MS);
    expect(booking.freeFrom(1, 2)).toBe(50 * MS);
  });
});

describe('GapBooking', () => {
  const SENDS = { transferBytes: BYTES_PER_MS };

  it('reserve() keeps devices and links from a given stage on, under the numbers of their steps', () => {
    const { booking, probe, path } = byHand([stage([10], SENDS), stage([6]), stage([3])]);
    probe(5);
    booking.reserve(path, 0, 1, 0, 40);
    const { table } = booking;
    const row = (resource: number) =>
      Array.from({ length: table.count(resource) }, (_, i) => [
        table.owner(resource, i),
        table.start(resource, i) / MS,
        table.end(resource, i) / MS,
      ]);
    expect([0, 1, 2].map(row)).toEqual([[[40, 5, 15]], [[41, 16, 22]], [[42, 22, 25]]]);
    expect([row(booking.uplink(0)), row(booking.downlink(1))]).toEqual([[[41, 15, 16]], [[41, 15, 16]]]);
    // The second stage sends nothing.
    expect([row(booking.uplink(1)), row(booking.downlink(2))]).toEqual([[], []]);
    expect(booking.kept).toBe(5);
    // The way is reserved again from the second stage on.
    probe(30, { from: 1 });
    booking.reserve(path, 0, 1, 1, 80);
    expect([row(0).length, row(1).at(-1), row(2).at(-1)]).toEqual([1, [81, 31, 37], [82, 37, 40]]);
    expect(row(booking.uplink(0)).at(-1)).toEqual([81, 30, 31]);
  });

  it('release() frees a device from the given time on, unless it has later work', () => {
    const { booking, hold, probe } = byHand([stage([10], { virtualGpus: 2 })]);
    const held = hold(0, 0, 20);
    const later = hold(1, 0, 40);
    hold(1, 40, 50);
    expect(probe(0)).toMatchObject([{ device: 0, start: 20 }]);
    booking.release(1, later, 3 * MS);
    expect(booking.table.busyUntil[1]).toBe(50 * MS);
    booking.release(0, held, 12 * MS);
    expect(probe(0)).toMatchObject([{ device: 0, start: 12 }]);
    expect(booking.kept).toBe(1);
  });

  it('release() puts the device back into its place among the others', () => {
    const { booking, hold } = byHand([stage([10], { virtualGpus: 3 })]);
    hold(0, 0, 20);
    hold(1, 0, 30);
    const held = hold(2, 0, 40);
    booking.release(2, held, 7 * MS);
    expect(booking.freeFrom(0, 1)).toBe(7 * MS);
    hold(2, 7, 90);
    expect(booking.freeFrom(0, 1)).toBe(20 * MS);
  });

  it('closeUp() lets executions follow one another, each once its batch is there', () => {
    const { booking, hold } = byHand([stage([10])]);
    const steps = [hold(0, 20, 30), hold(0, 40, 45), hold(0, 60, 63)];
    const { table } = booking;
    const starts = () => [0, 1, 2].map((i) => table.start(0, i) / MS);
    // The batches are there at 5, 0 and 35 ms.
    const arrivalMs = new Map([
      [steps[0], 5],
      [steps[1], 0],
      [steps[2], 35],
    ]);
    booking.closeUp(0, 2 * MS, NONE, (step) => arrivalMs.get(step)! * MS);
    expect(starts()).toEqual([5, 15, 35]);
    expect(booking.freeFrom(0, 1)).toBe(38 * MS);
    booking.closeUp(0, 8 * MS, NONE, (step) => arrivalMs.get(step)! * MS);
    expect(starts()).toEqual([8, 18, 35]);
  });

  it('closeUp() leaves the running batch in place, and begins what follows no sooner than it ends', () => {
    const { booking, hold } = byHand([stage([10])]);
    const steps = [hold(0, 20, 30), hold(0, 40, 45)];
    booking.closeUp(0, 25 * MS, steps[0]!, () => 0);
    const { table } = booking;
    expect([table.start(0, 0), table.start(0, 1)]).toEqual([20 * MS, 30 * MS]);
    // The running batch takes longer than reserved: the next begins as soon as it can.
    booking.closeUp(0, 33 * MS, steps[0]!, () => 0);
    expect([table.start(0, 0), table.start(0, 1)]).toEqual([20 * MS, 33 * MS]);
  });

  it('closeUp() records the gaps that it leaves, and puts the device into its place among the others', () => {
    const { booking, hold, probe } = byHand([stage([10], { virtualGpus: 2 })]);
    hold(1, 0, 70);
    const steps = [hold(0, 0, 10), hold(0, 10, 80)];
    expect(booking.freeFrom(0, 1)).toBe(70 * MS);
    // The second batch is there at 30 ms: a gap begins at 10 ms, and the device is free at 100 ms.
    booking.closeUp(0, 0, NONE, (step) => (step === steps[1] ? 30 * MS : 0));
    expect(probe(5)).toMatchObject([{ device: 0, start: 10 }]);
    expect(booking.freeFrom(0, 1)).toBe(70 * MS);
    // Both are there at once again: no gap is left, and the device is free at 80 ms.
    booking.closeUp(0, 0, NONE, () => 0);
    expect(probe(5)).toMatchObject([{ device: 1, start: 70 }]);
    hold(1, 70, 85);
    expect(booking.freeFrom(0, 1)).toBe(80 * MS);
    hold(0, 200, 210);
    expect(booking.freeFrom(0, 1)).toBe(85 * MS);
    booking.closeUp(0, 0, NONE, () => 0);
    // Device 0 holds 10, 70 and 10 ms of work.
    hold(1, 85, 95);
    expect(booking.freeFrom(0, 1)).toBe(90 * MS);
    const back = hold(0, 200, 210);
    booking.closeUp(0, 0, NONE, (step) => (step === back ? 92 * MS : 0));
    expect(booking.freeFrom(0, 1)).toBe(95 * MS);
  });

  it('closeUp() brings a device to the front when it becomes free first', () => {
    const { booking, hold } = byHand([stage([10], { virtualGpus: 2 })]);
    hold(1, 0, 70);
    hold(0, 80, 90);
    booking.closeUp(0, 0, NONE, () => 0);
    expect(booking.freeFrom(0, 1)).toBe(10 * MS);
  });

  it("closeUp() keeps a device's place among equals where its last gap ends as before", () => {
    const { booking, hold, probe } = byHand([stage([10], { virtualGpus: 2 })]);
    for (const device of [0, 1]) {
      hold(device, 0, 5);
      hold(device, 30, 40);
      hold(device, 50, 60);
    }
    const arrivals = [0, 30, 50];
    booking.closeUp(0, 0, NONE, (step) => (arrivals[step - 1] as number) * MS);
    // Device 1 was the last to get a gap that ends at 50 ms.
    expect(probe(40)).toMatchObject([{ device: 1, start: 40 }]);
  });

  it('closeUp() moves the reservations of that device alone, however many there are', () => {
    const { booking, hold } = byHand([stage([10], { virtualGpus: 2 })]);
    hold(1, 50, 60);
    for (let i = 0; i < 4; i++) hold(0, 20 * i + 20, 20 * i + 30);
    booking.closeUp(0, 0, NONE, () => 0);
    expect(booking.table.start(0, 3)).toBe(30 * MS);
    expect(booking.table.start(1, 0)).toBe(50 * MS);
  });
});
