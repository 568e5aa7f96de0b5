import { emittedHead } from '../artifacts/index.js';
import { parseDevice, probeDevices } from '../execution/index.js';
import type { DeviceList } from '../formats/index.js';

/**
 * listDevices reports which devices of this machine can profile and serve.
 * @param devices devices as the command line writes them (`cpu:2`, `slow=cpu:1,slowdown=3`); every provider
 *   when empty
 * @throws InputError where one cannot be read; MissingError where ONNX Runtime is not installed
 */
export async function listDevices(devices: readonly string[] = []): Promise<DeviceList> {
  const reports = await (devices.length === 0 ? probeDevices() : probeDevices(devices.map(parseDevice)));
  return { ...emittedHead('devices', []), devices: reports };
}
