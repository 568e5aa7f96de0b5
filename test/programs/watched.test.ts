import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ProgramClock } from '../../src/programs/index.js';
import { numbers } from './fake-driver.js';
import { ONE, programOf, started, turn } from './started.js';

/** HandClock is a clock that a test moves. */
class HandClock implements ProgramClock {
  private readonly acts: { periodMs: number; act: () => void }[] = [];
  time = 1_000_000;

  nowMs(): number {
    return this.time;
  }

  every(periodMs: number, act: () => void): () => void {
    this.acts.push({ periodMs, act });
    return () => void this.acts.splice(0);
  }

  /** look moves the clock to the next look at the thread, and lets it be taken. */
  look(): void {
    for (const { periodMs, act } of [...this.acts]) {
      this.time += periodMs;
      act();
    }
  }
}

describe('ProgramHost with a clock of the test', () => {
  it('gives programs the time of the last event, by every name that it has', async () => {
    const clock = new HandClock();
    const path = programOf(`
      const before = [now(), Date.now(), new Date().getTime()];
      await request.read('x');
      const after = [now(), Date.now(), +new Date(), Date.parse(Date())];
      const same = new Set(before).size === 1 && new Set(after.slice(0, 3)).size === 1 && after[3] === Math.floor(after[0] / 1000) * 1000;
      const real = new Date(5).getTime() === 5 && new Date() instanceof Date && new Date(2020, 1).getFullYear() === 2020;
      return { y: { datatype: 'FP32', shape: [1, 2], data: Float32Array.of(before[0], after[0]) },
        z: { datatype: 'FP32', shape: [1, 2], data: Float32Array.of(same && real, performance.now()) } };`);
    const driver = await started(path, { clock, fake: { answers: () => false } });
    const running = driver.run(0, ONE);
    while (driver.waits(0) === 0) await turn();
    clock.time += 500;
    driver.host?.give(0, { from: 'request', input: 'x' }, ONE.x);
    expect((await running).outputs).toEqual({ y: [1_000_000, 1_000_500], z: [1, 500] });
  });

  it('ends a run that takes too long in all', async () => {
    const clock = new HandClock();
    const path = programOf(`await call('turn', { x: request.in('x') }).read('y'); return {};`);
    const driver = await started(path, { clock, limits: { runMs: 1000 }, fake: { answers: () => false } });
    const first = driver.run(0, ONE);
    while (driver.waits(0) === 0) await turn();
    for (let look = 0; look < 2; look++) clock.look();
    let isOver = false;
    const second = driver.run(1, ONE).finally(() => {
      isOver = true;
    });
    while (driver.waits(1) === 0) await turn();
    for (let look = 0; look < 2; look++) clock.look();
    expect(await first).toMatchObject({
      failure: {
        reason: 'program-limit',
        message: 'had not ended after 1000 ms, the longest that a run may take',
      },
      calls: ['turn(x: request.x)'],
    });
    clock.look();
    await turn();
    expect(isOver).toBe(false);
    clock.look();
    expect((await second).failure?.reason).toBe('program-limit');
  });

  it('does not take a thread without work for one that is stuck, nor one that goes on', async () => {
    const clock = new HandClock();
    const path = programOf(
      `
      for (let i = 0; i < 40; i++) await call('turn', { x: request.in('x') }).read('y');
      return { y: request.in('x') };`,
      `console.log('loaded');`,
    );
    let printed = '';
    const driver = await started(path, {
      clock,
      printed: (text) => {
        printed += text;
      },
    });
    while (printed === '') await turn();
    for (let look = 0; look < 50; look++) clock.look();
    const running = driver.run(0, ONE);
    let isOver = false;
    void running.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const before = driver.count;
      while (!isOver && driver.count < before + 2) await turn();
      for (let look = 0; look < 2; look++) clock.look();
    }
    expect((await running).outputs).toEqual({ y: [1, 2] });
    // One that was taken to be stuck would have been replaced.
    expect(printed).toBe('loaded\n');
  });

  /** loopingProgram writes a program that loops where `x` begins with 9, and gives the file that it makes just before. */
  function loopingProgram(): { path: string; hasBegun: () => boolean } {
    const path = programOf(
      `
      if ((await request.read('x')).data[0] === 9) { writeFileSync(mark, ''); for (;;); }
      await call('turn', { x: request.in('x') }).read('y');
      return { y: request.in('x') };`,
      `import { writeFileSync } from 'node:fs'; const mark = new URL('./mark', import.meta.url);`,
    );
    return { path, hasBegun: () => existsSync(join(dirname(path), 'mark')) };
  }

  it('lets the others go on where the one that loops was given up before', async () => {
    const clock = new HandClock();
    const { path, hasBegun } = loopingProgram();
    const driver = await started(path, {
      clock,
      fake: { answers: (_, source) => source.from === 'request' },
    });
    const waiting = driver.run(0, ONE);
    while (driver.waits(0) < 2) await turn();
    void driver.run(1, { x: numbers(9, 0) });
    while (!hasBegun()) await turn();
    driver.leave(1);
    for (let look = 0; look < 5; look++) clock.look();
    driver.host?.give(0, { from: 'task', task: 0, output: 'y' }, ONE.x);
    expect((await waiting).outputs).toEqual({ y: [1, 2] });
  });

  it('waits for the whole time that a continuation may take, and no longer', async () => {
    const clock = new HandClock();
    const { path, hasBegun } = loopingProgram();
    const driver = await started(path, { clock });
    let isOver = false;
    const running = driver.run(0, { x: numbers(9, 0) }).finally(() => {
      isOver = true;
    });
    while (!hasBegun()) await turn();
    for (let look = 0; look < 4; look++) clock.look();
    await turn();
    expect(isOver).toBe(false);
    clock.look();
    await turn();
    expect(isOver).toBe(true);
    expect((await running).failure?.reason).toBe('program-stuck');
  });
});
