import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { InputError } from '../../src/formats/index.js';
import { JobPool, type JobPoolOptions, type NamedJob } from '../../src/jobs/index.js';
import { takeThread } from '../../src/jobs/spare-threads.js';
import { inWholeRun } from '../cases.js';

/** A busy machine may take longer than the default to start a thread. */
const PATIENT_MS = 60_000;

const WORKER = fileURLToPath(new URL('counting-worker.mjs', import.meta.url));

interface Job {
  readonly number: number;
  readonly ends?: 'refused' | 'failed' | 'exit' | 'interrupted';
  /** The fault's place in a refusal. */
  readonly path?: string;
  /** The flag that must reach `reached` before the job ends. */
  readonly until?: SharedArrayBuffer;
  readonly reached?: number;
}

interface Answer {
  readonly number: number;
  readonly threadId: number;
  /** The number of jobs that the thread has done. */
  readonly jobs: number;
  readonly data: unknown;
  readonly interrupted: boolean;
}

let pool: JobPool<Job, Answer, { ofJob: number }> | undefined;
afterEach(() => pool?.close());

function poolOf(options: Partial<JobPoolOptions> = {}): JobPool<Job, Answer, { ofJob: number }> {
  pool = new JobPool(WORKER, { what: 'counting', ...options });
  return pool;
}

function named(jobs: readonly Omit<Job, 'number'>[]): NamedJob<Job>[] {
  return jobs.map((job, number) => ({ name: `job ${number}`, job: { number, ...job } }));
}

function flag(): { buffer: SharedArrayBuffer; set(value: number): void } {
  const buffer = new SharedArrayBuffer(4);
  return { buffer, set: (value) => Atomics.store(new Int32Array(buffer), 0, value) };
}

