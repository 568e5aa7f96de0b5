import { expect, it } from 'vitest';
import { gateFaults } from '../../src/checks/gate-faults.js';
import type { GateCheck } from '../../src/formats/index.js';

const check = (changes: Partial<GateCheck>): GateCheck => ({
  what: 'attainment',
  threshold: 0.9,
  held: true,
  ...changes,
});

it.each<[Partial<GateCheck>, { value?: number; low?: number }, string[]]>([
  [{ value: 0.95 }, { value: 0.95 }, []],
  [{ value: 0.95, held: false }, { value: 0.95 }, ['/checks/0/held']],
  [{ value: 0.96 }, { value: 0.95 }, ['/checks/0/value']],
  [{ value: 0.95, low: 0.89, held: false }, { value: 0.95, low: 0.89 }, []],
  [{ value: 0.95, low: 0.89 }, { value: 0.95, low: 0.89 }, ['/checks/0/held']],
  [{ what: 'failedRequests', threshold: 0, value: 2 }, { value: 2 }, ['/checks/0/held']],
  [{ what: 'attainment', held: false }, {}, []],
  [{ what: 'hold', held: false }, {}, []],
])('gateFaults() finds where %j does not follow from %j', (changes, found, paths) => {
  expect(gateFaults({ checks: [check(changes)] }, () => found).map(({ path }) => path)).toEqual(paths);
});
