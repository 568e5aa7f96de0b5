import { describe, expect, it } from 'vitest';
import type { Steps } from '../../../src/protocol/index.js';
import { Turns } from '../../../src/runtime/http/turns.js';

const always = () => true;

function* counting(steps: number, told: (step: number) => void = () => {}): Steps<number> {
  for (let step = 1; step < steps; step++) {
    told(step);
    yield;
  }
  told(steps);
  return steps;
}

/** slow takes about a turn for each step. */
function* slow(steps: number, told: (step: number) => void): Steps<number> {
  for (const step of Array.from({ length: steps }, (_, i) => i)) {
    const untilMs = performance.now() + 9;
    while (performance.now() < untilMs);
    told(step);
    yield;
  }
  return steps;
}

describe('Turns', () => {
  it('gives the result of work of one step at once, and later that of longer work', async () => {
    const turns = new Turns();
    expect(turns.run(counting(1), always)).toBe(1);
    const longer = turns.run(counting(3), always);
    expect(longer).toBeInstanceOf(Promise);
    expect(await longer).toBe(3);
  });

  it('lets others have their turns of the event loop between those of long work', async () => {
    const turns = new Turns();
    const seen: string[] = [];
    const work = turns.run(
      slow(4, (step) => seen.push(`step ${step}`)),
      always,
    );
    const tick = () => {
      seen.push('other');
      if (!seen.includes('step 3')) setImmediate(tick);
    };
    setImmediate(tick);
    await work;
    // The first step is done at once, and the second as soon as all that was there already has had its turn.
    for (let step = 2; step < 4; step++) {
      const between = seen.slice(seen.indexOf(`step ${step - 1}`), seen.indexOf(`step ${step}`));
      expect(between).toContain('other');
    }
  });

  it('does one piece of long work a turn, and all of them by turns', async () => {
    const turns = new Turns();
    const seen: string[] = [];
    await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        turns.run(
          slow(3, (step) => seen.push(name + step)),
          always,
        ),
      ),
    );
    expect(seen).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2', 'c2']);
  });

  it('ends work that nobody waits for, and goes on with what comes after work that failed', async () => {
    const turns = new Turns();
    let steps = 0;
    const unwanted = turns.run(
      counting(100, () => steps++),
      () => steps < 1,
    );
    function* failing(): Steps<number> {
      yield;
      throw new Error('it fails');
    }
    const failed = turns.run(failing(), always) as Promise<number>;
    const after = turns.run(counting(5), always);
    expect(await unwanted).toBeUndefined();
    expect(steps).toBe(1);
    await expect(failed).rejects.toThrow('it fails');
    expect(await after).toBe(5);
    expect(await turns.run(counting(2), always)).toBe(2);
  });
});
