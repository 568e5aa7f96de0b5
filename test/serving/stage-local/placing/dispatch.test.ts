import { describe, expect, it } from 'vitest';
import { streamsOf } from '../../../../src/random/index.js';
import {
  DISPATCHES,
  type Dispatch,
  type DispatchState,
} from '../../../../src/serving/stage-local/placing/dispatch.js';

const NONE = -1;

/** Members 0 to 3 are devices of their own; 4 and 5 are devices 0 and 2 in another pool. */
const state = (works: readonly number[] = []): DispatchState => ({
  workNs: (_at, member) => works[member]!,
  ongoing: (member) => works[member]!,
  turnNs: () => 0,
  deviceOf: Int32Array.of(0, 1, 2, 3, 0, 2),
  streams: streamsOf(1, 'core'),
});

/** turnsOf gives the first choices by turns among members that are up. */
function turnsOf(up: readonly number[], count: number, of: DispatchState): number[] {
  const turns = DISPATCHES.turns(of);
  const chosen: number[] = [];
  for (let i = 0; i < count; i++) chosen.push(turns.choose(0, up, chosen.at(-1) ?? NONE));
  return chosen;
}

describe('DISPATCHES', () => {
  it('gives NONE where no device is up', () => {
    for (const make of Object.values(DISPATCHES)) expect(make(state()).choose(0, [], NONE)).toBe(NONE);
  });

  it('takes turns in the order of the devices that are up, from the one after the last on', () => {
    const turns = DISPATCHES.turns(state());
    const choose: Dispatch['choose'] = (at, up, last) => turns.choose(at, up, last);
    expect(choose(0, [0, 1, 3], NONE)).toBe(0);
    expect(choose(0, [0, 1, 3], 0)).toBe(1);
    expect(choose(0, [0, 1, 3], 1)).toBe(3);
    expect(choose(0, [0, 1, 3], 3)).toBe(0);
    expect(choose(0, [0, 3], 1)).toBe(3);
  });

  it('leaves out no device that serves several pools', () => {
    expect(turnsOf([4, 1, 5, 3], 8, state())).toEqual([4, 1, 5, 3, 4, 1, 5, 3]);
  });

  it('gives a device that is three times as fast three times as many turns, as evenly as it can', () => {
    const turnNs = (member: number) => [10, 30, 10][member]!;
    expect(turnsOf([0, 1], 8, { ...state(), turnNs })).toEqual([0, 0, 1, 0, 0, 0, 1, 0]);
    expect(turnsOf([0, 1, 2], 7, { ...state(), turnNs })).toEqual([0, 2, 0, 2, 0, 1, 2]);
    expect(turnsOf([0, 2], 4, { ...state(), turnNs })).toEqual([0, 2, 0, 2]);
  });

  it('lets a device that comes up beside unlike ones begin with those that have had fewest turns', () => {
    const turnNs = (member: number) => [10, 30, 10][member]!;
    const turns = DISPATCHES.turns({ ...state(), turnNs });
    turns.joined?.(0, []);
    turns.joined?.(1, [0]);
    let last = NONE;
    for (let i = 0; i < 400; i++) last = turns.choose(0, [0, 1], last);
    turns.joined?.(2, [0, 1]);
    const counts = [0, 0, 0];
    for (let i = 0; i < 7 * 10; i++) {
      last = turns.choose(0, [0, 1, 2], last);
      counts[last]! += 1;
    }
    expect(counts).toEqual([30, 10, 30]);
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

  it('takes the one with fewer tasks of two different ones that are drawn, and draws nothing of a single one', () => {
    const drawn = streamsOf(1, 'core')('dispatch');
    const counts = [3, 1, 3, 2];
    const { choose } = DISPATCHES['two-ongoing'](state(counts));
    const up = [0, 1, 2, 3];
    const chosen = new Map<number, number>();
    for (let i = 0; i < 400; i++) {
      expect(choose(0, [2], NONE)).toBe(2);
      const a = drawn.integer(4);
      const b = up.filter((member) => member !== a)[drawn.integer(3)]!;
      const wanted = counts[b]! < counts[a]! ? b : a;
      expect(choose(0, up, NONE)).toBe(wanted);
      chosen.set(wanted, (chosen.get(wanted) ?? 0) + 1);
    }
    // Of the six pairs, the least is in three, the next in two, and the two alike share one.
    expect([...chosen.keys()].sort()).toEqual([0, 1, 2, 3]);
    expect(chosen.get(1)! / 400).toBeCloseTo(3 / 6, 1);
    expect(chosen.get(3)! / 400).toBeCloseTo(2 / 6, 1);
  });
});