function promised(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe('JobPool.run()', () => {
  it('does one job after another on one thread that keeps its state and its data', async () => {
    const one = poolOf({ data: { step: 3 } });
    const first = await one.run({ number: 7 });
    const second = await one.run({ number: 8 });
    expect(first).toMatchObject({ number: 7, jobs: 1, data: { step: 3 }, interrupted: false });
    expect(second).toMatchObject({ number: 8, jobs: 2, threadId: first.threadId });
  });

  it('reports the progress of its own job', async () => {
    const two = poolOf({ threads: 2 });
    const told: number[][] = [[], []];
    await Promise.all([4, 5].map((number, i) => two.run({ number }, ({ ofJob }) => told[i]?.push(ofJob))));
    expect(told).toEqual([[4], [5]]);
  });

  it.each([1, 1.9])('waits for a thread where all are busy and %s are allowed', async (threads) => {
    const one = poolOf({ threads });
    const answers = await Promise.all([1, 2, 3].map((number) => one.run({ number })));
    expect(answers.map(({ number, jobs }) => [number, jobs])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  it('passes on refusals and errors unchanged, and does the next job', async () => {
    const one = poolOf({ threads: 1 });
    const refused = await one.run({ number: 0, ends: 'refused', path: '/a' }).catch((error) => error);
    expect(refused).toBeInstanceOf(InputError);
    expect(refused.message).toBe('Cannot add: /a: is no number\nGive one.');
    const failed = await one.run({ number: 0, ends: 'failed' }).catch((error) => error);
    expect(failed).toMatchObject({ message: 'it broke', code: 'ENOSPC', syscall: 'write' });
    expect(await one.run({ number: 1 })).toMatchObject({ number: 1, jobs: 3 });
  });

  it('fails where the thread ends, as does every later job of that thread', async () => {
    const one = poolOf({ threads: 1 });
    await expect(one.run({ number: 0, ends: 'exit' })).rejects.toThrow(
      'the counting thread ended without an answer',
    );
    await expect(one.run({ number: 1 })).rejects.toThrow('the counting thread ended without an answer');
  });

  it('fails where the pool is closed before the answer', async () => {
    const one = poolOf({ threads: 1 });
    const told = expect(one.run({ number: 0, ends: 'interrupted' })).rejects.toThrow(
      'ended without an answer',
    );
    await one.close();
    await told;
  });

  it('lets a job end with what it has once the signal is aborted, and still runs later jobs', async () => {
    const abort = new AbortController();
    const one = poolOf({ signal: abort.signal, graceMs: PATIENT_MS });
    const running = one.run({ number: 1, ends: 'interrupted' });
    abort.abort();
    expect(await running).toMatchObject({ number: 1, interrupted: true });
    expect(await one.run({ number: 2 })).toMatchObject({ number: 2, interrupted: true });
  });

  it('obeys an abort that came before the pool was made', async () => {
    const one = poolOf({ signal: AbortSignal.abort(), graceMs: PATIENT_MS });
    expect(await one.run({ number: 1, ends: 'interrupted' })).toMatchObject({ interrupted: true });
  });
});

describe('a job that hears no interruption', () => {
  const deaf = fileURLToPath(new URL('deaf-worker.mjs', import.meta.url));
  const deafPool = (signal: AbortSignal) =>
    new JobPool<{ works: boolean }, string, never>(deaf, { what: 'deaf', threads: 1, signal });

  it('is ended with its thread after an abort, and those that wait for it have another thread', async () => {
    const abort = new AbortController();
    const one = deafPool(abort.signal);
    try {
      const running = one.run({ works: true });
      const waiting = one.run({ works: false });
      abort.abort();
      await expect(running).rejects.toBe(abort.signal.reason);
      expect(await waiting).toBe('done');
      expect(await one.run({ works: false })).toBe('done');
      await expect(one.run({ works: true })).rejects.toBe(abort.signal.reason);
    } finally {
      await one.close();
    }
  });

  it('leaves the answers before it', async () => {
    const abort = new AbortController();
    const one = deafPool(abort.signal);
    const jobs = [false, true, false].map((works, i) => ({ name: `job ${i}`, job: { works } }));
    try {
      expect(await one.runAll(jobs, () => abort.abort())).toEqual(['done']);
      expect(await deafPool(AbortSignal.abort()).runAll(jobs)).toEqual([]);
    } finally {
      await one.close();
    }
  });
});

describe('a thread whose pool was closed', () => {
  it('works for the next pool of the same file, with the data and the interruption of that pool', async () => {
    const abort = new AbortController();
    const first = poolOf({ threads: 1, data: 'old', signal: abort.signal });
    const { threadId } = await first.run({ number: 1 });
    abort.abort();
    await first.close();
    const next = poolOf({ threads: 1, data: 'new' });
    expect(await next.run({ number: 2 })).toEqual({
      number: 2,
      threadId,
      jobs: 1,
      data: 'new',
      interrupted: false,
    });
    await expect(first.run({ number: 3 })).rejects.toThrow('the counting thread ended without an answer');
  });

  it('is not used again if it was at a job, or has ended', async () => {
    const busy = poolOf({ threads: 1 });
    const { threadId } = await busy.run({ number: 1 });
    const told = expect(busy.run({ number: 2, ends: 'interrupted' })).rejects.toThrow(
      'ended without an answer',
    );
    await new Promise((resolve) => setTimeout(resolve, 0));
    await busy.close();
    await told;
    const next = await poolOf({ threads: 1 }).run({ number: 3 });
    expect(next.threadId).not.toBe(threadId);
  });

  it('is not used again if one of its jobs failed, and is if one was refused', async () => {
    const threads = [];
    for (const ends of ['refused', 'failed', undefined] as const) {
      const one = poolOf({ threads: 1 });
      const { threadId } = await one.run({ number: 1 });
      threads.push(threadId);
      if (ends !== undefined) await expect(one.run({ number: 2, ends })).rejects.toThrow();
      await one.close();
    }
    expect(threads[1]).toBe(threads[0]);
    expect(threads[2]).not.toBe(threads[1]);
  });

  it('has dropped the data of that pool while it waits for the next', async () => {
    const one = poolOf({ threads: 1, data: 'old' });
    await one.run({ number: 1 });
    await one.close();
    const spare = takeThread(WORKER);
    const told = once(spare, 'message');
    spare.postMessage({ kind: 'job', job: { number: 2 } });
    const message = 'a job came to a thread that works for no pool';
    expect(await told).toMatchObject([{ kind: 'failed', error: { message } }]);
    await spare.terminate();
  });

  it('lets the process end', async () => {
    const script = `import('#dist/src/jobs/index.js').then(async ({ JobPool }) => {
      const pool = new JobPool(${JSON.stringify(WORKER)}, { what: 'counting', threads: 1 });
      console.log((await pool.run({ number: 4 })).number);
      await pool.close();
    });`;
    const run = promisify(execFile)(process.execPath, ['-e', script]);
    expect((await run).stdout).toBe('4\n');
  });
});

describe('JobPool.runAll()', () => {
  inWholeRun('gives answers in the order of the jobs, whichever ends first', async () => {
    const held = flag();
    const ended: number[] = [];
    // The first job waits until all others have ended on the second thread.
    const jobs = named([{ until: held.buffer, reached: 1 }, {}, {}, {}]);
    const answers = await poolOf({ threads: 2 }).runAll(jobs, ({ number }, index) => {
      expect(index).toBe(number);
      ended.push(index);
      if (ended.length === 3) held.set(1);
    });
    expect(ended).toEqual([1, 2, 3, 0]);
    expect(answers.map(({ number }) => number)).toEqual([0, 1, 2, 3]);
    expect(answers.map(({ jobs }) => jobs)).toEqual([1, 1, 2, 3]);
  });

  it.each([
    { threads: 3, jobs: 8, used: 3 },
    { threads: 8, jobs: 2, used: 2 },
    { threads: 0, jobs: 2, used: 1 },
    { threads: 2.9, jobs: 4, used: 2 },
    { threads: 100, jobs: 18, used: 16 },
  ])('uses $used threads where $threads are allowed for $jobs jobs', async ({ threads, jobs, used }) => {
    // No job ends before the last thread has one, so that every thread that may start does start.
    const held = flag();
    let pulled = 0;
    function* all(): Generator<NamedJob<Job>> {
      for (let number = 0; number < jobs; number++) {
        pulled += 1;
        if (pulled === used) held.set(1);
        yield { name: `job ${number}`, job: { number, until: held.buffer, reached: 1 } };
      }
    }
    const answers = await poolOf({ threads }).runAll(all());
    expect(answers).toHaveLength(jobs);
    expect(new Set(answers.map(({ threadId }) => threadId)).size).toBe(used);
  });

  it('makes a job of a generator only when a thread is idle', async () => {
    let made = 0;
    let answered = 0;
    function* jobs(): Generator<NamedJob<Job>> {
      for (; made < 6; ) {
        expect(made - answered).toBeLessThan(2);
        made += 1;
        yield { name: `job ${made}`, job: { number: made } };
      }
    }
    await poolOf({ threads: 2 }).runAll(jobs(), () => {
      answered += 1;
    });
    expect([made, answered]).toEqual([6, 6]);
  });

  it('names the job that failed, and starts no further one', async () => {
    const answered: number[] = [];
    const jobs = named([{}, { ends: 'failed' }, {}, {}]);
    const failed = await poolOf({ threads: 1 })
      .runAll(jobs, (_, index) => answered.push(index))
      .catch((error) => error);
    expect(failed).toMatchObject({ message: 'job 1: it broke', code: 'ENOSPC' });
    expect(answered).toEqual([0]);
  });

  it('starts no further job on another thread either', async () => {
    const held = flag();
    const { promise: ended, resolve } = promised();
    let made = 0;
    function* jobs(): Generator<NamedJob<Job>> {
      for (const job of named([{ ends: 'failed' }, { until: held.buffer, reached: 1 }, {}, {}])) {
        made += 1;
        yield job;
      }
    }
    await expect(poolOf({ threads: 2 }).runAll(jobs(), resolve)).rejects.toThrow('job 0: it broke');
    held.set(1);
    await ended;
    await new Promise((soon) => setImmediate(soon));
    expect(made).toBe(2);
  });

  it('names the job that was refused in each of its faults', async () => {
    const one = poolOf({ threads: 1 });
    for (const [path, place] of [
      ['', 'job 0'],
      ['/a', 'job 0, /a'],
    ] as const) {
      const refused = await one.runAll(named([{ ends: 'refused', path }])).catch((error) => error);
      expect(refused).toBeInstanceOf(InputError);
      expect(refused.message).toBe(`Cannot add: ${place}: is no number\nGive one.`);
    }
  });

  it('fails with the name of a job whose thread ends', async () => {
    const jobs = named([{ ends: 'exit' }]);
    await expect(poolOf().runAll(jobs)).rejects.toThrow('job 0: the counting thread ended without an answer');
  });

  it('ends running jobs and starts no more after an abort', async () => {
    const abort = new AbortController();
    const jobs = named([{}, { ends: 'interrupted' }, {}]);
    const one = poolOf({ threads: 1, signal: abort.signal, graceMs: PATIENT_MS });
    // By then the next job has been given to the thread.
    const answers = await one.runAll(jobs, ({ number }) => {
      if (number === 0) setImmediate(() => abort.abort());
    });
    expect(answers.map(({ number, interrupted }) => [number, interrupted])).toEqual([
      [0, false],
      [1, true],
    ]);
  });

  it('starts no job where the signal was aborted before', async () => {
    expect(await poolOf({ signal: AbortSignal.abort() }).runAll(named([{}, {}]))).toEqual([]);
  });
});
