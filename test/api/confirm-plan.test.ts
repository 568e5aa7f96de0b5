import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeMaterial } from '../../bench/fuzz/material.js';
import type { PooledPlan } from '../../src/artifacts/index.js';
import { plan } from '../cli/plan.js';

let root: string;
let folder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'inferplan-confirm-'));
  folder = join(root, 'material');
  await writeMaterial(folder);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const validated = () => plan(['validate', 'plan.json'], { cwd: folder });
const deployed = () => plan(['deploy', 'plan.json', '-o', 'other'], { cwd: folder });

it('plan deploy refuses a plan that plan validate refuses, with the same words', async () => {
  const path = join(folder, 'plan.json');
  const text = await readFile(path, 'utf8');
  const changed = JSON.parse(text) as PooledPlan;
  changed.classes.fast!.count = 256;
  await writeFile(path, JSON.stringify(changed));
  for (const ran of [await validated(), await deployed()]) {
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('/classes/fast/count: is 256; 1 are free');
  }
  await writeFile(path, text);
  expect((await deployed()).code).toBe(0);
});

it('plan validate and plan deploy say why an input of a plan cannot be read', async () => {
  await rename(join(folder, 'spec.yaml'), join(folder, 'old.yaml'));
  expect((await validated()).stderr).toContain('spec.yaml: there is no such file');
  const { symlink } = await import('node:fs/promises');
  await symlink('spec.yaml', join(folder, 'spec.yaml'));
  for (const ran of [await validated(), await deployed()]) {
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('spec.yaml: it is a symbolic link that leads back to itself');
  }
});
