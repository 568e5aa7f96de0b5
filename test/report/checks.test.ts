import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import { checkLine, missedLines } from '../../src/report/index.js';

describe('missedLines()', () => {
  it('has a sentence for each gate that does not hold, and none for those that do', () => {
    expect(
      missedLines({
        checks: [
          { what: 'attainment', threshold: 0.99, value: 0.9899962, held: false },
          { what: 'attainment', model: 'a', threshold: 0.99, value: 0.95, held: false },
          { what: 'attainment', model: 'b', threshold: 0.99, value: 0.998, held: true },
          { what: 'failedRequests', threshold: 0, value: 2, held: false },
        ],
      }),
    ).toEqual([
      'Attainment is 98.9996 %, below 99 %',
      'Attainment of a is 95 %, below 99 %',
      '2 requests failed, and none may',
    ]);
    expect(missedLines({})).toEqual([]);
  });
});

describe('checkLine()', () => {
  it('says of a share without a figure that nothing came', () => {
    const none = { what: 'attainment', threshold: 0.5, held: false } as const;
    expect(checkLine(none)).toBe('No request came, so it is not shown that 50 % are in time');
    expect(checkLine(none, { count: 3, confidence: 0.95 })).toBe(
      'Not every run had a request, so it is not shown that 50 % are in time',
    );
  });

  it('says what holds, too', () => {
    const held = { what: 'attainment', threshold: 0.9, value: 0.97, low: 0.95, held: true } as const;
    expect(checkLine(held, { count: 4, confidence: 0.95 })).toBe(
      'Attainment is 95 % or more with 95 % confidence, at or above 90 % (mean 97 % of 4 runs)',
    );
    expect(checkLine({ what: 'inputs', file: 'plan.json', held: false })).toBe(
      'plan.json is not as its inputs say',
    );
  });

  it('writes a figure and what it is judged by alike only where they are equal, and never a part as 100 %', () => {
    const uniform = streamOf(7, 'verdicts').uniform;
    const near = (threshold: number) =>
      threshold === 0
        ? 10 ** (-17 * uniform())
        : threshold * (1 + (uniform() - 0.5) * 10 ** -Math.floor(12 * uniform()));
    const asks = [
      ['attainment', /is (\S+ %), (?:at or above|below) (\S+ %)/],
      ['attainmentDifference', /by (\S+ points), (?:within|more than) the (\S+ points)/],
      ['difference', /by (\S+(?: %)?), (?:within|more than) the (\S+(?: %)?) that/],
    ] as const;
    for (let i = 0; i < 3000; i++) {
      const [what, words] = asks[i % 3]!;
      const threshold = [1, 0.99, 0.5, 0.02, 0, uniform(), uniform()][i % 7]!;
      const value = uniform() < 0.1 ? threshold : Math.min(1, near(threshold));
      const held = what === 'attainment' ? value >= threshold : value <= threshold;
      const relative = i % 2 === 0;
      const line = checkLine({
        what,
        threshold,
        value,
        held,
        ...(what === 'difference' && { figure: 'cost', relative }),
      });
      const [, one, other] = words.exec(line) ?? [];
      expect([line, one === other]).toEqual([line, value === threshold]);
      if (what === 'attainment') expect([line, one === '100 %']).toEqual([line, value === 1]);
    }
  });
});
