import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { ArrivalWindows } from '../../../src/serving/tuning/arrival-windows.js';

describe('ArrivalWindows', () => {
  it('counts the arrivals after now less the length, and not those exactly as long ago', () => {
    const windows = new ArrivalWindows([10, 100]);
    for (const at of [0, 5, 10]) windows.add(at);
    expect([windows.countIn(0), windows.countIn(1)]).toEqual([2, 3]);
    windows.slide(104);
    expect([windows.countIn(0), windows.countIn(1)]).toEqual([0, 2]);
    windows.slide(105);
    expect(windows.countIn(1)).toBe(1);
  });

  it('agrees with a recount of all arrivals, in windows of any order and through growth', () => {
    for (let seed = 0; seed < 20; seed++) {
      const random = streamOf(seed, 'windows');
      const lengths = Array.from({ length: 5 }, () => 1 + Math.floor(random.uniform() * 5000));
      const windows = new ArrivalWindows(lengths);
      const times: number[] = [];
      let at = 0;
      for (let i = 0; i < 4000; i++) {
        at += i < 700 ? 20 : Math.floor(random.uniform() * 3);
        times.push(at);
        windows.add(at);
        if (i % 97 !== 0) continue;
        lengths.forEach((length, w) => {
          expect(windows.countIn(w)).toBe(times.filter((time) => time > at - length).length);
        });
        const since = at - Math.floor(random.uniform() * Math.max(...lengths));
        expect(windows.countAfter(since)).toBe(times.filter((time) => time > since).length);
      }
    }
  });
});
