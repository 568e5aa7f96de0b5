import { describe, expect, test } from 'vitest';
import { stream } from '../../../../bench/refute/pooled/random-problem.js';
import { StateSet } from '../../../../src/milp/integer/grid/state-set.js';

function membersOf(set: StateSet, states: number): number[] {
  const members: number[] = [];
  for (let u = set.next(0); u < states; u = set.next(u + 1)) members.push(u);
  return members;
}

describe('StateSet', () => {
  test('walks through what was added, in rising order', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const next = stream(seed);
      const states = 1 + Math.floor(140 * next());
      const some = Array.from({ length: Math.floor(40 * next()) }, () => Math.floor(states * next()));
      const set = new StateSet(states);
      for (const u of some) set.add(u);
      const members = [...new Set(some)].sort((a, b) => a - b);
      expect({ seed, members: membersOf(set, states) }).toEqual({ seed, members });
      for (let from = 0; from <= states + 1; from++)
        expect(set.next(from)).toBe(members.find((u) => u >= from) ?? states);
    }
  });

  test('visits members that are added ahead during a walk', () => {
    const set = new StateSet(200);
    set.add(0);
    const seen: number[] = [];
    for (let u = set.next(0); u < 200; u = set.next(u + 1)) {
      seen.push(u);
      for (const to of [u + 1, u + 33]) if (to < 70) set.add(to);
    }
    expect(seen).toEqual(Array.from({ length: 70 }, (_, u) => u));
  });
});
