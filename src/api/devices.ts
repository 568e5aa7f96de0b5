import type { DeviceReport } from '../execution/index.js';

/**
 * What can be profiled and served on here.
 * @param devices devices as the command line writes them (`cpu:2`, `slow=cpu:1,slowdown=3`); every provider where empty
 * @throws InputError where one cannot be read
 */
export async function listDevices(devices: readonly string[] = []): Promise<DeviceReport[]> {
  const { parseDevice, probeDevices } = await import('../execution/index.js');
  return devices.length === 0 ? probeDevices() : probeDevices(devices.map(parseDevice));
}
