import { checkThreads, MemoryGuard, type NamedDevice } from '../execution/index.js';
import { InputError } from '../formats/index.js';
import { sessionLayerTimes } from './layer-times.js';
import { tellingFailures } from './memory-need.js';
import { ScratchExecutors } from './scratch-executors.js';
import { withScratch, writeData, writeModel } from './source.js';
import type { PreparedModel } from './types.js';

/**
 * timeLayersByClass gives the mean µs of every layer by device class, for one request. That is enough to group layers
 * into blocks without measuring blocks. It calls `sessionLayerTimes` on an executor of each device. ONNX
 * Runtime's times lack the hold-back of an emulated device, so those are multiplied.
 * @throws MissingError where a device is missing; InputError where one has more CPU threads than the host, memory ran
 *   out, or ONNX Runtime failed
 */
export async function timeLayersByClass(
  prepared: PreparedModel,
  devices: readonly NamedDevice[],
  signal?: AbortSignal,
): Promise<Record<string, number[]>> {
  const faults = devices.flatMap(({ device }) => checkThreads([{ device, virtual: 1, count: 1 }]));
  if (faults.length > 0) throw new InputError(`time the layers of ${prepared.name}`, faults);
  const scratch = new ScratchExecutors(new MemoryGuard(), undefined, signal);
  return tellingFailures(`time the layers of ${prepared.name}`, () =>
    withScratch(async (folder) => {
      await writeData(folder, prepared.source);
      const path = await writeModel(folder, 'whole', prepared.model.bytes);
      const byClass: Record<string, number[]> = {};
      for (const { className, device } of devices) {
        signal?.throwIfAborted();
        const { layerUs } = await sessionLayerTimes(await scratch.of(device), {
          model: prepared.model,
          path,
          feeds: prepared.request,
        });
        byClass[className] = layerUs.map((us) => us * (device.slowdown ?? 1));
      }
      return byClass;
    })
      .catch((error: unknown) => {
        // An executor that was ended fails in words of its own.
        signal?.throwIfAborted();
        throw error;
      })
      .finally(() => scratch.close()),
  );
}
