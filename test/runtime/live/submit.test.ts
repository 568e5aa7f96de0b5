import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readPolicies } from '../../../src/artifacts/index.js';
import type { TensorData } from '../../../src/execution/index.js';
import { ToldFaults } from '../../../src/formats/index.js';
import { type OpenedBundle, openBundle } from '../../../src/runtime/bundle/opened-bundle.js';
import { Counters } from '../../../src/runtime/live/counters.js';
import type { LiveDriver } from '../../../src/runtime/live/live-driver.js';
import { LiveEngine } from '../../../src/runtime/live/live-engine.js';
import type { Arrival, Done } from '../../../src/runtime/live/live-requests.js';
import { NO_TIME } from '../../../src/runtime/live/request-times.js';
import { Intake } from '../../../src/runtime/live/submit.js';
import { liveScheduler } from '../../../src/runtime/scheduler.js';
import { inWholeRun } from '../../cases.js';
import {
  type BundleShape,
  inputOf,
  isRight,
  lookup,
  onePartition,
  twoPartitions,
  WIDTH,
  writeBundle,
} from '../tiny-bundle.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function opened(shape: BundleShape): Promise<OpenedBundle> {
  const { folder, remove } = await writeBundle(shape);
  closers.push(remove);
  return openBundle(folder);
}

/** started runs a bundle without any server. */
async function started(shape: BundleShape, policies: string[] = []): Promise<LiveEngine> {
  const bundle = await opened(shape);
  const policy = await readPolicies(policies, new ToldFaults());
  const engine = new LiveEngine(bundle, { scheduler: liveScheduler({ policy }, bundle), log: () => {} });
  closers.push(() => engine.drain().then(() => engine.close()));
  await engine.start();
  return engine;
}

const metric = async ({ registry }: Counters, line: string) =>
  (await registry.metrics())
    .split('\n')
    .find((found) => found.startsWith(line))
    ?.slice(line.length + 1);
const TINY = { model: 'tiny' };
const TURNED_AWAY = { kind: 'dropped', reason: 'overload', place: 'entry', retryAfterS: 3 } as const;
/** With this policy, a batch waits as long as its requests can. */
const PATIENT = ['formation=last-moment', 'formation.leaves=transfer', 'formation.stepNs=1'];

describe('Intake.submit(), with no server,', () => {
  inWholeRun('answers with the outputs of all rows', async () => {
    const { intake, counters } = await started(twoPartitions(4, 60_000));
    const inputs = { x: inputOf(1, 3) };
    const ending = await intake.submit(TINY, inputs);
    expect(ending).toMatchObject({ kind: 'answered', inTime: true, rows: 3, notTaken: [], answeredBy: [] });
    if (ending.kind === 'answered') expect(isRight(inputs, ending.outputs)).toBe(true);
    expect(await metric(counters, 'inferplan_outcomes_total{model="tiny",outcome="in_time"}')).toBe('1');
  });

  inWholeRun('refuses an index that the model does not have', async () => {
    const { intake } = await started(onePartition(lookup()));
    const ids: TensorData = { dtype: 'int64', dims: [1, 2], data: BigInt64Array.of(1n, 99n) };
    const ending = await intake.submit(TINY, { ids });
    expect(ending).toMatchObject({ kind: 'refused', model: 'tiny' });
    if (ending.kind === 'refused')
      expect(ending.faults).toMatchObject([{ path: '', message: expect.stringContaining('ids holds 99') }]);
  });

  it('gives up a request whose client is gone, before it came or while it waits', async () => {
    const { intake, counters } = await started(twoPartitions(4, 60_000), PATIENT);
    const inputs = { x: inputOf(1) };
    const gone = AbortSignal.abort();
    expect(await intake.submit(TINY, inputs, { signal: gone })).toEqual({ kind: 'cancelled' });
    const client = new AbortController();
    const ending = intake.submit(TINY, inputs, { signal: client.signal });
    setTimeout(() => client.abort(), 20);
    await once(client.signal, 'abort');
    expect(await ending).toEqual({ kind: 'cancelled' });
    expect(await metric(counters, 'inferplan_outcomes_total{model="tiny",outcome="cancelled"}')).toBe('2');
    expect(await metric(counters, 'nv_inference_pending_request_count{model="tiny",version="1"}')).toBe('0');
  });

  inWholeRun('drops a request that cannot be in time, or comes while the engine drains', async () => {
    const engine = await started(twoPartitions(4, 60_000));
    const inputs = { x: inputOf(1) };
    expect(await engine.intake.submit(TINY, inputs, { timeoutUs: 1 })).toMatchObject({
      kind: 'dropped',
      reason: 'deadline',
    });
    const drained = engine.drain();
    expect(await engine.intake.submit(TINY, inputs)).toMatchObject({ kind: 'dropped', reason: 'draining' });
    await drained;
  });
});

/** Scripted is a driver that ends each request as it is told to. */
interface Scripted {
  end: (done: Done) => void;
  isFull: boolean;
  readonly arrivals: Arrival[];
}

