import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inWholeRunOnly } from '../cases.js';
import { plan } from './plan.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-not-held-'));
  const write = (name: string, value: object) => writeFile(join(folder, name), JSON.stringify(value));
  await write('m.json', {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm' },
    blocks: [{ cutBytes: 0 }],
    devices: { gpu: { blockLatencyUs: { 1: { 1: [100_000] } } } },
  });
  await write('cluster.json', { kind: 'cluster', devices: { gpu: { count: 1, hourlyCost: 1 } } });
  // Nine tenths of what the one GPU can do leave requests waiting for longer than 70 ms.
  await write('spec.json', {
    kind: 'pooled',
    cluster: 'cluster.json',
    planner: { objective: 'cost' },
    models: [{ profile: 'm.json', sloMs: 170, rps: 9 }],
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it.each(
  inWholeRunOnly([
    'solve spec.json --hold 99% -o plan.json',
    'compare spec.json --mix gpu=1 --hold 99% -o compared.json',
  ]),
)(
  'plan %s ends with 5 where no plan holds what is asked for',
  async (command) => {
    const { code, stderr } = await plan(command.split(' '), { cwd: folder });
    expect({ code, stderr }).toMatchObject({ code: 5, stderr: expect.stringContaining('holds') });
    if (!command.startsWith('compare')) return;
    const { rows, checks } = JSON.parse(await readFile(join(folder, 'compared.json'), 'utf8'));
    expect(rows).toMatchObject([{ mix: { gpu: 1 }, status: 'no-plan-in-time' }]);
    expect(checks).toEqual([{ what: 'hold', threshold: 0.99, held: false }]);
  },
  60_000,
);

it.each(['solve short.json --hold 99%', 'compare short.json --mix gpu=1 --hold 99% -o short-compared.json'])(
  'plan %s ends with 3 where there is no plan',
  async (command) => {
    const short = { profile: 'm.json', sloMs: 50, rps: 1 };
    const spec = { kind: 'pooled', cluster: 'cluster.json', planner: { objective: 'cost' }, models: [short] };
    await writeFile(join(folder, 'short.json'), JSON.stringify(spec));
    const { code, stderr } = await plan(command.split(' '), { cwd: folder });
    expect({ code, stderr }).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('there is no plan for'),
    });
    if (!command.startsWith('compare')) return;
    const { checks } = JSON.parse(await readFile(join(folder, 'short-compared.json'), 'utf8'));
    expect(checks).toEqual([{ what: 'hold', threshold: 0.99, held: false }]);
  },
  60_000,
);
