import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeMaterial } from '../../bench/fuzz/material.js';
import { plan } from './plan.js';

let root: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'inferplan-moved-'));
  await writeMaterial(join(root, 'material'));
  mkdirSync(join(root, 'away'));
  copyFileSync(join(root, 'material/bundle/plan.json'), join(root, 'away/plan.json'));
  // A bundle moved without what it was made from is still complete.
  mkdirSync(join(root, 'half'));
  for (const file of ['plan.json', 'manifest.json'])
    copyFileSync(join(root, 'material/bundle', file), join(root, 'half', file));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const OF_A_BUNDLE = 'It is the plan of the bundle material/bundle, away from what it was made from';
const NO_BUNDLE = 'it is a file, and a bundle is a folder';

describe('a plan outside its bundle, and what stands where a bundle belongs', () => {
  it.each([
    ['validate material/bundle/plan.json', 7, OF_A_BUNDLE],
    ['deploy material/bundle/plan.json -o out', 7, OF_A_BUNDLE],
    ['validate away/plan.json', 7, 'Put the files back where they were when it was solved'],
    ['deploy away/plan.json -o out', 7, 'away/dense.profile.json: there is no such file'],
    ['serve material/bundle/plan.json', 2, NO_BUNDLE],
    ['serve away/plan.json', 2, NO_BUNDLE],
    ['serve material/bundle/manifest.json', 2, NO_BUNDLE],
    ['serve material/spec.yaml', 2, NO_BUNDLE],
    ['serve material/dense.profile.json', 2, NO_BUNDLE],
    ['serve half', 2, 'models/dense/0-2.onnx: is missing'],
    ['validate half', 2, 'models/dense/0-2.onnx: is missing'],
    ['deploy half -o out', 7, 'dense.profile.json: there is no such file'],
    ['deploy material/bundle -o material/bundle', 2, 'material/bundle'],
    ['deploy material/spec.yaml -o out', 2, 'its kind is "pooled"'],
    ['simulate material/spec.yaml', 2, 'its kind is "pooled"'],
    ['simulate material/dense.profile.json', 2, 'its kind is "profile"'],
    ['simulate material/cluster.yaml', 2, 'its kind is "cluster"'],
  ])('plan %s ends with %i', async (command, code, words) => {
    const ran = await plan(command.split(' '), { cwd: root });
    expect(ran).toMatchObject({ code, stderr: expect.stringContaining(words) });
  });

  it('is deployed again from its bundle, as the advice says, and is the same bundle', async () => {
    expect(await plan(['deploy', 'material/bundle', '-o', 'again'], { cwd: root })).toMatchObject({
      code: 0,
    });
    const held = (bundle: string) => readFileSync(join(root, bundle, 'plan.json'));
    expect(held('again')).toEqual(held('material/bundle'));
    expect(await plan(['validate', 'again'], { cwd: root })).toMatchObject({ code: 0 });
    const twice = ['deploy', 'again/manifest.json', '-o', 'twice'];
    expect(await plan(twice, { cwd: root })).toMatchObject({ code: 0 });
  });

  it('is simulated as it is, because a plan needs nothing else', async () => {
    for (const path of ['away/plan.json', 'half', 'material/bundle/plan.json']) {
      const { code } = await plan(['simulate', path, '--duration', '0.05s', '--json'], { cwd: root });
      expect({ path, code }).toEqual({ path, code: 0 });
    }
  });
});
