import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { END, Histories } from '../../../src/serving/workflow/histories.js';

const call = (component: number, ...back: number[]) => ({ component, back, rows: 1 });

/** A program that calls 0, then twice as often 1 as 2, and ends. */
function seen(): Histories {
  const histories = new Histories(2);
  for (const component of [1, 1, 2]) {
    histories.saw(0, [], call(0, 0));
    histories.saw(0, [0], { ...call(component, 1), rows: 3 });
    histories.sized(0, [0], { ...call(component, 1), bytes: 100 * component });
    histories.saw(0, [0, component], call(END));
  }
  return histories;
}

describe('Histories', () => {
  it('gives what followed most often, with the mean of its bytes and rows', () => {
    const histories = seen();
    expect(histories.likeliest(0, [])).toEqual({ ...call(0, 0), bytes: 0, rows: 1, chance: 1 });
    expect(histories.likeliest(0, [0])).toEqual({ ...call(1, 1), bytes: 100, rows: 3, chance: 2 / 3 });
    expect(histories.likeliest(0, [0, 2])?.component).toBe(END);
  });

  it('knows the begin of a request from its middle', () => {
    const histories = seen();
    // In the middle, after a component that was never seen, all calls count: three ends, three calls of 0.
    expect(histories.likeliest(0, [9])?.component).toBe(0);
    histories.saw(0, [5, 0], call(3, 1));
    histories.saw(0, [5, 0], call(3, 1));
    expect(histories.likeliest(0, [0])?.component).toBe(1);
    expect(histories.likeliest(0, [5, 0])?.component).toBe(3);
  });

  it('asks a shorter history where the longer one has seen nothing', () => {
    const histories = seen();
    expect(histories.likeliest(0, [7, 1])?.component).toBe(END);
    expect(histories.likeliest(1, [])).toBeUndefined();
  });

  it('distinguishes calls by where their inputs came from', () => {
    const histories = new Histories(1);
    histories.saw(0, [0], call(1, 1));
    histories.saw(0, [0], call(1, 0));
    histories.saw(0, [0], call(1, 0));
    expect(histories.likeliest(0, [0])?.back).toEqual([0]);
  });

  it('knows of no end before a request was seen to its end', () => {
    const histories = new Histories(2);
    histories.saw(0, [], call(0, 0));
    expect(histories.hasSeenEnd(0)).toBe(false);
    histories.saw(0, [0], call(END));
    expect([histories.hasSeenEnd(0), histories.hasSeenEnd(1)]).toEqual([true, false]);
  });

  it('draws calls as often as they were seen', () => {
    const histories = seen();
    const stream = streamOf(1, 'draws');
    const drawn = Array.from({ length: 30_000 }, () => histories.next(0, [0], stream)!.component);
    const share = drawn.filter((component) => component === 1).length / drawn.length;
    // Four standard errors.
    expect(Math.abs(share - 2 / 3)).toBeLessThan(4 * Math.sqrt(2 / 9 / drawn.length));
  });

  it('is made again from its table', () => {
    const [one, other] = [seen(), new Histories(2)];
    other.add(one.table());
    expect(other.table()).toEqual(one.table());
    other.add(one.table());
    expect(other.likeliest(0, [0])).toEqual(one.likeliest(0, [0]));
    expect(
      other
        .table()
        .find(({ history }) => history.join() === '0')
        ?.calls.map(({ count }) => count),
    ).toEqual([4, 2]);
  });
});
