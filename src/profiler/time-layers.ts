import { type NamedDevice, startExecutor } from '../execution/index.js';
import { layerTimes } from './layer-times.js';
import { withScratch, writeData, writeModel } from './source.js';
import type { PreparedModel } from './types.js';

/**
 * Mean µs of every layer by device class, for one request: enough to group layers into blocks without measuring blocks.
 * @throws MissingError where a device is not there
 */
export async function timeLayers(
  prepared: PreparedModel,
  devices: readonly NamedDevice[],
  signal?: AbortSignal,
): Promise<Record<string, number[]>> {
  return withScratch(async (folder) => {
    await writeData(folder, prepared.source);
    const path = await writeModel(folder, 'whole', prepared.model.bytes);
    const byClass: Record<string, number[]> = {};
    for (const { className, device } of devices) {
      signal?.throwIfAborted();
      const executor = await startExecutor(device);
      try {
        const { layerUs } = await layerTimes(executor, {
          model: prepared.model,
          path,
          feeds: prepared.request,
        });
        byClass[className] = layerUs;
      } finally {
        await executor.close();
      }
    }
    return byClass;
  });
}
