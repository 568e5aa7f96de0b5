import { expect, it } from 'vitest';
import type { PooledPlan } from '../../../src/formats/index.js';
import { openBundle } from '../../../src/runtime/bundle/opened-bundle.js';
import { modelConfig, modelMetadata } from '../../../src/runtime/http/model-descriptions.js';
import { twoPartitions, writeBundle } from '../tiny-bundle.js';

it('modelMetadata() gives a load client what it needs to know of the plan', async () => {
  const notes = ['tiny: it is "small"', 'another'];
  const { folder, remove } = await writeBundle({ ...twoPartitions(4, 250, 500), notes });
  try {
    const bundle = await openBundle(folder);
    const [planned] = (bundle.plan as PooledPlan).models;
    expect(planned?.throughputRps).toBe(8000);
    const serving = { scheduler: 'fifo', policy: { drop: 'never', slackNs: 7 } };
    expect(modelMetadata(bundle.models[0]!, { bundle, serving })).toMatchObject({
      name: 'tiny',
      properties: {
        slo_ms: '250',
        planned_rps: '8000',
        weight: String(planned?.weight),
        scheduler: 'fifo',
        policy: '{"drop":"never","slackNs":7}',
        plan_notes: JSON.stringify(notes),
      },
    });
  } finally {
    await remove();
  }
});

it('modelMetadata() and modelConfig() give −1 for sizes that depend on the data', async () => {
  const { folder, remove } = await writeBundle(twoPartitions(4, 250, 500));
  try {
    const bundle = await openBundle(folder);
    const model = bundle.models[0]!;
    const found = { name: 'found', dtype: 'int64', shape: [1, 7, 3], batchAxis: 0, variableAxes: [1] };
    const outputs = [found, { name: 'all', dtype: 'int64', shape: [5, 3], variableAxes: [0] }];
    const shaped = { ...model, outputs };
    expect(modelMetadata(shaped, { bundle, serving: { scheduler: 'fifo' } })).toMatchObject({
      outputs: [{ shape: [-1, -1, 3] }, { shape: [-1, 3] }],
    });
    expect(modelConfig(shaped)).toMatchObject({ output: [{ dims: [-1, -1, 3] }, { dims: [-1, 3] }] });
    const batched = { ...model, outputs: [found] };
    expect(modelConfig(batched)).toMatchObject({ max_batch_size: 4, output: [{ dims: [-1, 3] }] });
  } finally {
    await remove();
  }
});
