import { describe, expect, it } from 'vitest';
import type { Tensors } from '../../../src/execution/index.js';
import { streamOf } from '../../../src/random/index.js';
import type { Ending } from '../../../src/runtime/live/live-requests.js';
import { replay, WORKFLOW_SCHEDULERS, type WorkflowScheduler } from '../../../src/serving/index.js';
import { cases, fewOf, seeds, whole } from '../../cases.js';
import { computed, pair, THROWS, wandering } from './arithmetic.js';
import { type Driven, type DrivenOptions, driven, smallCluster } from './driven.js';

/** Sent is a request with how it ended, more than once where the driver is wrong. */
interface Sent {
  readonly rows: readonly Tensors[];
  readonly endings: (Ending | { readonly kind: 'cancelled' })[];
}

interface Storm extends Partial<DrivenOptions> {
  readonly seed: number;
  readonly requests: number;
  readonly devices?: number;
  /** The chance that, in a turn of the event loop, a device goes down or comes up, and that a client leaves. */
  readonly trouble?: number;
  readonly leave?: number;
}

/** weathered lets requests come, some in each turn of the event loop, until all of them have ended. */
async function weathered(storm: Storm): Promise<{ sent: Sent[]; around: Driven }> {
  const { seed, requests, devices = 3, trouble = 0, leave = 0 } = storm;
  const around = driven({ shape: smallCluster(devices), program: wandering, ...storm });
  const draws = streamOf(seed, 'storm');
  const sent: Sent[] = [];
  const open = new Map<Sent, () => boolean>();
  const isUp = around.devices.map(() => true);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  for (let left = requests; left > 0 || open.size > 0; ) {
    for (let now = draws.integer(4); now > 0 && left > 0 && open.size < 60; now--, left--)
      send(around, drawRows(draws), { sent, open });
    if (draws.uniform() < leave) {
      const [first] = open;
      if (first?.[1]()) {
        first[0].endings.push({ kind: 'cancelled' });
        open.delete(first[0]);
      }
    }
    // Devices come up again when no request comes any more, so that what is left can end.
    const isQuiet = left === 0;
    for (const [d, device] of around.devices.entries()) {
      if (isUp[d] ? isQuiet || draws.uniform() >= trouble : !isQuiet && draws.uniform() >= 0.1) continue;
      isUp[d] = !isUp[d];
      if (isUp[d]) {
        device.rise();
        around.driver.deviceUp(d);
      } else {
        device.die();
        around.driver.deviceDown(d);
      }
    }
    await turn();
  }
  await around.driver.drain();
  // What was begun for requests that have ended comes to its end.
  for (let i = 0; i < 1000 && around.devices.some(({ isIdle }) => !isIdle); i++) await turn();
  around.driver.stop();
  return { sent, around };
}

function drawRows(draws: ReturnType<typeof streamOf>): Tensors[] {
  const first = () => (draws.uniform() < 0.02 ? THROWS : draws.integer(1000));
  return Array.from({ length: 1 + draws.integer(2) }, () => ({ x: pair(first(), draws.integer(1000)) }));
}

function send(
  { driver }: Driven,
  rows: readonly Tensors[],
  { sent, open }: { readonly sent: Sent[]; readonly open: Map<Sent, () => boolean> },
): void {
  const request: Sent = { rows, endings: [] };
  sent.push(request);
  const arrival = { at: driver.now(), model: 0, deadlineNs: Number.POSITIVE_INFINITY };
  const ticket = driver.submit(arrival, rows, (ending) => {
    request.endings.push(ending);
    open.delete(request);
  });
  open.set(request, ticket.cancel);
}

/** wrongAnswers lists the requests that have no ending, several, or an answer that the program does not give by itself. */
async function wrongAnswers(sent: readonly Sent[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const [i, { rows, endings }] of sent.entries()) {
    const [ending] = endings;
    if (endings.length !== 1) wrong.push(`request ${i} ended ${endings.length} times`);
    const throws = rows.some(({ x }) => x?.data[0] === THROWS);
    if (ending?.kind === 'failed' && throws) continue;
    if (ending?.kind !== 'answered') continue;
    const own = await Promise.all(rows.map((row) => computed(wandering, row)));
    const joined = (name: string) => own.flatMap((row) => row[name] ?? []);
    const lacking = ['y', 'z'].filter((name) => joined(name).length === 0);
    for (const name of ['y', 'z'])
      if (String([...((ending.outputs[name]?.data as Float32Array) ?? [])]) !== String(joined(name)))
        wrong.push(
          `request ${i} is answered with ${name} ${ending.outputs[name]?.data}, not ${joined(name)}`,
        );
    if (String(ending.notTaken) !== String(lacking)) wrong.push(`request ${i} lacks ${ending.notTaken}`);
  }
  return wrong;
}

