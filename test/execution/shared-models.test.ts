import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Executor, randomTensor, startExecutor } from '../../src/execution/index.js';
import { streamOf } from '../../src/random/index.js';

const models = new URL('../../../shared/models/', import.meta.url);

describe.runIf(existsSync(models))('models from elsewhere', () => {
  const path = (name: string) => fileURLToPath(new URL(name, models));
  const { uniform } = streamOf(1, 'inputs');
  const image = (batch: number) => randomTensor('float32', [batch, 3, 227, 227], uniform);
  let executor: Executor;
  beforeAll(async () => {
    executor = await startExecutor({ provider: 'cpu', threads: 1 });
  });
  afterAll(() => executor.close());

  it('squeezenet gives strings; the list of maps beside them is left out and described as no tensor', async () => {
    const { model, outputInfo } = await executor.load(path('squeezenet.onnx'));
    const result = await executor.run(model, { data: image(2) });
    expect(Object.keys(result.outputs)).toEqual(['classLabel']);
    expect(result.outputs.classLabel!.dtype).toBe('string');
    expect(result.outputs.classLabel!.data).toHaveLength(2);
    for (const label of result.outputs.classLabel!.data) expect(label).toMatch(/^\S+/);
    expect(outputInfo.map(({ name, dtype }) => [name, dtype])).toEqual([
      ['classLabel', 'string'],
      ['loss', undefined],
    ]);
  });

  it('squeezenet’s nodes and the gaps after them make up the whole run, at every optimization', async () => {
    for (const optimization of ['disabled', 'all'] as const) {
      const options = { runs: 5, optimization };
      const { nodes, runUs } = await executor.nodeTimings(
        path('squeezenet.onnx'),
        { data: image(1) },
        options,
      );
      const shares = runUs.map((us, run) => {
        const sum = nodes.reduce((total, node) => total + node.us[run]! + node.gapUs![run]!, 0);
        return sum / us;
      });
      // A machine that others keep busy may pause before the first node, but not in every run.
      expect(Math.max(...shares)).toBeGreaterThan(0.9);
      expect(Math.max(...shares)).toBeLessThanOrEqual(1);
    }
  });

  it('silero_vad’s nodes inside nested Ifs are counted once', async () => {
    const feeds = {
      input: randomTensor('float32', [1, 512], uniform),
      state: randomTensor('float32', [2, 1, 128], uniform),
      sr: { dtype: 'int64', dims: [], data: BigInt64Array.of(16_000n) },
    };
    const options = { runs: 3, optimization: 'disabled' as const };
    const { nodes, runUs } = await executor.nodeTimings(path('silero_vad.onnx'), feeds, options);
    expect(nodes.some(({ op }) => op === 'If')).toBe(true);
    runUs.forEach((us, run) => {
      expect(nodes.reduce((total, node) => total + node.us[run]!, 0)).toBeLessThanOrEqual(us);
    });
    for (const { us } of nodes) expect(us).toHaveLength(3);
  });
});
