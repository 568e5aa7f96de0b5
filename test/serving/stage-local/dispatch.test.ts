import { describe, expect, it } from 'vitest';
import { streamsOf } from '../../../src/random/index.js';
import { DISPATCHES, type DispatchState } from '../../../src/serving/stage-local/dispatch.js';

const NONE = -1;

/** Members 0 to 3 are devices of their own; 4 and 5 are devices 0 and 2 in another pool. */
const state = (works: readonly number[] = []): DispatchState => ({
  workNs: (_at, member) => works[member]!,
  deviceOf: Int32Array.of(0, 1, 2, 3, 0, 2),
  streams: streamsOf(1, 'core'),
});

describe('DISPATCHES', () => {
  it('gives NONE where no device is up', () => {
    for (const make of Object.values(DISPATCHES)) expect(make(state()).choose(0, [], NONE)).toBe(NONE);
  });

  it('takes turns in the order of the devices that are up, from the one after the last on', () => {
    const { choose } = DISPATCHES.turns(state());
    expect(choose(0, [0, 1, 3], NONE)).toBe(0);
    expect(choose(0, [0, 1, 3], 0)).toBe(1);
    expect(choose(0, [0, 1, 3], 1)).toBe(3);
    expect(choose(0, [0, 1, 3], 3)).toBe(0);
    expect(choose(0, [0, 3], 1)).toBe(3);
  });

  it('leaves out no device that serves several pools', () => {
    const { choose } = DISPATCHES.turns(state());
    const turns: number[] = [];
    for (let i = 0, last = NONE; i < 8; i++) {
      last = choose(0, [4, 1, 5, 3], last);
      turns.push(last);
    }
    expect(turns).toEqual([4, 1, 5, 3, 4, 1, 5, 3]);
  });

  it('takes the device with the least work, and the first of several', () => {
    const { choose } = DISPATCHES['least-work'](state([7, 5, 5, 9]));
    expect(choose(0, [0, 1, 2, 3], NONE)).toBe(1);
    expect(choose(0, [0, 3], NONE)).toBe(0);
  });

  it('takes the one with less work of two that are drawn, and the first of two alike', () => {
    const drawn = streamsOf(1, 'core')('dispatch');
    const works = [3, 1, 3, 2];
    const { choose } = DISPATCHES['two-choices'](state(works));
    const up = [0, 1, 2, 3];
    const chosen = new Set<number>();
    for (let i = 0; i < 200; i++) {
      const [a, b] = [drawn.integer(4), drawn.integer(4)];
      const wanted = works[b]! < works[a]! ? b : a;
      chosen.add(wanted);
      expect(choose(0, up, NONE)).toBe(wanted);
    }
    expect(chosen.size).toBe(4);
  });
});
