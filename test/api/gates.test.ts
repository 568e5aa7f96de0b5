import { describe, expect, it } from 'vitest';
import { attainmentChecks } from '../../src/api/gates.js';

describe('attainmentChecks()', () => {
  it('judges all requests and each of several models, by the lower end of an interval where there is one', () => {
    const models = [
      { name: 'a', value: 0.99 },
      { name: 'b', value: 0.97, low: 0.94 },
      { name: 'silent', value: undefined },
    ];
    expect(attainmentChecks(0.95, { value: 0.95 }, models)).toEqual([
      { what: 'attainment', threshold: 0.95, value: 0.95, held: true },
      { what: 'attainment', model: 'a', threshold: 0.95, value: 0.99, held: true },
      { what: 'attainment', model: 'b', threshold: 0.95, value: 0.97, low: 0.94, held: false },
    ]);
  });

  it('does not hold where nothing came, judges one model once, and judges nothing that was not asked for', () => {
    const silent = { what: 'attainment', threshold: 0, held: false };
    expect(attainmentChecks(0, { value: undefined }, [{ name: 'a', value: undefined }])).toEqual([silent]);
    expect(attainmentChecks(0.5, { value: 1 }, [{ name: 'a', value: 1 }])).toHaveLength(1);
    expect(attainmentChecks(undefined, { value: 0 }, [])).toEqual([]);
  });
});
