import type { Stream } from '../../../src/random/index.js';
import type { Device, DispatchRule, Stage } from './pipeline.js';

/** Dispatching chooses among the devices of one stage for one task after the other. */
export interface Dispatching {
  rule: DispatchRule;
  stage: Stage;
  devices: Device[];
  /** How many tasks came before. */
  dispatched: number;
  /** The place of the device that was chosen last. */
  last?: number;
  choices?: Stream | undefined;
}

/** chosenDevice binds one more task to a device. */
export function chosenDevice(dispatching: Dispatching, nowNs: number): Device {
  const { rule, devices, stage, choices } = dispatching;
  const turn = dispatching.dispatched++;
  const work = (device: Device) => workOf(device, stage, nowNs);
  switch (rule) {
    case 'turns': {
      if (stage.unlikeNs === undefined) return devices[turn % devices.length]!;
      const from = (dispatching.last ?? -1) + 1;
      const inTurn = devices.map((_, i) => devices[(from + i) % devices.length]!);
      const endNs = (device: Device) => device.turnedNs + device.latencyNs[stage.batch - 1]!;
      const next = inTurn.reduce((first, device) => (endNs(device) < endNs(first) ? device : first));
      next.turnedNs = endNs(next);
      dispatching.last = devices.indexOf(next);
      return next;
    }
    case 'least-work':
      return devices.reduce((least, device) => (work(device) < work(least) ? device : least));
    case 'two-choices': {
      const first = devices[choices!.integer(devices.length)]!;
      const second = devices[choices!.integer(devices.length)]!;
      return work(second) < work(first) ? second : first;
    }
  }
}

/** workOf is the time until the device would have done all it holds, times the batch, so that it is a whole number. */
function workOf({ running, collected, queue, latencyNs }: Device, stage: Stage, nowNs: number): number {
  const leftNs = running === undefined ? 0 : running.endNs - nowNs;
  return leftNs * stage.batch + (queue.length + collected.length) * latencyNs[stage.batch - 1]!;
}
