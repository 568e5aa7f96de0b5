import { describe, expect, it } from 'vitest';
import type { Tensors } from '../../../src/execution/index.js';
import type { Program } from '../../../src/programs/index.js';
import type { Ending } from '../../../src/runtime/live/live-requests.js';
import { computed, pair } from './arithmetic.js';
import { type Driven, type DrivenOptions, driven, smallCluster } from './driven.js';

const ROW: Tensors = { x: pair(3, 5) };

/** ample gives one device with room for all components, which it holds, and for many outputs. */
function ample() {
  const shape = smallCluster(1, 10_000);
  return { ...shape, holds: [[0, 1]] };
}

async function answered(
  program: Program,
  options: Partial<DrivenOptions> = {},
): Promise<{ ending: Ending; around: Driven }> {
  const around = driven({ shape: ample(), program, seed: 1, scheduler: 'greedy', ...options });
  const { driver } = around;
  const ending = await new Promise<Ending>((resolve) => {
    driver.submit({ at: driver.now(), model: 0, deadlineNs: Number.POSITIVE_INFINITY }, [ROW], resolve);
  });
  await driver.drain();
  driver.stop();
  for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve));
  return { ending, around };
}

/**
 * expectAsByHand says that an answer is what the program gives by itself, and that the device was asked for nothing
 * that it lacked.
 */
async function expectAsByHand(program: Program, ending: Ending, { devices }: Driven): Promise<void> {
  const own = await computed(program, ROW);
  if (ending.kind !== 'answered') throw new Error(`the request ended so: ${JSON.stringify(ending)}`);
  const told = Object.entries(ending.outputs).map(([name, { data }]) => [name, [...(data as Float32Array)]]);
  expect(Object.fromEntries(told)).toEqual(own);
  expect(devices.flatMap(({ broken }) => broken)).toEqual([]);
}

describe('what programs need', () => {
  it('brings the tensors that are read, one by one, and no others', async () => {
    const program: Program = async (request, { call }) => {
      const turned = call('turn', { x: request.in('x') });
      const { data } = await turned.read('z', 'FP32');
      if (data[0] === 0) return {};
      await turned.read('y', 'FP32');
      await Promise.all([turned.read('z', 'FP32'), turned.read('y', 'FP32')]);
      const again = call('turn', { x: turned.out('y') });
      return { y: again.out('z') };
    };
    const { ending, around } = await answered(program);
    await expectAsByHand(program, ending, around);
    // z and y of the first call, and z of the second.
    expect(around.devices[0]!.sent).toBe(3);
  });

  it('ends a request whose program reads what its component did not give', async () => {
    const program: Program = async (request, { call }) => {
      await call('swap', { x: request.in('x') }).read('z', 'FP32');
      return {};
    };
    const { ending } = await answered(program);
    expect(ending).toEqual({
      kind: 'failed',
      why: 'the program reads z, which its component did not give',
    });
  });

  it('lets an output move into the call that takes it last, once the program has returned', async () => {
    const program: Program = async (request, { call }) => {
      const first = call('turn', { x: request.in('x') });
      const second = call('turn', { x: first.out('y') });
      const third = call('turn', { x: second.out('z') });
      return { y: third.out('y'), z: first.out('z') };
    };
    const { ending, around } = await answered(program);
    await expectAsByHand(program, ending, around);
    // The second call's output is taken by the third alone; that of the first is in the answer too.
    expect(around.devices[0]!.taken).toBe(1);
    expect(around.told.unneeded).toBe(1);
  });

  it('keeps what a program may still call for, as long as it runs', async () => {
    const program: Program = async (request, { call }) => {
      const first = call('turn', { x: request.in('x') });
      const second = call('turn', { x: first.out('y') });
      await second.read('y', 'FP32');
      return { y: call('turn', { x: first.out('y') }).out('y') };
    };
    const { ending, around } = await answered(program);
    await expectAsByHand(program, ending, around);
    // What the last call takes moves; what the second one took was copied. The second's output is let go when the program returns.
    expect(around.devices[0]!.taken).toBe(1);
    expect(around.told.unneeded).toBe(2);
  });

  it('drops an output that nothing takes once the program has returned', async () => {
    const program: Program = async (request, { call }) => {
      call('swap', { x: request.in('x') });
      return { y: call('turn', { x: request.in('x') }).out('y') };
    };
    const { ending, around } = await answered(program);
    await expectAsByHand(program, ending, around);
    expect(around.told.unneeded).toBe(1);
  });
});

describe('loads that fail', () => {
  const calling: Program = async (request, { call }) => ({
    y: call('add', asPair(request.in('x'))).out('y'),
  });
  const asPair = <Source>(x: Source) => ({ a: x, b: x });
  const lacking = () => ({ ...smallCluster(1, 10_000), holds: [[1]] });

  it('are tried once more, and touch nothing else on their device', async () => {
    let left = 1;
    const { ending, around } = await answered(calling, { shape: lacking(), failsToLoad: () => left-- > 0 });
    await expectAsByHand(calling, ending, around);
    expect(around.told).toMatchObject({ loadFailed: 1, loaded: 1 });
  });

  it('end the requests that need them with their reason, after two in a row', async () => {
    const { ending, around } = await answered(calling, { shape: lacking(), failsToLoad: () => true });
    expect(ending).toEqual({ kind: 'failed', why: 'could not load add: the load fails' });
    expect(around.told).toMatchObject({ loadFailed: 2, loaded: 0 });
    expect(around.devices[0]!.broken).toEqual([]);
  });
});
