/** This thread ends the process when a case hangs, after it has named the case. */
import { writeSync } from 'node:fs';
import { workerData } from 'node:worker_threads';

const { heart, what, limitS } = workerData as { heart: Int32Array; what: string; limitS: number };
const LOOK_MS = 1000;
let last = -1;
let seconds = 0;

setInterval(() => {
  const [current = 0] = heart;
  seconds = current === last ? seconds + LOOK_MS / 1000 : 0;
  last = current;
  if (seconds < limitS) return;
  writeSync(1, `${what}, case ${current} hangs: it has not ended after ${limitS} s\n`);
  process.kill(process.pid, 'SIGKILL');
}, LOOK_MS);
