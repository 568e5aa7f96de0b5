import { readFileSync } from 'node:fs';
import { loadArtifact } from '../../src/artifacts/index.js';
import { startComponentExecutor, type TensorData } from '../../src/execution/index.js';
import type { TensorSpec } from '../../src/formats/index.js';

const KIB = 1024;

/**
 * memoryOfComponent measures what a component takes of an executor's memory once it has executed its largest batch: the
 * model, what it works in, its inputs and its outputs, in bytes.
 * @param profile the path of its profile, which names its tensors
 */
export async function memoryOfComponent(
  model: string,
  { profile, rows }: { readonly profile: string; readonly rows: number },
): Promise<number> {
  const { inputs = [], outputs = [] } = (await loadArtifact(profile, ['profile'])).value.model;
  const executor = await startComponentExecutor({ provider: 'cpu', threads: 1 });
  try {
    const before = heldByProcess(executor.pid);
    const loaded = await executor.load(model, { inputs, outputs });
    const tasks = Array.from({ length: rows }, (_, id) => ({ id, inputs: zeros(inputs) }));
    await executor.run(loaded.model, tasks);
    return heldByProcess(executor.pid) - before;
  } finally {
    await executor.close();
  }
}

/** memoryOfEmptyExecutor measures what an executor holds without any model, in bytes. */
export async function memoryOfEmptyExecutor(): Promise<number> {
  const executor = await startComponentExecutor({ provider: 'cpu', threads: 1 });
  try {
    return heldByProcess(executor.pid);
  } finally {
    await executor.close();
  }
}

/** heldByProcess gives the memory that a process does not share with files, in bytes; NaN where the system does not tell. */
export function heldByProcess(pid: number): number {
  try {
    const kib = /^RssAnon:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kib) * KIB;
  } catch {
    return Number.NaN;
  }
}

function zeros(inputs: readonly TensorSpec[]): Record<string, TensorData> {
  return Object.fromEntries(
    inputs.map(({ name, shape }) => {
      const count = shape.reduce((product, size) => product * size, 1);
      return [name, { dtype: 'float32', dims: shape, data: new Float32Array(count) }];
    }),
  );
}
