import { describe, expect, it } from 'vitest';
import type { Attribution } from '../../src/programs/attribution.js';
import { PROGRAM_LIMITS } from '../../src/programs/limits.js';
import { Beat, NO_RUN, type ProgramAct, type ThreadEvent } from '../../src/programs/messages.js';
import type { Program, ProgramTensor, TensorMetadata } from '../../src/programs/program.js';
import { ServedProgram } from '../../src/programs/served-program.js';

const metadata = (name: string, shape: readonly number[] = [-1]): TensorMetadata => ({
  name,
  datatype: 'FP32',
  shape,
});
const tensor = (...data: number[]): ProgramTensor => ({
  datatype: 'FP32',
  shape: [data.length],
  data: Float32Array.from(data),
});
const add = { inputs: [metadata('a'), metadata('b')], outputs: [metadata('sum')] };

/** served runs a program without a thread: of one event after another, whose run is taken to be the one that acts. */
function served(program: Program, limits = PROGRAM_LIMITS) {
  const beat = new Int32Array(2);
  const answers: (readonly ProgramAct[])[] = [];
  const resumed: number[] = [];
  let current = NO_RUN;
  let fullChecks = 0;
  const attribution = {
    get current() {
      return current;
    },
    resume: (run: number) => {
      current = run;
      resumed.push(run);
    },
    ownerOf: () => 1,
  } as unknown as Attribution;
  const thread = new ServedProgram({
    program,
    face: { inputs: [metadata('x')], outputs: [metadata('y')] },
    components: { add },
    limits,
    seed: 7,
    attribution,
    beat,
    answer: (answer) => answers.push('acts' in answer ? answer.acts : []),
    later: setImmediate,
    leaveIfFull: () => {
      fullChecks += 1;
    },
  });
  /** taken gives what came of events, once as many answers are there. */
  const taken = async (...events: readonly ThreadEvent[]) => {
    const wanted = answers.length + events.length;
    for (const event of events) thread.take(event);
    while (answers.length < wanted) await new Promise(setImmediate);
    return answers.slice(wanted - events.length);
  };
  return { thread, taken, beat, resumed, checks: () => fullChecks, attribution };
}

const begin = (run: number, nowMs = 100): ThreadEvent => ({ event: 'begin', run, stream: run, nowMs });
const X = { from: 'request', input: 'x' } as const;
const SUM = { from: 'task', task: 0, output: 'sum' } as const;
const give = (run: number, source: typeof X | typeof SUM, nowMs = 200): ThreadEvent => ({
  event: 'give',
  run,
  source,
  tensor: tensor(1),
  nowMs,
});
/** failed is how a run ends that begins and does nothing else. */
async function failed(program: Program, limits = PROGRAM_LIMITS) {
  const [acts] = await served(program, limits).taken(begin(1));
  const end = acts!.at(-1)!;
  if (end.act !== 'end' || !('reason' in end.end)) throw new Error(JSON.stringify(acts));
  return `${end.end.reason}: ${end.end.message}`;
}

describe('A program that is served', () => {
  it('calls, reads and answers, and each event says what came of it', async () => {
    const seen: unknown[] = [];
    const { thread, taken, beat, resumed, checks } = served(async (request, { call, now, random }) => {
      seen.push(now(), random(), random());
      const handle = call('add', { a: request.in('x'), b: request.in('x') });
      const [first, again] = [handle.read('sum'), handle.read('sum', 'FP32')];
      expect(first).toBe(again);
      seen.push(await first, now());
      return { y: handle.out('sum') };
    });
    const inputs = ['a', 'b'].map((name) => ({ name, source: X }));
    expect(await taken(begin(1))).toEqual([
      [
        { act: 'call', run: 1, call: { task: 0, component: 'add', inputs, rows: 1 } },
        { act: 'want', run: 1, source: SUM },
      ],
    ]);
    expect(thread.ownerOf(Promise.resolve())).toBeDefined();
    expect(await taken(give(1, SUM))).toEqual([
      [{ act: 'end', run: 1, end: { outputs: { y: SUM }, notTaken: [] } }],
    ]);
    expect(seen).toEqual([100, expect.any(Number), expect.any(Number), tensor(1), 200]);
    expect(seen[1]).not.toBe(seen[2]);
    expect(thread.ownerOf(Promise.resolve())).toBeUndefined();
    expect(thread.acting).toBeUndefined();
    expect(beat[Beat.events]).toBe(2);
    expect(resumed).toEqual([1, 1, NO_RUN, 1, 1, NO_RUN]);
    expect(checks()).toBe(2);
  });

  it('draws the same again by the seed and the stream of a run, and something else in another', async () => {
    const draws: number[] = [];
    const program: Program = (_, { random }) => {
      draws.push(random());
      return {};
    };
    await served(program).taken(begin(1), begin(2));
    await served(program).taken(begin(2));
    expect(draws[1]).toBe(draws[2]);
    expect(draws[0]).not.toBe(draws[1]);
  });

  it('takes events one after another, each once the one before is over', async () => {
    const order: string[] = [];
    const { taken } = served(async (request) => {
      order.push('begun');
      await request.read('x');
      await Promise.resolve();
      order.push('read');
      return { y: request.in('x') };
    });
    const answers = await taken(begin(1), begin(2), give(1, X), give(2, X));
    expect(order).toEqual(['begun', 'begun', 'read', 'read']);
    expect(answers.map((acts) => acts.map(({ act, run }) => `${act} ${run}`))).toEqual([
      ['want 1'],
      ['want 2'],
      ['end 1'],
      ['end 2'],
    ]);
  });

  it('reports nothing of a run that was given up', async () => {
    const { thread, taken } = served(async (request) => {
      await request.read('x');
      return {};
    });
    await taken(begin(1));
    thread.take({ event: 'cancel', run: 1 });
    thread.take({ event: 'cancel', run: 9 });
    expect(await taken(give(1, X))).toEqual([[]]);
    expect(thread.ownerOf(Promise.resolve())).toBeUndefined();
  });
});

