import { describe, expect, it } from 'vitest';
import { frequencyRowsOf, nextCallCountsOf } from '../../../src/plans/index.js';
import { type Stream, streamOf } from '../../../src/random/index.js';
import { END, Histories } from '../../../src/serving/index.js';

const COMPONENTS = ['a', 'b', 'c'];

/** sawRequests lets a frequency table see the calls of random requests of two workflows, and their ends. */
function sawRequests(stream: Stream): Histories {
  const histories = new Histories(2);
  for (let request = 0; request < 30; request++) {
    const application = stream.integer(2);
    const called: number[] = [];
    for (let calls = stream.integer(5); calls > 0; calls--) {
      const call = {
        component: stream.integer(3),
        back: called.length === 0 ? [0] : [1 + stream.integer(called.length)],
        rows: 1 + stream.integer(2),
      };
      histories.saw(application, called, call);
      histories.sized(application, called, { ...call, bytes: stream.integer(100) });
      called.push(call.component);
    }
    histories.saw(application, called, { component: END, back: [], rows: 1 });
  }
  return histories;
}

/** sorted gives the rows of a table without their order, in which counts may come back. */
function sorted(histories: Histories) {
  return histories
    .table()
    .map(({ calls, ...row }) => ({
      ...row,
      calls: calls
        .map(({ bytes, rows, ...call }) => ({ ...call, bytes: Math.round(bytes), rows: Math.round(rows) }))
        .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b))),
    }))
    .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
}

describe('nextCallCountsOf() and frequencyRowsOf()', () => {
  for (const seed of [1, 2, 3, 4, 5])
    it(`keep all that a frequency table saw of random requests, seed ${seed}`, () => {
      const seen = sawRequests(streamOf(seed, 'requests'));
      const workflows = [0, 1].map((application) => ({
        frequencies: nextCallCountsOf(seen.table(), application, COMPONENTS),
      }));
      const again = new Histories(2);
      again.add(frequencyRowsOf(workflows, COMPONENTS));
      // The end of a request has no outputs, and rows that nobody asks for.
      const bare = (histories: Histories) =>
        sorted(histories).map((row) => ({
          ...row,
          calls: row.calls.map((call) =>
            call.component === END ? { ...call, sized: 0, bytes: 0, rows: 0 } : call,
          ),
        }));
      expect(bare(again)).toEqual(bare(seen));
      for (const [application, { frequencies }] of workflows.entries())
        expect(nextCallCountsOf(again.table(), application, COMPONENTS)).toEqual(frequencies);
    });

  it('count the longest histories only, with the means of rows and outputs', () => {
    const seen = new Histories(1);
    const called: number[] = [];
    for (const [component, bytes, rows] of [
      [0, 10, 1],
      [1, 20, 2],
      [2, 60, 3],
    ] as const) {
      const call = { component, back: [called.length], rows };
      seen.saw(0, called, call);
      seen.sized(0, called, { ...call, bytes });
      called.push(component);
    }
    seen.saw(0, [0], { component: 1, back: [1], rows: 4 });
    seen.saw(0, called, { component: END, back: [], rows: 1 });
    expect(nextCallCountsOf(seen.table(), 0, COMPONENTS)).toEqual([
      { after: [], component: 'a', inputs: [0], rows: 1, count: 1, outputBytes: 10 },
      { after: ['a'], component: 'b', inputs: [1], rows: 3, count: 2, outputBytes: 20 },
      { after: ['a', 'b'], component: 'c', inputs: [2], rows: 3, count: 1, outputBytes: 60 },
      { after: ['b', 'c'], count: 1 },
    ]);
  });

  it('refuse a component that the plan lacks', () => {
    const workflows = [{ frequencies: [{ after: [], component: 'd', inputs: [0], rows: 1, count: 1 }] }];
    expect(() => frequencyRowsOf(workflows, COMPONENTS)).toThrow('d is no component');
  });
});
