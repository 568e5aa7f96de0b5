import { expect, it } from 'vitest';
import { modelMetadata } from '../../src/runtime/model-descriptions.js';
import { openBundle } from '../../src/runtime/opened-bundle.js';
import { twoPartitions, writeBundle } from './tiny-bundle.js';

it('modelMetadata() tells a load client what it needs to know of the plan', async () => {
  const { folder, remove } = await writeBundle(twoPartitions(4, 250, 500));
  try {
    const bundle = await openBundle(folder);
    const [planned] = bundle.plan.models;
    expect(planned?.throughputRps).toBe(8000);
    expect(modelMetadata(bundle.models[0]!)).toMatchObject({
      name: 'tiny',
      properties: { slo_ms: '250', planned_rps: '8000', weight: String(planned?.weight) },
    });
  } finally {
    await remove();
  }
});