describe('Intake, before any driver that it is given,', () => {
  let remove: () => Promise<void>;
  let bundle: OpenedBundle;
  beforeAll(async () => {
    const written = await writeBundle(twoPartitions(4, 200));
    remove = written.remove;
    bundle = await openBundle(written.folder);
  });
  afterAll(() => remove());

  function scripted(): { intake: Intake; counters: Counters; script: Scripted } {
    const script: Scripted = { end: () => {}, isFull: false, arrivals: [] };
    const counters = new Counters(bundle, () => ({ decideUs: 0, decideCalls: 0 }) as LiveDriver);
    const driver: ConstructorParameters<typeof Intake>[1] = {
      now: () => 1e9,
      wouldDrop: () => script.isFull,
      turnAway: (_model, done) => queueMicrotask(() => done(TURNED_AWAY, NO_TIME)),
      submit: (arrival, _rows, done) => {
        script.arrivals.push(arrival);
        queueMicrotask(() => script.end(done));
        return { request: 0, cancel: () => false };
      },
    };
    return { intake: new Intake(bundle, driver, counters), counters, script };
  }

  it('says that there is no such model or version, and counts nothing', async () => {
    const { intake, script, counters } = scripted();
    const inputs = { x: inputOf(1) };
    const none = {
      kind: 'unknown',
      why: 'There is no model "huge"; the served models are tiny',
    };
    expect(await intake.submit({ model: 'huge' }, inputs)).toEqual(none);
    expect(intake.admit({ model: 'huge' })).toEqual(none);
    expect(await intake.submit({ model: 'tiny', version: '2' }, inputs)).toEqual({
      kind: 'unknown',
      why: 'Model tiny has no version "2"; it has 1',
    });
    expect(script.arrivals).toEqual([]);
    expect(await metric(counters, 'nv_inference_request_failure{')).toBeUndefined();
  });

  it('refuses tensors that are not what the model takes, with every fault, and submits nothing', async () => {
    const { intake, script, counters } = scripted();
    const x = inputOf(1);
    const ending = await intake.submit(TINY, { X: x, x: { ...x, dtype: 'float64' } });
    expect(ending).toEqual({
      kind: 'refused',
      model: 'tiny',
      faults: [
        { path: 'input X', message: `is not one of the model's; it takes x FP32[-1, ${WIDTH}]` },
        { path: 'input x', message: 'its datatype is FP64; it must be FP32' },
      ],
    });
    const faultsOf = async (tensors: Record<string, TensorData>) => {
      const refused = await intake.submit(TINY, tensors);
      return refused.kind === 'refused' ? refused.faults.map(({ message }) => message) : refused;
    };
    expect(await faultsOf({})).toEqual([`lacks x FP32[-1, ${WIDTH}]`]);
    expect(await faultsOf({ x: { ...x, dims: [WIDTH] } })).toEqual([
      `its shape is [${WIDTH}]; it must be [-1, ${WIDTH}]`,
    ]);
    expect(await faultsOf({ x: { ...x, dims: [2, WIDTH] } })).toEqual([
      `has ${WIDTH} elements; its shape has ${2 * WIDTH}`,
    ]);
    expect(await faultsOf({ x: inputOf(1, 5) })).toEqual(['hold 5 rows; at most 4 are taken in one request']);
    expect(script.arrivals).toEqual([]);
    const failures = 'nv_inference_request_failure{model="tiny",version="1",reason="OTHER"}';
    expect(await metric(counters, failures)).toBe('5');
  });

  it("says why a request failed, and takes the client's timeout where it is shorter than the SLO", async () => {
    const { intake, script } = scripted();
    script.end = (done) => done({ kind: 'failed', why: 'its device burns' }, NO_TIME);
    const inputs = { x: inputOf(1) };
    const failed = { kind: 'failed', why: 'its device burns' };
    expect(await intake.submit(TINY, inputs)).toEqual(failed);
    expect(await intake.submit(TINY, inputs, { timeoutUs: 1000, cameNs: 5e8 })).toEqual(failed);
    expect(await intake.submit(TINY, inputs, { timeoutUs: 1e6, cameNs: 5e8 })).toEqual(failed);
    expect(script.arrivals).toEqual([
      { at: 1e9, model: 0, deadlineNs: 1.2e9 },
      { at: 5e8, model: 0, deadlineNs: 5.01e8 },
      { at: 5e8, model: 0, deadlineNs: 7e8 },
    ]);
  });

  it('turns a request away that would be dropped once it is read, and lets others be read', async () => {
    const { intake, script, counters } = scripted();
    expect(intake.admit(TINY)).toMatchObject({ kind: 'admitted' });
    script.isFull = true;
    const turned = intake.admit(TINY);
    expect(turned.kind).toBe('turnedAway');
    if (turned.kind !== 'turnedAway') return;
    expect(await turned.ending).toEqual(TURNED_AWAY);
    expect(await metric(counters, 'inferplan_outcomes_total{model="tiny",outcome="dropped"}')).toBe('1');
  });
});
