import { describe, expect, it, vi } from 'vitest';
import { CoreTurns, type TurnsClock } from '../../../src/runtime/live/core-turns.js';
import { Decision, Decisions } from '../../../src/serving/index.js';

/** A clock that is set by hand, with the calls that were asked for and not taken back. */
class HandClock implements TurnsClock {
  now = 500;
  readonly asked: { readonly ns: number; readonly act: () => void }[] = [];

  nowNs(): number {
    return this.now;
  }

  after(ns: number, act: () => void): () => void {
    const one = { ns, act };
    this.asked.push(one);
    return () => {
      const place = this.asked.indexOf(one);
      if (place !== -1) this.asked.splice(place, 1);
    };
  }

  /** fire calls what is asked for next, at a time. */
  fire(at: number): void {
    this.now = at;
    this.asked.shift()!.act();
  }
}

/** turnsOn makes turns on a clock, of a core that writes what it hears, and decides what `decides` pushes. */
function turnsOn(clock: TurnsClock | undefined, decides: (decisions: Decisions) => void = () => {}) {
  const heard: string[] = [];
  const decisions = new Decisions();
  let repeats = 0;
  const turns = new CoreTurns({
    core: {
      decide: (at) => {
        heard.push(`decide ${at}`);
        decides(decisions);
      },
      due: (at) => heard.push(`due ${at}`),
    },
    decisions,
    clock,
    carryOut: (i) => heard.push(`carry out ${decisions.a(i)}`),
    tellWhatFollowed: () => repeats-- > 0,
    decided: () => heard.push('decided'),
  });
  const again = (times: number) => {
    repeats = times;
  };
  return { turns, heard, again };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('CoreTurns', () => {
  it('counts time from when it was made, and gives times of the clock by that', () => {
    const clock = new HandClock();
    const { turns } = turnsOn(clock);
    clock.now = 700;
    expect([turns.now(), turns.at(650)]).toEqual([200, 150]);
  });

  it('lets the core decide once a turn, however often it is asked, and at once only once', async () => {
    const { turns, heard } = turnsOn(new HandClock());
    turns.decideSoon();
    turns.decideSoon();
    expect(heard).toEqual([]);
    await turn();
    expect(heard).toEqual(['decide 0', 'decided']);
    turns.decideSoon();
    turns.decideNow();
    await turn();
    expect(heard).toEqual(['decide 0', 'decided', 'decide 0', 'decided']);
    expect(turns.decideCalls).toBe(2);
    expect(turns.decideUs).toBeGreaterThan(0);
  });

  it('carries all decisions out once, and lets the core decide again where something followed', () => {
    let left = 2;
    const { turns, heard, again } = turnsOn(new HandClock(), (decisions) => {
      for (; left > 0; left--) decisions.push(Decision.transfer, left);
    });
    again(1);
    turns.decideNow();
    expect(heard).toEqual(['decide 0', 'carry out 2', 'carry out 1', 'decide 0', 'decided']);
  });

  it('wakes the core when the time has come, though timers fire early, and only for what was asked last', async () => {
    const clock = new HandClock();
    const { turns, heard } = turnsOn(clock);
    turns.wakeAt(10);
    turns.wakeAt(100);
    expect(clock.asked.map(({ ns }) => ns)).toEqual([100]);
    clock.fire(599);
    await turn();
    expect(heard).toEqual([]);
    expect(clock.asked.map(({ ns }) => ns)).toEqual([1]);
    clock.fire(600);
    await turn();
    expect(heard).toEqual(['due 100', 'decide 100', 'decided']);
    expect(clock.asked).toEqual([]);
    clock.now = 900;
    turns.wakeAt(150);
    expect(clock.asked.map(({ ns }) => ns)).toEqual([0]);
  });

  it('wakes the core no more once it is stopped', () => {
    const clock = new HandClock();
    const { turns } = turnsOn(clock);
    turns.wakeAt(10);
    turns.stop();
    turns.wakeAt(20);
    expect(clock.asked).toEqual([]);
  });

  it('wakes by the time of the machine, with timers that Node can hold', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    try {
      const { turns, heard } = turnsOn(undefined);
      turns.wakeAt(1e18);
      expect(timers.mock.lastCall![1]).toBe(2 ** 31 - 1);
      const at = turns.now() + 1_500_000;
      turns.wakeAt(at);
      expect(timers.mock.lastCall![1]).toBeLessThanOrEqual(2);
      await vi.waitFor(() => expect(heard).toHaveLength(3));
      expect(Number(heard[0]!.split(' ')[1])).toBeGreaterThanOrEqual(at);
      turns.stop();
    } finally {
      timers.mockRestore();
    }
  });
});