/** kinds lists the requests by how they ended. */
function kinds(sent: readonly Sent[]): Partial<Record<Ending['kind'] | 'cancelled' | 'none', Sent[]>> {
  const by: ReturnType<typeof kinds> = {};
  for (const request of sent) {
    const kind = request.endings[0]?.kind ?? 'none';
    by[kind] ??= [];
    by[kind].push(request);
  }
  return by;
}

/** expectNothingLeft says that nothing is kept, counted or under way of what has ended. */
function expectNothingLeft({ driver, devices, programs, core }: Driven): void {
  expect(devices.flatMap(({ broken }) => broken)).toEqual([]);
  expect(devices.map(({ kept }) => kept.size)).toEqual(devices.map(() => 0));
  expect(driver.inUse).toEqual({ outputs: 0, bytes: 0, runs: 0, tasks: 0, batches: 0, moves: 0 });
  expect(programs.going.size).toBe(0);
  expect(core().inUse).toMatchObject({ requests: 0, tasks: 0, batches: 0, fetches: 0 });
}

describe('LiveWorkflowDriver', () => {
  it.each(
    fewOf(
      WORKFLOW_SCHEDULERS.filter((name) => name !== 'static'),
      2,
    ),
  )(
    'answers what programs give by themselves under %s, and keeps nothing of it',
    async (scheduler: WorkflowScheduler) => {
      const { sent, around } = await weathered({
        seed: 1,
        requests: whole(80, 200),
        scheduler,
        isDelayed: true,
      });
      expect(await wrongAnswers(sent)).toEqual([]);
      const ended = kinds(sent);
      expect(Object.keys(ended).sort()).toEqual(['answered', 'failed']);
      expect(ended.failed?.every(({ rows }) => rows.some(({ x }) => x?.data[0] === THROWS))).toBe(true);
      expect(around.devices.some(({ sizes }) => sizes.some((size) => size > 1))).toBe(true);
      expectNothingLeft(around);
    },
  );

  it.each(fewOf(seeds(3, 60), 1))('gives each request one outcome in storm %i', async (seed) => {
    const failing = streamOf(seed, 'failing');
    const { sent, around } = await weathered({
      seed,
      requests: 60,
      trouble: 0.02,
      leave: 0.1,
      isDelayed: true,
      fails: () => failing.uniform() < 0.02,
      failsToLoad: () => failing.uniform() < 0.05,
    });
    expect(await wrongAnswers(sent)).toEqual([]);
    expectNothingLeft(around);
    expect(kinds(sent).none).toBeUndefined();
    expect(replay(around.log, around.makeCore)).toMatchObject({ same: true });
  });

  it('says whether all rows of a request are in time', async () => {
    const { driver } = driven({ shape: smallCluster(3), program: wandering, seed: 1, scheduler: 'greedy' });
    const ended = (deadlineNs: number) =>
      new Promise<Ending>((resolve) => {
        const rows = [{ x: pair(1, 2) }, { x: pair(3, 4) }];
        driver.submit({ at: driver.now(), model: 0, deadlineNs }, rows, resolve);
      });
    expect(await ended(driver.now() + 1e12)).toMatchObject({ kind: 'answered', inTime: true, rows: 2 });
    expect(await ended(0)).toMatchObject({ kind: 'answered', inTime: false, rows: 2 });
    await driver.drain();
    const refused = await ended(driver.now() + 1e12);
    expect(refused).toMatchObject({ kind: 'dropped', reason: 'draining' });
    driver.stop();
  });

  it('drops what is open when it is abandoned', async () => {
    const { driver, programs } = driven({ shape: smallCluster(3), program: wandering, seed: 1 });
    const endings: Ending[] = [];
    for (let i = 0; i < 3; i++)
      driver.submit({ at: driver.now(), model: 0, deadlineNs: 1e12 }, [{ x: pair(i, 5) }], (ending) =>
        endings.push(ending),
      );
    expect([driver.abandon(), driver.pending, programs.going.size]).toEqual([3, 0, 0]);
    driver.stop();
    expect(endings.map((ending) => ending.kind === 'dropped' && ending.reason)).toEqual([
      ...['draining', 'draining', 'draining'],
    ]);
  });

  it('keeps nothing of many requests', { timeout: cases(60_000, 3_600_000) }, async () => {
    const requests = cases(whole(150, 1000), 100_000);
    const { sent, around } = await weathered({ seed: 3, requests, scheduler: 'greedy' });
    expect(sent.length).toBe(requests);
    expect(kinds(sent).none).toBeUndefined();
    expectNothingLeft(around);
    const { loaded, evicted, fetched, spilled } = around.told;
    expect(Math.min(loaded, evicted, fetched, spilled)).toBeGreaterThan(0);
  });
});
