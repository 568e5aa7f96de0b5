import { describe, expect, it } from 'vitest';
import { NONE } from '../../../../src/collections/index.js';
import { streamOf } from '../../../../src/random/index.js';
import { EarliestDevices } from '../../../../src/serving/stage-local/placing/earliest-devices.js';

function usable(devices: EarliestDevices, ...which: number[]): void {
  for (const device of which) devices.setUsable(device, true);
}

describe('EarliestDevices', () => {
  it('first() is none before any device takes work, in a group without devices, and in a group that does not exist', () => {
    const devices = new EarliestDevices(2, [[0, 1], []]);
    expect([0, 1, 2].map((group) => devices.first(group))).toEqual([NONE, NONE, NONE]);
    usable(devices, 1);
    expect([0, 1, 2].map((group) => devices.first(group))).toEqual([1, NONE, NONE]);
  });

  it('first() is the device of the lowest index where several are free at one time', () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0],
    ]) {
      const devices = new EarliestDevices(3, [[2, 0, 1]]);
      usable(devices, ...order);
      expect(devices.first(0)).toBe(0);
      for (const device of order) devices.setFree(device, 7);
      expect(devices.first(0)).toBe(0);
      devices.setFree(0, 8);
      expect(devices.first(0)).toBe(1);
      devices.setFree(1, 8);
      devices.setFree(2, 8);
      expect(devices.first(0)).toBe(0);
    }
  });

  it('first() agrees with a look at all devices after every change, in groups of every size', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const stream = streamOf(seed, 'devices');
      const groups: number[][] = [[], []];
      const count = 1 + stream.integer(40);
      for (let device = 0; device < count; device++) groups[stream.uniform() < 0.8 ? 0 : 1]!.push(device);
      const devices = new EarliestDevices(count, groups);
      const free = new Array<number>(count).fill(0);
      const isUsable = new Array<boolean>(count).fill(false);
      for (let step = 0; step < 150; step++) {
        // About half of the changes give work to the device that is free first.
        const first = stream.uniform() < 0.5 ? devices.first(0) : NONE;
        const device = first === NONE ? stream.integer(count) : first;
        if (first === NONE && stream.uniform() < 0.4) {
          isUsable[device] = stream.uniform() < 0.8;
          devices.setUsable(device, isUsable[device]!);
        } else {
          // Some runs use few different times, so that there are many ties.
          free[device] = stream.integer(seed % 2 === 0 ? 4 : 1000);
          devices.setFree(device, free[device]!);
        }
        const firsts = groups.map((members) => {
          const candidates = members.filter((member) => isUsable[member]);
          const least = Math.min(...candidates.map((member) => free[member]!));
          return candidates.filter((member) => free[member] === least).sort((a, b) => a - b)[0] ?? NONE;
        });
        expect(groups.map((_, group) => devices.first(group))).toEqual(firsts);
      }
    }
  });
});
