import { describe, expect, it } from 'vitest';
import { csvLines } from '../../src/artifacts/csv-table.js';
import { asOneRun, heard, inSteps } from '../../src/artifacts/index.js';
import { smallCsvLines } from '../../src/formats/csv-text.js';
import { streamOf } from '../../src/random/index.js';
import { recordsOf } from '../../src/records/index.js';
import { csvRequests } from '../../src/samples/csv-requests.js';
import { drawnTrace, parseTrace, traceArrivals } from '../../src/workload/index.js';
import { fewOf, inWholeRun } from '../cases.js';

/** untilAborted does work in a run that is aborted in the first turn of the event loop. */
function untilAborted(work: () => Promise<unknown>): Promise<unknown> {
  const controller = new AbortController();
  return asOneRun(async () => {
    setImmediate(() => controller.abort());
    return work();
  }, controller.signal);
}

describe('inSteps()', () => {
  it('handles at most 4096 entries between two turns of the event loop', async () => {
    let [turns, inTurn, most] = [0, 0, 0];
    let goesOn = true;
    const count = () => {
      turns += 1;
      inTurn = 0;
      if (goesOn) setImmediate(count);
    };
    setImmediate(count);
    await inSteps(
      {
        *[Symbol.iterator]() {
          for (let i = 0; i < 40_000; i++) yield i;
        },
      },
      () => {
        inTurn += 1;
        most = Math.max(most, inTurn);
      },
    );
    goesOn = false;
    expect(most).toBeLessThanOrEqual(2 * 4096);
    expect(turns).toBeGreaterThanOrEqual(8);
  });

  it('handles no further entry once the run is aborted', async () => {
    let handled = 0;
    await expect(
      untilAborted(() =>
        inSteps(new Array(100_000).fill(0), () => {
          handled += 1;
        }),
      ),
    ).rejects.toThrow(/aborted/);
    expect(handled).toBeLessThanOrEqual(2 * 4096);
  });
});

const RECORDS = `sample,model,prediction,label,certainty\n${Array.from({ length: 20_000 }, (_, i) => `${i},a,1,1,0.5\n`).join('')}`;
const INPUT = { name: 'x', dtype: 'float32', shape: [1], batchAxis: 0 };

describe('what is read or drawn at length', () => {
  const LONG: Readonly<Record<string, () => Promise<unknown>>> = {
    'lines of CSV': () => csvLines(RECORDS),
    records: () => recordsOf(RECORDS),
    samples: () => csvRequests('1\n'.repeat(100_000), [INPUT]),
    'requests of counts': () =>
      heard(
        drawnTrace(
          traceArrivals(parseTrace('interval_s,count\n1,500000\n'), {
            process: 'poisson',
            stream: streamOf(0, 'test'),
          }),
        ),
      ),
  };
  it.each(fewOf(Object.entries(LONG), 2))('hears that its run is aborted: %s', async (_, work) => {
    await expect(untilAborted(work)).rejects.toThrow(/aborted/);
  });

  inWholeRun('reads cells that cross its pieces as one step does', async () => {
    const text = Array.from({ length: 9000 }, (_, i) => `${i},"é,\n""${i}",${'x'.repeat(i % 40)}\r\n`).join(
      '',
    );
    expect(text.length).toBeGreaterThan(3 << 16);
    expect(await csvLines(text)).toEqual(smallCsvLines(text));
  });

  inWholeRun('reads a faulty text to the same faults as one step does', async () => {
    for (const text of [
      '',
      '"',
      'a,"b\n',
      'a\n"b"c\n',
      `${'a,b\n'.repeat(40_000)}"x"y\n1,2\n`.slice(-300_000),
    ])
      expect(await csvLines(text)).toEqual(smallCsvLines(text));
  });
});
