import { describe, expect, it } from 'vitest';
import type { SourceName } from '../../src/programs/index.js';
import { fewOf, inWholeRun, seeds } from '../cases.js';
import { numbers } from './fake-driver.js';
import { programOf, SOON, started, turn } from './started.js';

describe('ProgramHost, when it replays', () => {
  /** Two branches of a run call as their reads are answered, so that its calls have the order of the answers. */
  const BRANCHING = `
    const { data } = await request.read('x', 'FP32');
    if (data[0] === 9) { while (data[1]-- > 0) await call('turn', { x: request.in('x') }).read('y'); for (;;); }
    const walk = async (steps) => {
      let source = request.in('x');
      for (let step = 0; step < steps; step++) {
        const handle = call('turn', { x: source });
        const { data } = await handle.read('y', 'FP32');
        source = data[0] > 3 ? handle.out('y') : call('add', { a: source, b: handle.out('z') }).out('y');
      }
      return source;
    };
    const [a, b, c] = await Promise.all([walk(2), walk(4), walk(3)]);
    return { y: call('add', { a, b }).out('y'), z: c };`;

  inWholeRun('gives reads again in their order, so that the same calls come', async () => {
    const path = programOf(BRANCHING);
    for (const seed of seeds(2, 10)) {
      const calm = await started(path, { fake: { seed: 1 } });
      const driver = await started(path, { limits: SOON, fake: { seed } });
      const culprits = [0, 3, 9].map((reads, i) => driver.run(100 + i, { x: numbers(9, reads) }));
      for (let run = 0; run < 20; run++) {
        const [ended, expected] = await Promise.all([
          driver.run(run, { x: numbers(run % 5, run) }),
          calm.run(run, { x: numbers(run % 5, run) }),
        ]);
        expect(ended, `seed ${seed}, run ${run}`).toMatchObject({ outputs: expected.outputs });
      }
      for (const { failure } of await Promise.all(culprits)) expect(failure?.reason).toBe('program-stuck');
    }
  });

  const DIFFERING: [string, string, RegExp][] = [
    [
      'makes another call',
      `call(first ? 'turn' : 'add', first ? { x } : { a: x, b: x });`,
      /^made call 0 as add\(a: input x, b: input x\) when it was replayed, and as turn\(x: input x\) before$/,
    ],
    [
      'makes one call more',
      `call('turn', { x }); if (!first) call('turn', { x });`,
      /^had made 3 calls when it was replayed up to its 1\. read, and 2 before$/,
    ],
    [
      'makes one call less',
      `if (first) call('turn', { x });`,
      /^had made 1 calls when it was replayed up to its 1\. read, and 2 before$/,
    ],
    [
      'ends before a read',
      `if (!first) return { y: x }; const handle = call('turn', { x }); await handle.read('y');`,
      /^had made 0 calls when it was replayed/,
    ],
    [
      'reads something else',
      `const handle = call('turn', { x }); await handle.read(first ? 'y' : 'z');`,
      /^did not read output y of call 0 when it was replayed$/,
    ],
  ];
  it.each(fewOf(DIFFERING, 3))('ends a run that %s then', async (_, body, words) => {
    const driver = await started(
      programOf(
        `
        const { data } = await request.read('x', 'FP32');
        const x = request.in('x');
        if (data[0] === 9) for (;;);
        if (data[0] === 1) { ${body} }
        await call('turn', { x }).read('z');
        return { y: x };`,
        // A file that the first thread leaves behind tells the second one what it is.
        `import { existsSync, writeFileSync } from 'node:fs';
         const mark = new URL('./mark', import.meta.url);
         const first = !existsSync(mark);
         if (first) writeFileSync(mark, '');`,
      ),
      { limits: SOON, fake: { answers: (run, source) => run !== 1 || !isLast(source) } },
    );
    const differing = driver.run(1, { x: numbers(1, 0) });
    await driver.run(2, { x: numbers(2, 0) });
    const looping = driver.run(9, { x: numbers(9, 0) });
    const { failure } = await differing;
    expect(failure?.reason).toBe('program-not-deterministic');
    expect(failure?.message).toMatch(words);
    expect((await looping).failure?.reason).toBe('program-stuck');
  });

  /** The last read of run 1 is not answered, so that it goes on when the thread is lost. */
  function isLast(source: SourceName): boolean {
    return source.from === 'task' && source.output === 'z';
  }

  it('ends all runs where the module is not loaded again, and tries anew for later ones', async () => {
    const driver = await started(
      programOf(
        `
        if ((await request.read('x')).data[0] === 9) for (;;);
        await call('turn', { x: request.in('x') }).read('z');
        return { y: request.in('x') };`,
        `import { existsSync, rmSync, writeFileSync } from 'node:fs';
         const mark = new URL('./mark', import.meta.url);
         if (!existsSync(mark)) writeFileSync(mark, '');
         else { rmSync(mark); throw new Error('once is enough'); }`,
      ),
      { limits: SOON, fake: { answers: (run, source) => run !== 1 || !isLast(source) } },
    );
    const waiting = driver.run(1, { x: numbers(1, 0) });
    expect((await driver.run(9, { x: numbers(9, 0) })).failure?.reason).toBe('program-stuck');
    expect((await waiting).failure).toMatchObject({
      reason: 'program-error',
      message: expect.stringMatching(
        /^could not be loaded again: its module threw Error: once is enough \(program/,
      ),
    });
    expect((await driver.run(2, { x: numbers(2, 0) })).outputs).toEqual({ y: [2, 0] });
  });

  const ALONE: [string, string, string, RegExp][] = [
    ['ends its thread', 'process.exit(2);', 'program-error', /^ended its thread, as process\.exit\(\) does/],
    ['loops', 'for (;;);', 'program-stuck', /^runs in a thread that has done nothing for 600 ms$/],
  ];
  it.each(fewOf(ALONE, 1))(
    'ends all runs where a module %s by itself, as nobody is to blame',
    async (_, body, reason, words) => {
      const driver = await started(
        programOf(
          `await call('turn', { x: request.in('x') }).read('z'); return {};`,
          `import { setTimeout as later } from 'node:timers';
         later(() => { ${body} }, 100);`,
        ),
        { limits: { ...SOON, loadMs: 600 }, fake: { answers: () => false } },
      );
      const waiting = driver.run(0, { x: numbers(1, 0) });
      let isOver = false;
      void waiting.finally(() => {
        isOver = true;
      });
      while (driver.waits(0) === 0 && !isOver) await turn();
      // A thread that nothing is asked of is not missed.
      await new Promise((resolve) => setTimeout(resolve, 200));
      driver.host?.give(0, { from: 'task', task: 0, output: 'z' }, numbers(0, 0));
      const { failure } = await waiting;
      expect(failure?.reason).toBe(reason);
      expect(failure?.message).toMatch(words);
    },
  );
});
