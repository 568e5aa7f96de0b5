import { describe, expect, it } from 'vitest';
import { LoadTally } from '../../src/loadgen/load-tally.js';
import { streamOf } from '../../src/random/index.js';

const ASKED = { url: 'u', arrivals: 'trace', seed: 0, rows: 1, rps: 1, durationS: 2 } as const;
const SENDING = { seconds: 2, stoppedShort: false, hasSlo: true };

describe('LoadTally.joined()', () => {
  it('reports the same as one tally of all requests', () => {
    const { uniform } = streamOf(1, 'tallies');
    const tallies = [new LoadTally(), new LoadTally(), new LoadTally()];
    const all = new LoadTally();
    for (let i = 0; i < 300; i++) {
      const [kind, at, ms] = [Math.floor(6 * uniform()), 5000 * uniform(), 10 * uniform()];
      for (const tally of [tallies[Math.floor(3 * uniform())] as LoadTally, all]) {
        tally.countSent(ms);
        if (kind === 0) tally.countEnd('dropped', at);
        else if (kind === 1) tally.countEnd('cancelled', at);
        else if (kind === 2) tally.countFailure(`reason ${Math.floor(at / 500)}`, at);
        else if (kind < 5) {
          tally.countEnd(kind === 3 ? 'late' : 'inTime', at, ms);
          tally.countAnsweredBy(at < 1000 ? ['small', 'large'] : ['small']);
        }
      }
    }
    const joined = LoadTally.joined(tallies);
    expect(joined.report(ASKED, SENDING)).toEqual(all.report(ASKED, SENDING));
    expect(LoadTally.joined(tallies.toReversed()).report(ASKED, SENDING)).toEqual(all.report(ASKED, SENDING));
    expect(all.report(ASKED, SENDING).answeredBy?.map(({ stage }) => stage)).toEqual(['small', 'large']);
    expect([joined.sent, joined.done]).toEqual([all.sent, all.done]);
    expect(joined.done).toBeLessThan(300);
    expect(tallies.map(({ sent }) => sent).reduce((sum, sent) => sum + sent)).toBe(300);
  });

  it('keeps twenty reasons of failure for all tallies together', () => {
    const tallies = [0, 1].map((which) => {
      const tally = new LoadTally();
      for (let i = 0; i < 15; i++) tally.countFailure(`${which}/${i}`, 1);
      return tally;
    });
    const { failures } = LoadTally.joined(tallies);
    expect(Object.keys(failures)).toHaveLength(21);
    expect(failures['other reasons']).toBe(10);
  });
});

describe('LoadTally.report()', () => {
  it('counts the rows of answers by the models that answered, where the server reported any', () => {
    const tally = new LoadTally();
    tally.countAnsweredBy([]);
    expect(tally.report(ASKED, SENDING)).not.toHaveProperty('answeredBy');
    for (const stages of [['b'], ['c', 'a', 'b'], ['a']]) tally.countAnsweredBy(stages);
    expect(tally.report(ASKED, SENDING).answeredBy).toEqual([
      { stage: 'a', rows: 2, share: 0.4 },
      { stage: 'b', rows: 2, share: 0.4 },
      { stage: 'c', rows: 1, share: 0.2 },
    ]);
  });

  it('counts every latency in its bucket, of all requests and of each model', () => {
    const { uniform } = streamOf(2, 'latencies');
    const tally = new LoadTally();
    const latencies = Array.from({ length: 200 }, () => 100 * uniform() ** 3);
    for (const ms of latencies) {
      tally.countSent(0);
      tally.countEnd('inTime', ms, ms);
    }
    const { latencyHistogram } = tally.report(ASKED, SENDING);
    const { boundsMs = [], counts = [] } = latencyHistogram ?? {};
    const inBucket = counts.map(
      (_, i) => latencies.filter((ms) => ms >= boundsMs[i]! && ms < boundsMs[i + 1]!).length,
    );
    expect(counts).toEqual(inBucket);
    expect(counts.reduce((sum, count) => sum + count)).toBe(200);
    expect(tally.ofModel('m', undefined).latencyHistogram).toEqual(latencyHistogram);
    expect(new LoadTally().report(ASKED, SENDING)).not.toHaveProperty('latencyHistogram');
  });
});
