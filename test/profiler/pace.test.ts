import { expect, test } from 'vitest';
import { Pace } from '../../src/profiler/pace.js';
import type { ProgressEvent } from '../../src/profiler/types.js';

test('Pace has no estimate until something is done, and an estimate of 0 at the end', () => {
  const told: (number | undefined)[] = [];
  const pace = new Pace(4, (event: ProgressEvent) => {
    if (event.kind === 'progress') told.push(event.leftMs);
  });
  const cells = { className: 'cpu', virtual: 1, batch: 1, count: 4 };
  pace.tell(cells, 0);
  pace.tell(cells, 0.25);
  pace.tell(cells, 1);
  expect(told).toEqual([undefined, expect.any(Number), 0]);
  expect(told[1]).toBeGreaterThanOrEqual(0);
});
