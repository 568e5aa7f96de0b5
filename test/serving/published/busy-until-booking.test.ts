import { describe, expect, it } from 'vitest';
import { BusyUntilBooking } from '../../../src/serving/published/busy-until-booking.js';
import { Path } from '../../../src/serving/reservation/index.js';
import { Durations } from '../../../src/serving/state/index.js';
import { BYTES_PER_MS, MS, onServers, stage } from '../by-hand.js';
import type { PartShape } from '../plans.js';

const SENDS = { transferBytes: BYTES_PER_MS };

/**
 * A booking of one pipeline whose devices are up. They are on the servers named, or each on its own. Times are in
 * milliseconds.
 */
function byHand(parts: PartShape[], { servers, up }: { servers?: string; up?: number[] } = {}) {
  const topology = onServers(parts, servers);
  const booking = new BusyUntilBooking(topology, new Durations(topology, { kind: 'none' }));
  for (const device of up ?? topology.devices.keys()) booking.deviceUp(device);
  // The path has room for a longer pipeline, and still holds what such a pipeline left there.
  const path = new Path(parts.length + 1);
  path.endAt[parts.length] = 9999 * MS;
  const probe = (at: number, { size = 1, from = 0 } = {}) => {
    if (!booking.probe(path, 0, size, from, at * MS)) return undefined;
    return parts.slice(from).map((_, k) => ({
      device: path.device[from + k],
      send: path.sendAt[from + k]! / MS,
      start: path.startAt[from + k]! / MS,
      end: path.endAt[from + k]! / MS,
    }));
  };
  const book = (at: number, size = 1) => {
    const found = probe(at, { size });
    booking.reserve(path, 0, size, 0);
    return found;
  };
  return { booking, path, probe, book };
}