describe('A program that makes a mistake', () => {
  it('ends with what it returned or threw', async () => {
    expect(await failed(() => ({ z: 1 }) as never)).toBe(
      'program-error: returned "z", which is none of its outputs y',
    );
    expect(
      await failed(() => {
        throw 'no';
      }),
    ).toBe('program-error: threw "no"');
    expect(await failed(() => new Promise(() => {}))).toMatch(/^program-stuck: waits for what is neither/);
  });

  it('ends with the name that it asks for, and those that there are', async () => {
    expect(await failed((request) => ({ y: request.in('w') }))).toMatch(
      /^program-error: asks the request for "w"; it has x/,
    );
    expect(
      await failed((_, { call }) => {
        call('sub', {});
        return {};
      }),
    ).toMatch(/^program-error: calls "sub", which is no component here; there are add/);
    expect(
      await failed((_, { call }) => {
        call('toString', {});
        return {};
      }),
    ).toMatch(/which is no component/);
    expect(
      await failed((_, { call }) => {
        call('add', undefined as never);
        return {};
      }),
    ).toMatch(/^program-error: calls add: its input a is missing; its input b is missing/);
    expect(
      await failed((request, { call }) => ({
        y: call('add', { a: request.in('x'), b: request.in('x') }).out('product'),
      })),
    ).toMatch(/^program-error: asks add for "product"; it gives sum/);
    expect(await failed((request) => request.read('x', 'INT8') as never)).toMatch(
      /^program-error: reads x as INT8; it is FP32/,
    );
  });

  it('ends with more calls than it may make, and not with as many', async () => {
    const calling =
      (count: number): Program =>
      (request, { call }) => {
        for (let i = 0; i < count; i++) call('add', { a: request.in('x'), b: request.in('x') });
        return {};
      };
    const limits = { ...PROGRAM_LIMITS, tasks: 2 };
    expect(await failed(calling(3), limits)).toMatch(/^program-limit: makes more than 2 calls/);
    const [acts] = await served(calling(2), limits).taken(begin(1));
    expect(acts!.map(({ act }) => act)).toEqual(['call', 'call', 'end']);
  });

  it('is not what it was where it does not read what it is given when it is replayed', async () => {
    const { taken } = served(async (request) => {
      await request.read('x');
      return new Promise(() => {}) as never;
    });
    const [, given] = await taken(begin(1), give(1, SUM));
    expect(given).toMatchObject([
      {
        end: {
          reason: 'program-not-deterministic',
          message: 'did not read output sum of call 0 when it was replayed',
        },
      },
    ]);
    const twice = served(async (request) => {
      await request.read('x');
      await request.read('x');
      return { y: await request.read('x') };
    });
    const [, first] = await twice.taken(begin(1), give(1, X));
    expect(first).toMatchObject([{ act: 'end', end: { outputs: { y: tensor(1) } } }]);
  });

  it('ends both where a run uses what another was handed, and after its end', async () => {
    let other: Parameters<Program>[1] | undefined;
    const { taken } = served((_, context) => {
      if (other !== undefined) other.call('add', {});
      other = context;
      return new Promise(() => {});
    });
    const [, second] = await taken(begin(1), begin(2));
    expect(second).toMatchObject([
      {
        act: 'end',
        run: 2,
        end: { message: expect.stringMatching(/^uses what the run of another request/) },
      },
    ]);
    let late: (() => void) | undefined;
    const ended = served((request) => {
      late = () => void request.read('x');
      return {};
    });
    await ended.taken(begin(1));
    expect(late).toThrow('goes on after its run has ended');
  });

  it('ends with what was rejected where nothing awaits it', async () => {
    const { thread, taken } = served(async (request) => {
      thread.acting!.left(new Error('alone'));
      await request.read('x');
      return {};
    });
    const [acts] = await taken(begin(1));
    expect(acts![0]).toMatchObject({
      act: 'end',
      end: {
        reason: 'program-error',
        message: expect.stringMatching(/^threw Error: alone.*, where nothing awaited it$/),
      },
    });
  });
});
