import type { RunTask } from '../../src/formats/index.js';

/** Asked is a request of which every task is to have ended by an instant. */
export interface Asked {
  readonly atMs: number;
  readonly byMs: number;
  readonly tasks: readonly Pick<RunTask, 'component' | 'rows' | 'inputs' | 'after' | 'thinkMs'>[];
}

interface Job {
  readonly component: string;
  readonly rows: number;
  readonly thinkMs: number;
  readonly atMs: number;
  readonly byMs: number;
  /** The jobs that must have ended before it is called, and those before it is executed. */
  readonly read: readonly number[];
  readonly taken: readonly number[];
}

/** Milliseconds by component and rows of a batch, from 1 row on. */
export type BatchTimes = Readonly<Record<string, readonly number[]>>;

/**
 * anyScheduleServes tells whether some schedule on so many like devices ends every task of the requests in time. It
 * tries each order of each division of the tasks into batches, on each device; every batch begins as soon as it can, as
 * no later start helps. Devices hold everything, and nothing takes time to be sent.
 */
export function anyScheduleServes(requests: readonly Asked[], times: BatchTimes, devices: number): boolean {
  const jobs = jobsOf(requests);
  const endMs = jobs.map(() => Number.NaN);
  const freeMs = new Array<number>(devices).fill(0);
  const isDone = (j: number) => !Number.isNaN(endMs[j] as number);
  // A call is made no sooner than those whose outputs it takes.
  const calledMs = ({ atMs, read, taken, thinkMs }: Job): number =>
    Math.max(
      Math.max(atMs, ...read.map((j) => endMs[j] as number)) + thinkMs,
      ...taken.map((j) => calledMs(jobs[j] as Job)),
    );
  const readyMs = (job: Job) => Math.max(calledMs(job), ...job.taken.map((j) => endMs[j] as number));
  const serves = (): boolean => {
    const open = jobs.flatMap((job, j) => {
      const isReady = !isDone(j) && [...job.read, ...job.taken].every(isDone);
      return isReady ? [j] : [];
    });
    if (open.length === 0) return jobs.every((_, j) => isDone(j));
    for (const batch of batchesOf(open, jobs, times)) {
      const rows = batch.reduce((sum, j) => sum + (jobs[j] as Job).rows, 0);
      const component = (jobs[batch[0] as number] as Job).component;
      const ready = Math.max(...batch.map((j) => readyMs(jobs[j] as Job)));
      // Devices that are free at the same instant are alike.
      for (const [d, free] of freeMs.entries()) {
        if (freeMs.indexOf(free) !== d) continue;
        const end = Math.max(free, ready) + (times[component]?.[rows - 1] as number);
        if (batch.some((j) => end > (jobs[j] as Job).byMs)) continue;
        freeMs[d] = end;
        for (const j of batch) endMs[j] = end;
        if (serves()) return true;
        freeMs[d] = free;
        for (const j of batch) endMs[j] = Number.NaN;
      }
    }
    return false;
  };
  return serves();
}

function jobsOf(requests: readonly Asked[]): Job[] {
  const jobs: Job[] = [];
  for (const { atMs, byMs, tasks } of requests) {
    const first = jobs.length;
    for (const { component, rows, inputs, after, thinkMs = 0 } of tasks)
      jobs.push({
        component,
        rows,
        thinkMs,
        atMs,
        byMs,
        read: after.map((t) => first + t),
        taken: inputs.flatMap((input) => (input === 'request' ? [] : [first + input])),
      });
  }
  return jobs;
}

/** batchesOf lists the sets of jobs of one component that fit into a batch. */
function* batchesOf(open: readonly number[], jobs: readonly Job[], times: BatchTimes): Generator<number[]> {
  for (let set = 1; set < 2 ** open.length; set++) {
    const batch = open.filter((_, i) => (set >> i) % 2 === 1);
    const [first] = batch.map((j) => jobs[j] as Job) as [Job];
    const rows = batch.reduce((sum, j) => sum + (jobs[j] as Job).rows, 0);
    const isOfOne = batch.every((j) => jobs[j]?.component === first.component);
    if (isOfOne && rows <= (times[first.component]?.length ?? 0)) yield batch;
  }
}
