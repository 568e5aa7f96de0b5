import { describe, expect, it } from 'vitest';
import { quantityOf } from '../../../../src/api/init/found/quantity.js';

describe('quantityOf()', () => {
  it.each([
    ['4', 4],
    ['0', 0],
    [4, 4],
    ['+3', 3],
    ['-1', -1],
    ['8k', 8000],
    ['1Ki', 1024],
    ['1Gi', 1024 ** 3],
    ['1.5Gi', 1.5 * 1024 ** 3],
    ['2Ei', 2 * 1024 ** 6],
    ['32386544Ki', 32386544 * 1024],
    ['3920m', 3.92],
    ['4000m', 4],
    ['4000000u', 4],
    ['4000000000n', 4],
    ['1e3', 1000],
    ['1E3', 1000],
    ['12e-1', 1.2],
    ['1E', 1e18],
    ['5.', 5],
    ['.5', 0.5],
  ])('reads %j as Kubernetes does', (given, value) => {
    expect(quantityOf(given)).toBe(value);
  });

  it.each([
    ...[
      '',
      ' 4',
      '4 ',
      'four',
      '0x10',
      '1,000',
      '4GB',
      '1ki',
      '1K',
      '1KI',
      '1mi',
      '--1',
      '.',
      'Gi',
      '1e',
      '1e3Ki',
    ],
    ...['Infinity', 'NaN', '1e999', '1e9999', '9'.repeat(65)],
    ...[null, undefined, true, [], {}, Number.NaN, Number.POSITIVE_INFINITY],
  ])('does not read %j', (given) => {
    expect(quantityOf(given)).toBeUndefined();
  });
});
