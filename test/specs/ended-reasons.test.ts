import { describe, expect, it } from 'vitest';
import { COPIES_ENDED, endedReasons } from '../../src/specs/ended-reasons.js';

describe('endedReasons()', () => {
  it('reports what was in the way, and else what ended the search', () => {
    const text = 'batches wait for links';
    expect(endedReasons({ limit: 'work', reasons: [{ text }] })).toEqual([text]);
    const said = (['time', 'work', 'interrupted', undefined] as const).map((limit) =>
      endedReasons(limit === undefined ? {} : { limit }),
    );
    expect(said).toEqual([
      ['the time was over before a plan was found, or it was proved that there is none'],
      [
        'the search did the work that it is allowed before a plan was found, or it was proved that there is none',
      ],
      ['the search was stopped before a plan was found, or it was proved that there is none'],
      ['no plan that was found holds in simulation what is asked for'],
    ]);
    expect(endedReasons({ limit: 'copies' })).toEqual([COPIES_ENDED]);
  });
});
