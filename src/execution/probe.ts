import { execFile } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { InputError } from '../formats/index.js';
import {
  checkThreads,
  type Device,
  deviceText,
  type NamedDevice,
  PROVIDERS,
  virtualThreads,
} from './device.js';
import { openExecutor } from './executor.js';
import { whatIsMissing } from './missing.js';
import { checkOnnxRuntime } from './onnx-runtime.js';

/** DeviceReport describes a device, or what is missing for it to work. */
export type DeviceReport =
  | {
      readonly device: Device;
      readonly className: string;
      readonly available: true;
      /** The model of the CPU or GPU, as the system calls it. */
      readonly name: string;
      readonly threads?: number;
      readonly memoryBytes?: number;
    }
  | {
      readonly device: Device;
      readonly className: string;
      readonly available: false;
      /** The thing that is missing, and what to install. */
      readonly missing: string;
    };

/**
 * probeDevices tries each device with a session of a tiny model in a child process of its own, all at once. A provider
 * that is listed but cannot start is therefore reported as unavailable, with its reason; so is a CPU of more threads
 * than the host has. By default it tries every provider, with one device each. Reports come in the devices' order.
 * @param start starts a device's executor; whoever gives it ends the executors too, and may use them before
 * @throws MissingError where ONNX Runtime is not installed, and as `startExecutor` does, with ExecutionError, when there
 *   are devices other than CPUs and no CPU session starts that would list the providers
 */
export async function probeDevices(
  devices: readonly NamedDevice[] = oneOfEach(),
  start: (device: Device) => Promise<unknown> = startAndClose,
): Promise<DeviceReport[]> {
  checkOnnxRuntime();
  return await Promise.all(devices.map((named) => probe(named, start)));
}

async function startAndClose(device: Device): Promise<void> {
  const { executor } = await openExecutor(device);
  await executor.close();
}

function oneOfEach(): NamedDevice[] {
  return PROVIDERS.map((provider) => ({ className: provider, device: { provider } }));
}

let providersOfBuild: Promise<readonly string[]> | undefined;

/** The providers that the installed ONNX Runtime was built with: they stay the same while this process runs. */
function listedProviders(): Promise<readonly string[]> {
  providersOfBuild ??= askForProviders().catch((error) => {
    providersOfBuild = undefined;
    throw error;
  });
  return providersOfBuild;
}

async function askForProviders(): Promise<readonly string[]> {
  const { executor, backends } = await openExecutor({ provider: 'cpu', threads: 1 });
  await executor.close();
  return backends;
}

async function probe(named: NamedDevice, start: (device: Device) => Promise<unknown>): Promise<DeviceReport> {
  const { device } = named;
  // Every build has the CPU, so that its devices need no list.
  const listed = device.provider === 'cpu' ? ['cpu'] : await listedProviders();
  if (!listed.includes(device.provider)) {
    const said = `backend not found; this build of ONNX Runtime has ${listed.join(', ')}`;
    const { why, advice } = whatIsMissing(device.provider, said, '');
    return { ...named, available: false, missing: `${why}. ${advice}` };
  }
  const tooMany = checkThreads([{ device, virtual: 1, count: 1 }]);
  if (tooMany.length > 0)
    return { ...named, available: false, missing: tooMany.map(({ message }) => message).join('; ') };
  try {
    await start(device);
    return { ...named, available: true, ...(await identity(device)) };
  } catch (error) {
    if (error instanceof InputError) {
      const why = error.faults.map(({ message }) => message).join('; ');
      return { ...named, available: false, missing: `${why}. ${error.advice ?? ''}`.trim() };
    }
    const message = error instanceof Error ? error.message : String(error);
    return { ...named, available: false, missing: message };
  }
}

async function identity(device: Device): Promise<{ name: string; threads?: number; memoryBytes?: number }> {
  switch (device.provider) {
    case 'cpu':
      return {
        name: cpus()[0]?.model.trim() ?? process.arch,
        threads: virtualThreads(device),
        memoryBytes: memoryOfHost(),
      };
    case 'cuda':
    case 'tensorrt':
      return await nvidiaIdentity(device);
    case 'webgpu':
    case 'coreml':
    case 'dml':
      return { name: deviceText({ provider: device.provider }) };
  }
}

function memoryOfHost(): number {
  const limit = process.constrainedMemory?.() ?? 0;
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

async function nvidiaIdentity(device: Device): Promise<{ name: string; memoryBytes?: number }> {
  try {
    const query = ['--query-gpu=name,memory.total', '--format=csv,noheader,nounits'];
    const { stdout } = await promisify(execFile)('nvidia-smi', [...query, `--id=${device.deviceId ?? 0}`]);
    const [name = '', mebibytes = ''] = stdout.trim().split(',');
    return { name: name.trim(), memoryBytes: Number(mebibytes) * 2 ** 20 };
  } catch {
    return { name: deviceText({ provider: device.provider, deviceId: device.deviceId ?? 0 }) };
  }
}
