import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Bundle, InputError, WorkflowPlan } from '../../../src/formats/index.js';
import { openServable } from '../../../src/runtime/servable.js';
import { tinyPlan, writeWorkflowBundle } from './workflow-bundle.js';

const removers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const remove of removers.splice(0)) await remove();
});

async function written(plan: WorkflowPlan, change?: (manifest: Bundle) => void): Promise<string> {
  const { folder, remove } = await writeWorkflowBundle(plan, change === undefined ? {} : { change });
  removers.push(remove);
  return folder;
}

async function faultsOf(folder: string, options = {}): Promise<string[]> {
  return await openServable(folder, { task: 'serve', ...options }).then(
    () => [],
    (error: InputError) => error.faults.map(({ path, message }) => `${path}: ${message}`),
  );
}

describe('openServable(), of workflows,', () => {
  it('gives what clients call, with an SLO in place of the plan’s where one is asked for', async () => {
    const folder = await written(tinyPlan());
    const { bundle } = await openServable(folder, { task: 'serve' });
    expect(bundle.models).toMatchObject([
      { name: 'loop', sloNs: Number.POSITIVE_INFINITY, maxRows: 4, mayLackOutputs: true, plannedRps: 20 },
    ]);
    expect(bundle.work.map(({ inputs }) => inputs.map(({ spec }) => spec.name))).toEqual([
      ...[['x'], ['a', 'b'], ['x']],
    ]);
    const { bundle: asked } = await openServable(folder, { task: 'serve', sloMs: 70 });
    expect(asked.models[0]!.sloNs).toBe(70e6);
  });

  it('finds what the manifest lacks, has besides, or has otherwise than the plan', async () => {
    const folder = await written(tinyPlan(), (manifest) => {
      const [double, add] = manifest.components!;
      manifest.components = [double!, { ...add!, name: 'subtract' }, { ...double!, name: 'square' }];
      manifest.programs![0]!.workflow = 'other';
      double!.inputs = [{ name: 'x', dtype: 'float32', shape: [2, 1], batchAxis: 1 }];
      manifest.devices = {};
    });
    const faults = await faultsOf(folder);
    for (const words of [
      '/components/1: is of "subtract", which the plan has not',
      '/components: has none of "add"',
      '/programs/0: is of "other"',
      '/programs: has none of "loop"',
      '/components/0: a row has 1 of axis 1 of x',
      'does not say how to run class cpu',
    ])
      expect(faults.some((fault) => fault.includes(words))).toBe(true);
  });

  it('finds programs and models whose bytes have changed', async () => {
    const folder = await written(tinyPlan());
    await writeFile(join(folder, 'programs/limit.mjs'), 'export const LIMIT = 99;\n');
    await writeFile(join(folder, 'models/add.onnx'), 'no model');
    const faults = await faultsOf(folder);
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(['models/add.onnx', 'programs/limit.mjs']);
  });

  it('refuses a part of the devices, a scheduler of stages, and choices that are not taken', async () => {
    const folder = await written(tinyPlan());
    expect((await faultsOf(folder, { at: 'cpu-0' }))[0]).toContain('all devices of a plan');
    const servable = await openServable(folder, { task: 'serve' });
    expect(servable.scheduled({ scheduler: 'greedy' }).serving).toEqual({ scheduler: 'greedy' });
    expect(servable.scheduled({}).serving).toEqual({ scheduler: 'dyorc' });
    expect(() => servable.scheduled({ scheduler: 'fifo' })).toThrow('serves no workflows');
    expect(() => servable.scheduled({ tuner: 'inferline' })).toThrow('have no replicas');
  });
});
