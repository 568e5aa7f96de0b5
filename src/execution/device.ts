import { itemAt } from '../collections/index.js';
import { type Fault, InputError } from '../formats/index.js';
import { hostThreads } from './host.js';

/** PROVIDERS lists the execution providers of ONNX Runtime that a device can have. */
export const PROVIDERS = ['cpu', 'webgpu', 'cuda', 'tensorrt', 'coreml', 'dml'] as const;
/** Provider names an execution provider of ONNX Runtime. */
export type Provider = (typeof PROVIDERS)[number];

/** Device describes the device that a session runs on. */
export interface Device {
  readonly provider: Provider;
  /** The number of CPU threads, for `cpu` only; absent, it means all of the host's threads. */
  readonly threads?: number;
  /** The number of the device among several equal ones, for `cuda`, `tensorrt` and `dml` only. */
  readonly deviceId?: number;
  /**
   * The factor of an emulated slower device, at least 1: results are held back to this multiple of the measured time.
   */
  readonly slowdown?: number;
}

/** NamedDevice is a device under the name of the device class that it stands for. */
export interface NamedDevice {
  readonly className: string;
  readonly device: Device;
}

/** WITH_DEVICE_ID lists the providers of which a host may have several equal devices. */
export const WITH_DEVICE_ID: readonly Provider[] = ['cuda', 'tensorrt', 'dml'];
const GRAMMAR =
  'A device is [class=]provider[:argument][,slowdown=factor]: cpu:<threads>, webgpu, cuda:<id>, tensorrt:<id>, coreml, dml:<id>.';

/**
 * parseDevice reads `[class=]provider[:argument][,slowdown=factor]`: `cpu:1`, `slow=cpu:1,slowdown=3`, `cuda:0`. A
 * class without a name of its own is named after the text.
 * @throws InputError with all faults
 */
export function parseDevice(text: string): NamedDevice {
  const named = /^([^=,:]*)=(.*)$/s.exec(text);
  const [place = '', ...options] = (named === null ? text : itemAt(named, 2)).split(',');
  const [provider = '', ...rest] = place.split(':');
  const argument = rest.length === 0 ? undefined : rest.join(':');
  const faults: Fault[] = [];
  const className = named === null ? text : itemAt(named, 1).trim();
  if (className === '') faults.push(wrong('the class has no name'));
  if (className in {})
    faults.push(wrong(`a class cannot be called ${className}: every JavaScript object has that name`));
  const device: Device = {
    ...readPlace(provider.trim(), argument, faults),
    ...readOptions(options, faults),
  };
  if (faults.length > 0) throw new InputError(`read device "${text}"`, faults, GRAMMAR);
  return { className, device };
}

function readPlace(name: string, argument: string | undefined, faults: Fault[]): Device {
  const provider = PROVIDERS.find((known) => known === name);
  if (provider === undefined) {
    faults.push(wrong(`provider is "${name}"; valid values are ${PROVIDERS.join(', ')}`));
    return { provider: 'cpu' };
  }
  if (argument === undefined) return { provider };
  const number = /^\d{1,6}$/.test(argument) ? Number(argument) : undefined;
  if (provider === 'cpu') {
    if (number !== undefined && number > 0) return { provider, threads: number };
    faults.push(wrong(`threads is "${argument}"; must be a whole number from 1 to 999999`));
  } else if (!WITH_DEVICE_ID.includes(provider)) {
    faults.push(wrong(`${provider} takes no argument, and "${argument}" is given`));
  } else {
    if (number !== undefined) return { provider, deviceId: number };
    faults.push(wrong(`device id is "${argument}"; must be a whole number`));
  }
  return { provider };
}

function readOptions(options: readonly string[], faults: Fault[]): { slowdown?: number } {
  let slowdown: number | undefined;
  for (const option of options) {
    const [key = '', value = ''] = option.split('=').map((part) => part.trim());
    if (key !== 'slowdown') {
      faults.push(wrong(`option is "${option}"; valid is slowdown=<factor>`));
    } else if (!(Number(value) >= 1 && Number.isFinite(Number(value)))) {
      faults.push(wrong(`slowdown is "${value}"; must be a number of at least 1`));
    } else {
      slowdown = Number(value);
    }
  }
  return slowdown === undefined ? {} : { slowdown };
}

/** deviceText writes a device as `parseDevice` reads it, without a class. */
export function deviceText(device: Device): string {
  const argument = device.provider === 'cpu' ? device.threads : device.deviceId;
  const slowdown = device.slowdown === undefined ? '' : `,slowdown=${device.slowdown}`;
  return `${device.provider}${argument === undefined ? '' : `:${argument}`}${slowdown}`;
}

/**
 * virtualThreads gives the CPU threads of a virtual GPU that is 1/`virtual` of the device, rounded down and at least 1.
 * A CPU without a number of threads has all of the host's. For other devices the answer is 1.
 */
export function virtualThreads(device: Device, virtual = 1): number {
  return device.provider === 'cpu' ? Math.max(1, Math.floor((device.threads ?? hostThreads()) / virtual)) : 1;
}

/**
 * checkThreads says what is wrong with using these devices at once: more CPU threads than the host has, or a CPU whose
 * threads do not divide into its virtual GPUs. `count` is the number of whole devices, each with all `virtual` parts
 * running. The list is empty where nothing is wrong; devices other than CPUs are not looked at.
 */
export function checkThreads(
  devices: readonly { device: Device; virtual: number; count: number }[],
  host: number = hostThreads(),
): Fault[] {
  const cpus = devices.filter(({ device }) => device.provider === 'cpu');
  const threads = ({ device }: { device: Device }) => device.threads ?? host;
  const uneven = cpus.filter((use) => threads(use) % use.virtual !== 0);
  const faults = uneven.map((use) =>
    wrong(
      `${deviceText(use.device)} has ${threads(use)} threads, which ${use.virtual} virtual GPUs cannot share evenly`,
    ),
  );
  const total = cpus.reduce((sum, use) => sum + threads(use) * use.count, 0);
  if (total > host) {
    const sum = cpus.map((use) => `${use.count} × ${deviceText(use.device)}`).join(' + ');
    faults.push(wrong(`${sum} need ${total} CPU threads at once, and this host has ${host}`));
  }
  return faults;
}

function wrong(message: string): Fault {
  return { path: '', message };
}
