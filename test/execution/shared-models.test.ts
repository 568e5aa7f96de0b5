import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Executor, randomTensor, startExecutor } from '../../src/execution/index.js';
import { streamOf } from '../../src/random/index.js';
import { choosing, choosingTwice, convChain, labelled } from '../onnx/made-models.js';

const models = new URL('../../../shared/models/', import.meta.url);

describe('generated models', () => {
  const { uniform } = streamOf(1, 'inputs');
  let executor: Executor;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'inferplan-made-'));
    executor = await startExecutor({ provider: 'cpu', threads: 1 });
  });
  afterAll(async () => {
    await executor.close();
    await rm(folder, { recursive: true });
  });
  const written = async (name: string, bytes: Uint8Array): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, bytes);
    return path;
  };

  it('spend the whole run in nodes and the gaps after them, at every optimization', async () => {
    const path = await written('chain.onnx', convChain(6, 64));
    const data = randomTensor({ dtype: 'float32', dims: [1, 3, 64, 64] }, uniform);
    for (const optimization of ['disabled', 'all'] as const) {
      const { nodes, runUs } = await executor.nodeTimings(path, { data }, { runs: 5, optimization });
      const shares = runUs.map((us, run) => {
        const sum = nodes.reduce((total, node) => total + node.us[run]! + node.gapUs![run]!, 0);
        return sum / us;
      });
      // A busy machine may pause before the first node, but not in every run.
      expect(Math.max(...shares)).toBeGreaterThan(0.9);
      expect(Math.max(...shares)).toBeLessThanOrEqual(1);
    }
  });

  it('give strings; a list of maps beside them is left out and described as no tensor', async () => {
    const { model, outputInfo } = await executor.load(await written('labelled.onnx', labelled()));
    const x = { dtype: 'float32', dims: [2, 3], data: Float32Array.of(1, 7, 2, 9, 3, 5) } as const;
    const { outputs } = await executor.run(model, { x });
    expect(Object.keys(outputs)).toEqual(['label']);
    expect(outputs.label).toMatchObject({ dtype: 'string', dims: [2], data: ['dog', 'cat'] });
    expect(outputInfo.map(({ name, dtype }) => [name, dtype])).toEqual([
      ['label', 'string'],
      ['probabilities', undefined],
    ]);
  });

  it('count the nodes inside nested Ifs once', async () => {
    const path = await written('choosing-twice.onnx', choosingTwice());
    const x = { dtype: 'float32', dims: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) } as const;
    const { nodes, runUs } = await executor.nodeTimings(path, { x }, { runs: 3, optimization: 'disabled' });
    expect(nodes.map(({ op }) => op).toSorted()).toEqual(['Greater', 'If', 'ReduceSum']);
    for (const { us } of nodes) expect(us).toHaveLength(3);
    runUs.forEach((us, run) => {
      expect(nodes.reduce((total, node) => total + node.us[run]!, 0)).toBeLessThanOrEqual(us);
    });
  });

  it('count the nodes inside an If once', async () => {
    const path = await written('choosing.onnx', choosing());
    const x = randomTensor({ dtype: 'float32', dims: [2, 3] }, uniform);
    const { nodes, runUs } = await executor.nodeTimings(path, { x }, { runs: 3, optimization: 'disabled' });
    expect(nodes.map(({ op }) => op).toSorted()).toEqual(['Add', 'Greater', 'If', 'ReduceSum', 'Sub']);
    runUs.forEach((us, run) => {
      expect(nodes.reduce((total, node) => total + node.us[run]!, 0)).toBeLessThanOrEqual(us);
    });
  });
});

if (existsSync(models)) describe('published models:', publishedModels);

function publishedModels(): void {
  const path = (name: string) => fileURLToPath(new URL(name, models));
  const { uniform } = streamOf(1, 'inputs');
  const image = (batch: number) => randomTensor({ dtype: 'float32', dims: [batch, 3, 227, 227] }, uniform);
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
      // A busy machine may pause before the first node, but not in every run.
      expect(Math.max(...shares)).toBeGreaterThan(0.9);
      expect(Math.max(...shares)).toBeLessThanOrEqual(1);
    }
  });

  it('silero_vad’s nodes inside nested Ifs are counted once', async () => {
    const feeds = {
      input: randomTensor({ dtype: 'float32', dims: [1, 512] }, uniform),
      state: randomTensor({ dtype: 'float32', dims: [2, 1, 128] }, uniform),
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
}
