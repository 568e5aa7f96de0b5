import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { resnet18 } from '../../examples/models/resnet18.js';
import { validateFiles } from '../../src/api/index.js';
import type { Profile } from '../../src/formats/index.js';
import { inLongRun } from '../cases.js';
import { PLAN_PROGRAM, planProcess } from '../cli/plan.js';

let folder: string;
const at = (file: string): string => join(folder, file);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-killed-'));
  await mkdir(at('tmp'));
  await writeFile(at('model.onnx'), resnet18({ image: 32, classes: 10, widthMultiplier: 0.25 }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const LIMITS = ['--warmup', '1', '--min-runs', '1', '--min-ms', '40', '--max-ms', '40'];
function command(output: string): string[] {
  return ['profile', at('model.onnx'), '-b', '1,2,3', ...LIMITS, '-o', at(output)];
}
const environment = () => ({ env: { ...process.env, TMPDIR: at('tmp') } });

async function readProfile(output: string): Promise<Profile> {
  return JSON.parse(await readFile(at(output), 'utf8')) as Profile;
}

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  /** The text that the process wrote for people until it ended. */
  readonly told: { text: string };
}

function start(output: string): Started {
  const args = [PLAN_PROGRAM, ...command(output), '--blocks', '3'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], ...environment() });
  const told = { text: '' };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      told.text += chunk.toString('utf8');
    });
  return { child, told, ended: new Promise((resolve) => child.once('close', resolve)) };
}

/** checkpoint waits for the first checkpoint. */
async function checkpoint(output: string, child: ChildProcess): Promise<void> {
  while (!existsSync(at(output))) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode} before`);
    await sleep(5);
  }
}

function rows(profile: Profile): (number | null)[][] {
  return Object.values(profile.devices['cpu:1']?.blockLatencyUs['1'] ?? {});
}

inLongRun('plan profile --resume continues with the measurements of a killed run', async () => {
  const { child, ended } = start('killed.json');
  await checkpoint('killed.json', child);
  child.kill('SIGKILL');
  await ended;
  expect(await validateFiles([at('killed.json')])).toMatchObject([{ ok: true }]);
  const part = await readProfile('killed.json');
  expect(part.measurement?.complete).toBe(false);
  expect(part.model.file).toBe('model.onnx');
  expect(part.inputs).toMatchObject([{ role: 'model', path: 'model.onnx' }]);
  expect(rows(part)[0]?.every((us) => (us ?? 0) > 0)).toBe(true);
  expect(
    rows(part)
      .at(-1)
      ?.every((us) => us === null),
  ).toBe(true);

  const other = await planProcess([...command('killed.json'), '--resume', '--blocks', '5'], environment());
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('begun with 3 blocks, not 5') });
  expect(await readProfile('killed.json')).toEqual(part);

  expect((await planProcess([...command('killed.json'), '--resume'], environment())).code).toBe(0);
  const whole = await readProfile('killed.json');
  expect(whole.measurement?.complete).toBe(true);
  expect(whole.blocks).toEqual(part.blocks);
  expect(rows(whole)[0]).toEqual(rows(part)[0]);
  expect(rows(whole)).toHaveLength(3);
  expect(rows(whole).flat()).not.toContain(null);
});

it('plan profile keeps its measurements on SIGTERM, leaves no other file, and says how to continue', async () => {
  await rm(at('tmp'), { recursive: true });
  await mkdir(at('tmp'));
  const { child, ended, told } = start('stopped.json');
  await checkpoint('stopped.json', child);
  child.kill('SIGTERM');
  expect(await ended).toBe(130);
  expect(told.text).toMatch(/[12] of 3 combinations of device, virtual size and batch size are measured/);
  // The profile holds batch sizes, blocks and limits of all runs, which options of this run would narrow.
  expect(told.text).toContain(`plan profile ${at('model.onnx')} --resume -o ${at('stopped.json')}\n`);
  expect(told.text).not.toContain('—');
  const part = await readProfile('stopped.json');
  expect(part.measurement?.complete).toBe(false);
  expect(rows(part)[0]).not.toContain(null);
  expect(await readdir(at('tmp'))).toEqual([]);
  expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([]);
});
