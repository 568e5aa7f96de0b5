import { expect, test } from 'vitest';
import { withBoundaryChange } from '../../src/api/boundary-change.js';

const OVERFLOWS = expect.stringMatching(/^float16 at the boundaries makes outputs infinite/);

test('withBoundaryChange() keeps nothing of an earlier change, whether either was finite or not', () => {
  const finite = withBoundaryChange({ warnings: ['slow'] }, 0.25);
  expect(finite).toEqual({ warnings: ['slow'], boundaryChange: 0.25 });
  for (const overflown of [Number.POSITIVE_INFINITY, Number.NaN]) {
    const infinite = withBoundaryChange(finite, overflown);
    expect(infinite).toEqual({ warnings: ['slow', OVERFLOWS] });
    expect(withBoundaryChange(infinite, overflown)).toEqual(infinite);
    expect(withBoundaryChange(infinite, 0)).toEqual({ warnings: ['slow'], boundaryChange: 0 });
  }
  expect(withBoundaryChange(undefined, 0)).toEqual({ boundaryChange: 0 });
});