describe('BusyUntilBooking', () => {
  it('probe() adds up executions and transfers, and reserve() keeps every device and link until its part ends', () => {
    const { book, path } = byHand([stage([10, 14], SENDS), stage([6, 8], SENDS), stage([3, 4])]);
    expect(book(5, 2)).toEqual([
      { device: 0, send: 5, start: 5, end: 19 },
      { device: 1, send: 19, start: 21, end: 29 },
      { device: 2, send: 29, start: 31, end: 35 },
    ]);
    expect([path.stages, path.waitNs, path.finish]).toEqual([3, 0, 35 * MS]);
    // The batch waits 14 ms for the first device and then no more: the later stages are free by the time it comes.
    expect(book(5, 2)).toEqual([
      { device: 0, send: 5, start: 19, end: 33 },
      { device: 1, send: 33, start: 35, end: 43 },
      { device: 2, send: 43, start: 45, end: 49 },
    ]);
    expect(path.waitNs).toBe(14 * MS);
  });

  it('probe() waits for links and devices of later stages, and counts that time as waiting', () => {
    const two = () => byHand([stage([1, 2], SENDS), stage([6, 8])]);
    const { book, path } = two();
    book(0, 2);
    // The first batch executes from 0 to 2 ms, is sent until 4 ms and executes until 12 ms. The row waits 2 ms for the
    // first device, 1 ms for the links, and then until 12 ms for the second device.
    expect(book(0)).toEqual([
      { device: 0, send: 0, start: 2, end: 3 },
      { device: 1, send: 4, start: 12, end: 18 },
    ]);
    expect(path.waitNs).toBe((2 + 1 + 7) * MS);
    // Nothing is in the way of a later batch.
    const later = two();
    later.book(0, 2);
    expect(later.book(20)).toEqual([
      { device: 0, send: 20, start: 20, end: 21 },
      { device: 1, send: 21, start: 22, end: 28 },
    ]);
    expect(later.path.waitNs).toBe(0);
  });

  it('probe() waits for the uplink or the downlink, whichever is free later', () => {
    // First the two devices of stage 1 share their links, then those of stage 2.
    const parts = [stage([10], { ...SENDS, virtualGpus: 2 }), stage([6], { virtualGpus: 2 })];
    const uplink = byHand(parts, { servers: 'aabc' });
    uplink.book(0);
    expect(uplink.book(0)).toMatchObject([{ device: 1 }, { device: 3, send: 11, start: 12 }]);
    const downlink = byHand(parts, { servers: 'abcc' });
    downlink.book(0);
    expect(downlink.book(0)).toMatchObject([{ device: 1 }, { device: 3, send: 11, start: 12 }]);
  });

  it('probe() takes in the last stage the device that ends first, and the lowest where several end together', () => {
    const { book } = byHand([stage([10], { virtualGpus: 3 })]);
    expect([0, 0, 0, 0, 0].map((at) => book(at)?.[0]?.device)).toEqual([0, 1, 2, 0, 1]);
    expect(book(100)?.[0]?.device).toBe(0);
    expect(book(100)?.[0]?.device).toBe(1);
    expect(book(109)?.[0]).toEqual({ device: 2, send: 109, start: 109, end: 119 });
    // The devices are free at 110, 110 and 119 ms.
    expect(book(109)?.[0]).toMatchObject({ device: 0, start: 110 });
  });

  it('probe() takes in earlier stages the device that can send first after its execution', () => {
    // The first two devices share an uplink.
    const parts = [stage([10], { ...SENDS, transferBytes: 30 * BYTES_PER_MS, virtualGpus: 3 }), stage([6])];
    const { book } = byHand(parts, { servers: 'aabc' });
    expect(book(0)?.[0]).toMatchObject({ device: 0, end: 10 });
    // The uplink is busy until 40 ms, so device 1 would end at 10 ms and send at 40 ms. Device 2 sends at 10 ms.
    expect(book(0)?.[0]).toMatchObject({ device: 2, end: 10 });
    // The devices could send at 40, 40 and 70 ms: the lowest of the first two is taken.
    expect(book(0)?.[0]).toMatchObject({ device: 0, start: 10 });
  });

  it('probe() ignores uplinks in the last stage', () => {
    // Device 2, the first of the second stage, is on the server of device 0.
    const parts = [stage([10], { ...SENDS, virtualGpus: 2 }), stage([6], { virtualGpus: 2 })];
    const { booking, path, book } = byHand(parts, { servers: 'abac' });
    path.stages = 2;
    path.device.set([0, 3]);
    path.sendAt[1] = 249 * MS;
    path.endAt[1] = 12 * MS;
    // The uplink of device 0 is busy until 250 ms; device 3 is free at 12 ms, and its downlink at 250 ms.
    booking.reserve(path, 0, 1, 1);
    expect(book(0)).toMatchObject([
      { device: 1, end: 10 },
      { device: 2, end: 17 },
    ]);
    path.device.set([1, 3]);
    path.sendAt[1] = 19 * MS;
    path.endAt[1] = 30 * MS;
    booking.reserve(path, 0, 1, 1);
    // Device 2 would end at 27 ms, device 3 at 36 ms.
    expect(book(0)).toMatchObject([
      { device: 1, end: 20 },
      { device: 2, end: 27 },
    ]);
  });

  it('reserve() keeps no link for the way to the first stage', () => {
    // Device 2 shares its downlink with device 0.
    const { book } = byHand([stage([10], SENDS), stage([30], { virtualGpus: 2 })], { servers: 'aba' });
    expect(book(0)).toMatchObject([{}, { device: 1 }]);
    expect(book(0)).toEqual([
      { device: 0, send: 0, start: 10, end: 20 },
      { device: 2, send: 20, start: 21, end: 51 },
    ]);
  });

  it('probe() and reserve() can begin at a later stage, where the batch is ready', () => {
    const { booking, path, probe } = byHand([
      stage([10], SENDS),
      stage([6], { ...SENDS, virtualGpus: 2 }),
      stage([3]),
    ]);
    path.device[0] = 0;
    const found = [
      { device: 1, send: 5, start: 6, end: 12 },
      { device: 3, send: 12, start: 13, end: 16 },
    ];
    expect(probe(5, { from: 1 })).toEqual(found);
    expect([path.stages, path.waitNs, path.device[0]]).toEqual([3, 0, 0]);
    booking.reserve(path, 0, 1, 1);
    // Device 0 is free. Its uplink is busy until 6 ms, and device 1 until 12 ms.
    expect(probe(0)).toMatchObject([{ start: 0 }, { device: 2, send: 10 }, {}]);
    expect(probe(5, { from: 1 })).toMatchObject([{ device: 2, send: 6, start: 7 }, { send: 13 }]);
  });

  it('probe() takes only devices that are up, and finds no way where a stage has none', () => {
    const { booking, probe, book } = byHand([stage([10], { virtualGpus: 2 }), stage([6])], { up: [1, 2] });
    expect(book(0)?.[0]).toMatchObject({ device: 1, start: 0 });
    booking.deviceUp(0);
    expect(probe(0)?.[0]).toMatchObject({ device: 0, start: 0 });
    booking.deviceDown(0);
    expect(probe(0)?.[0]).toMatchObject({ device: 1, start: 10 });
    booking.deviceDown(2);
    expect(probe(0)).toBeUndefined();
    expect(byHand([stage([10])], { up: [] }).probe(0)).toBeUndefined();
  });

  it('freeFrom() is always 0 and nothing is kept that would have to be released', () => {
    const { booking, book } = byHand([stage([10])]);
    book(0);
    expect([booking.freeFrom(), booking.kept]).toEqual([0, 0]);
  });
});
