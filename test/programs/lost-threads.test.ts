import { expect, it } from 'vitest';
import { NO_RUN } from '../../src/programs/messages.js';
import type { LostThread, ProgramThread } from '../../src/programs/program-thread.js';
import type { FakeDriver } from './fake-driver.js';
import { ONE, PATIENT, programOf, started, turn } from './started.js';

/** Inside is what a host keeps to itself: its thread, what it hears of it, and the number of the next run. */
interface Inside {
  readonly thread: ProgramThread | undefined;
  readonly ids: ReadonlyMap<number, number>;
  nextId: number;
  lost(how: LostThread): void;
}

const insideOf = ({ host }: FakeDriver) => host as unknown as Inside;

/** lose ends the thread of a host, and tells it of that as the watch over threads does. */
async function lose(driver: FakeDriver, how: LostThread): Promise<void> {
  const inside = insideOf(driver);
  await inside.thread?.end();
  inside.lost(how);
}

const WAITING = `await request.read('x'); return {};`;

it('ProgramHost says why a run ended whose thread was lost', async () => {
  const limits = { ...PATIENT, heapMiB: 64, arraysMiB: 128 };
  const driver = await started(programOf(WAITING), { limits, fake: { answers: () => false } });
  const failureAfter = async (how: Omit<LostThread, 'run'>, run?: number) => {
    const running = driver.run(0, ONE);
    const id = insideOf(driver).ids.get(0) as number;
    await lose(driver, { ...how, run: run ?? id });
    return (await running).failure;
  };
  expect(await failureAfter({ cause: 'silent' })).toEqual({
    reason: 'program-stuck',
    message:
      'did not give control back within 60000 ms: it loops for ever, or computes too long at a stretch',
  });
  // The next run begins on a fresh thread, which is lost before it has loaded.
  expect(await failureAfter({ cause: 'silent' })).toEqual({
    reason: 'program-stuck',
    message: 'had not loaded after 60000 ms',
  });
  expect(await failureAfter({ cause: 'heap' })).toEqual({
    reason: 'program-limit',
    message: 'took more than 64 MiB of heap',
  });
  expect(await failureAfter({ cause: 'arrays' })).toEqual({
    reason: 'program-limit',
    message: 'brought what typed arrays of all runs hold beyond 128 MiB',
  });
  expect(await failureAfter({ cause: 'awaits' }, NO_RUN)).toEqual({
    reason: 'program-error',
    message: 'awaits at its top level what never comes',
  });
  expect(await failureAfter({ cause: 'exit' })).toEqual({
    reason: 'program-error',
    message: 'ended its thread, as process.exit() does: a program returns its outputs',
  });
  expect(await failureAfter({ cause: 'exit', error: new Error('gone') })).toEqual({
    reason: 'program-error',
    message: 'ended its thread: gone',
  });
});

it('ProgramHost replays other runs on a fresh thread, and ends all where no run is the culprit', async () => {
  const driver = await started(programOf(WAITING), { limits: PATIENT, fake: { answers: () => false } });
  const runs = [0, 1].map((run) => driver.run(run, ONE));
  while (driver.waits(1) === 0) await turn();
  await lose(driver, { cause: 'heap', run: insideOf(driver).ids.get(0) as number });
  expect((await runs[0])?.failure?.reason).toBe('program-limit');
  driver.host?.give(1, { from: 'request', input: 'x' }, ONE.x);
  expect(await runs[1]).toMatchObject({ notTaken: ['y', 'z'] });
  const others = [2, 3].map((run) => driver.run(run, ONE));
  while (driver.waits(3) === 0) await turn();
  await lose(driver, { cause: 'silent', run: NO_RUN });
  for (const { failure } of await Promise.all(others))
    expect(failure).toEqual({
      reason: 'program-stuck',
      message: 'runs in a thread that has done nothing for 60000 ms',
    });
});

it('ProgramHost numbers runs anew behind the last number, and leaves out those that go on', async () => {
  const driver = await started(programOf(WAITING), { limits: PATIENT, fake: { answers: () => false } });
  const inside = insideOf(driver);
  const last = 2 ** 31 - 1;
  inside.nextId = last;
  for (const run of [5, 6]) void driver.run(run, ONE);
  inside.nextId = last;
  void driver.run(7, ONE);
  expect([5, 6, 7].map((run) => inside.ids.get(run))).toEqual([last, 0, 1]);
  for (const run of [5, 6, 7]) driver.leave(run);
});
