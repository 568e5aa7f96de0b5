import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { deployPlan } from '../../src/api/index.js';
import { saveArtifact } from '../../src/artifacts/index.js';
import { type DeployTarget, InputError } from '../../src/formats/index.js';
import { planOf } from '../serving/plans.js';

it('deployPlan() refuses a target that there is not, and writes nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-deploy-'));
  const plan = join(folder, 'plan.json');
  const part = { batch: 1, latencyUs: () => 4000 };
  await saveArtifact<'pooled-plan'>(
    plan,
    planOf([{ sloMs: 20, pipelines: [{ throughputRps: 250, parts: [part] }] }]),
  );
  const options = { output: join(folder, 'bundle'), target: 'tensorrt' as DeployTarget };
  const refused = await deployPlan(plan, options).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(InputError);
  expect(refused).toMatchObject({
    faults: [
      {
        path: '`target`',
        message: expect.stringMatching(/^is "tensorrt"; the targets are local, ray-serve/),
      },
      { path: '/inputs', message: 'it names 0 profiles for 1 models' },
    ],
  });
  expect(await readdir(folder)).toEqual(['plan.json']);
  await rm(folder, { recursive: true });
});
