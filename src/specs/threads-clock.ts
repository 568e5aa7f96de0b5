import { hrtime } from 'node:process';

/** threadsNowMs reads a clock that never goes back and has the same time on all threads of the process, in ms. */
export function threadsNowMs(): number {
  return Number(hrtime.bigint()) / 1e6;
}
