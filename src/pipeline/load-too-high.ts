import { toldApart, toldUpBelow } from '../formats/index.js';

/** LoadTooHigh is what devices serve of stages, and what the load asks of them, in requests per second. */
interface LoadTooHigh {
  /** The devices in words, such as `2 L4`. */
  readonly devices: string;
  readonly stages: readonly string[];
  readonly servedRps: number;
  readonly rps: number;
}

/**
 * loadTooHighText says that devices serve less than the load has. It says too that plans keep up with all requests: whoever
 * lets a share of them be late or dropped may think that devices for the others would do.
 */
export function loadTooHighText({ devices, stages, servedRps, rps }: LoadTooHigh): string {
  const [, asked] = toldApart([servedRps, rps]);
  const served = toldUpBelow(servedRps, asked);
  return `${devices} can serve ${stages.join(', ')} for at most ${served} requests/s, and the load has ${asked}; a plan keeps up with all requests, whatever share of them may be dropped`;
}
