import type { DeviceReport } from '../execution/index.js';

/**
 * listDevices reports which devices of this machine can profile and serve.
 * @param devices devices as the command line writes them (`cpu:2`, `slow=cpu:1,slowdown=3`); every provider
 *   when empty
 * @throws InputError where one cannot be read
 */
export async function listDevices(devices: readonly string[] = []): Promise<DeviceReport[]> {
  const { parseDevice, probeDevices } = await import('../execution/index.js');
  return devices.length === 0 ? probeDevices() : probeDevices(devices.map(parseDevice));
}
