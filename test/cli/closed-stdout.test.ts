import { spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inWholeRun } from '../cases.js';
import { PLAN_PROGRAM, plan } from './plan.js';

const EXAMPLE = new URL('../../examples/pooled/expected-plan.json', import.meta.url).pathname;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-closed-stdout-'));
  await copyFile(EXAMPLE, join(folder, 'plan.json'));
  // The file is longer than pipes hold: its writer is there when the reader leaves.
  const times = Array.from({ length: 60_000 }, (_, i) => i / 1000);
  await writeFile(join(folder, 'trace.csv'), `arrival_s\n${times.join('\n')}\n`);
  const profile = {
    kind: 'profile',
    version: '1.0',
    model: { name: 'm' },
    blocks: [{ cutBytes: 0 }],
    devices: { A: { blockLatencyUs: { 1: { 1: [9000] } } } },
  };
  const cluster = { devices: { A: { count: 1 } }, networkGbps: 10 };
  const spec = { kind: 'pooled', cluster, models: [{ profile: 'profile.json', sloMs: 5 }] };
  await writeFile(join(folder, 'profile.json'), JSON.stringify(profile));
  await writeFile(join(folder, 'spec.json'), JSON.stringify(spec));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** planUnread runs the program with a reader of its stdout that has gone: at once, or after the first bytes. */
async function planUnread(args: readonly string[], leaves: 'at once' | 'later') {
  const child = spawn(process.execPath, [PLAN_PROGRAM, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  if (leaves === 'at once') child.stdout.destroy();
  else child.stdout.once('data', () => child.stdout.destroy());
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (...ended) => resolve(ended));
  });
  return { code, signal, stderr };
}

/** Expects a command to end as it does when all of its output is read. */
async function expectSameEnd(args: readonly string[], leaves: 'at once' | 'later', code: number) {
  const { code: whole, stderr } = await plan(args, { cwd: folder });
  expect(whole).toBe(code);
  expect(await planUnread(args, leaves)).toEqual({ code, signal: null, stderr });
}

describe('A command whose reader has gone', () => {
  inWholeRun('ends a simulation with 6 where its attainment is too low, and says nothing else', () =>
    expectSameEnd(
      ['simulate', 'plan.json', '--load', '2', '--duration', '0.2s', '--fail-under', '0.999'],
      'at once',
      6,
    ),
  );

  inWholeRun('ends with 3 where no plan can be, and its JSON is not read', () =>
    expectSameEnd(['solve', 'spec.json', '--json'], 'at once', 3),
  );

  it('ends by itself in the middle of a trace that it prints', () =>
    expectSameEnd(['trace', 'slice', 'trace.csv', '--from', '0s', '-o', '-'], 'later', 0));
});
