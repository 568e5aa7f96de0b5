import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import { fewOf, inWholeRun } from '../cases.js';
import { type EndedRun, type FakeDriver, numbers } from './fake-driver.js';
import { ONE, PATIENT, programOf, SOON, type StartedOptions, started, turn } from './started.js';
import { wanderingProgram } from './wandering.js';

const DISASTERS = {
  loops: 'for (;;);',
  'awaits for ever': 'while (true) await null;',
  'ends the thread': 'process.exit(1);',
  'takes too much heap': 'const all = []; for (;;) all.push(new Array(1e5).fill(all.length + 0.5));',
  throws: `throw new Error('as it was told');`,
};

/** timeless leaves out what depends on time: how long a program took, and the order of reads that it awaited together. */
function timeless({ recorded, ...ended }: EndedRun): unknown {
  const calls = recorded.map(({ thinkMs: _, after, ...call }) => ({ ...call, after: after.toSorted() }));
  return { ...ended, recorded: calls };
}

/** 200 requests, of which that with the place `culprit` does what its program is written for. */
async function endedOf(driver: FakeDriver, culprit: number | undefined, reads: number): Promise<EndedRun[]> {
  const draws = streamOf(5, 'requests');
  const requests = Array.from({ length: 200 }, () => numbers(draws.integer(9), draws.integer(9)));
  return Promise.all(
    requests.map((x, run) => driver.run(run, { x: run === culprit ? numbers(113, reads) : x })),
  );
}

describe('ProgramHost with 200 runs in flight', () => {
  it.each(fewOf(Object.entries(DISASTERS), 1))(
    'ends the others as without the one that %s',
    async (_, disaster) => {
      const path = wanderingProgram(disaster);
      const options: StartedOptions = { limits: { ...SOON, heapMiB: 64 } };
      const calm = await endedOf(await started(path, options), undefined, 0);
      const places = [
        { culprit: 150, reads: 2, seed: 3 },
        { culprit: 20, reads: 0, seed: 4 },
      ];
      for (const { culprit, reads, seed } of fewOf(places, 1)) {
        const ended = await endedOf(await started(path, { ...options, fake: { seed } }), culprit, reads);
        const failed = ended.flatMap(({ failure }, run) => (failure === undefined ? [] : [run]));
        expect(failed).toEqual([culprit]);
        const others = ended.filter((_, run) => run !== culprit);
        expect(others.map(timeless)).toEqual(calm.filter((_, run) => run !== culprit).map(timeless));
      }
    },
  );

  inWholeRun('ends several that loop, each for itself', async () => {
    const driver = await started(wanderingProgram('for (;;);'), { limits: SOON });
    const runs = Array.from({ length: 60 }, (_, run) =>
      driver.run(run, { x: run % 20 === 7 ? numbers(113, run % 3) : numbers(run % 9, 1) }),
    );
    const ended = await Promise.all(runs);
    expect(ended.flatMap(({ failure }, run) => (failure === undefined ? [] : [run]))).toEqual([7, 27, 47]);
  });

  inWholeRun('holds nothing of runs that were given up', async () => {
    const path = programOf(
      `
        const held = new Array(2 ** 19).fill(random());
        await call('turn', { x: request.in('x') }).read('y');
        return { y: request.in('x'), z: { datatype: 'FP32', shape: [1, 2], data: Float32Array.from(held.slice(2)) } };`,
      "console.log('loaded');",
    );
    let printed = '';
    const driver = await started(path, {
      limits: { ...PATIENT, heapMiB: 48 },
      fake: { answers: () => false },
      printed: (text) => {
        printed += text;
      },
    });
    // All together would take 120 MiB.
    for (let run = 0; run < 30; run++) {
      void driver.run(run, ONE);
      while (driver.waits(run) === 0) await turn();
      driver.leave(run);
    }
    expect(printed).toBe('loaded\n');
  });

  inWholeRun('ends the run with which typed arrays hold too much, and goes on without them', async () => {
    const path = programOf(
      `
        kept.push(new Float32Array(2 ** 20).fill(1));
        await call('turn', { x: request.in('x') }).read('y');
        return { y: request.in('x') };`,
      'const kept = [];',
    );
    const driver = await started(path, { limits: { ...PATIENT, arraysMiB: 40 } });
    const failures: string[] = [];
    for (let run = 0; run < 30; run++) {
      const { failure } = await driver.run(run, ONE);
      if (failure !== undefined) failures.push(`${run} ${failure.reason}: ${failure.message}`);
    }
    // Each thread takes nine runs or so, whose arrays hold 4 MiB each.
    expect(failures.length).toBeGreaterThan(1);
    expect(failures.length).toBeLessThan(6);
    for (const failure of failures)
      expect(failure).toMatch(/ program-limit: brought what typed arrays of all runs hold beyond 40 MiB$/);
  });
});
