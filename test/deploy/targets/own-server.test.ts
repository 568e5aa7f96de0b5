import { expect, it } from 'vitest';
import type { EngineBundle } from '../../../src/deploy/targets/engine-target.js';
import { drainS, runFaults } from '../../../src/deploy/targets/own-server.js';

const GROUPS = [
  { deviceClass: 'L4', run: undefined },
  { deviceClass: 'L4', run: undefined },
  { deviceClass: 'cpu', run: { provider: 'cpu' } },
];

function bundle(tuner: object | undefined, sloMs: readonly number[] = []): EngineBundle {
  const graph = { groups: GROUPS, models: sloMs.map((one) => ({ sloMs: one })) };
  return { plan: { serving: tuner === undefined ? {} : { tuner } }, graph } as unknown as EngineBundle;
}

it('runFaults() reports each class that nobody knows how to run, and a tuner with what the target starts', () => {
  const unknown = expect.stringContaining('which provider runs class L4');
  expect(runFaults(bundle(undefined), 'pods').map(({ message }) => message)).toEqual([unknown]);
  expect(runFaults(bundle({ kind: 'hpa' }), 'machines').map(({ path, message }) => [path, message])).toEqual([
    ['/classes', unknown],
    ['/serving/tuner', 'the plan has a tuner, which moves devices between machines; solve it without one'],
  ]);
});

it.each([
  [[50], 10],
  [[10_001, 50], 11],
  [[50, 30_000], 30],
])('drainS() waits for models with SLOs of %j ms for %i s', (sloMs, wanted) => {
  expect(drainS(bundle(undefined, sloMs))).toBe(wanted);
});
