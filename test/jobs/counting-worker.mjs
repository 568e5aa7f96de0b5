// What the tests of the pool run on its threads. It is JavaScript, because a thread starts from a built file.
import { threadId } from 'node:worker_threads';
import { InputError } from '#dist/src/formats/index.js';
import { serveJobs } from '#dist/src/jobs/index.js';

let jobs = 0;
let pool;

/** A job says how it ends. Each answer names the thread and counts the jobs that it has done for this pool. */
serveJobs(async (job, { data, tell, interrupted }) => {
  if (pool !== interrupted) jobs = 0;
  pool = interrupted;
  jobs += 1;
  if (job.ends === 'refused')
    throw new InputError('add', [{ path: job.path ?? '', message: 'is no number' }], 'Give one.');
  if (job.ends === 'failed') throw Object.assign(new Error('it broke'), { code: 'ENOSPC', syscall: 'write' });
  if (job.ends === 'exit') process.exit(1);
  if (job.ends === 'interrupted') while (!interrupted()) await rest(1);
  if (job.until !== undefined) {
    const flags = new Int32Array(job.until);
    while (Atomics.load(flags, 0) < job.reached) await rest(1);
  }
  tell({ ofJob: job.number });
  return { number: job.number, threadId, jobs, data, interrupted: interrupted() };
});

function rest(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
