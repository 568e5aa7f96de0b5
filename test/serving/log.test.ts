import { describe, expect, it } from 'vitest';
import type { ServingCore } from '../../src/serving/core.js';
import { Decision, Decisions } from '../../src/serving/decisions.js';
import { type LogEntry, recorded, replay } from '../../src/serving/log.js';

/**
 * A core that answers each arrival as it is told to: with an execution of a batch of three tasks, or with a drop. It
 * decides nothing on other events.
 */
class Answering implements ServingCore {
  readonly heard: unknown[][] = [];

  constructor(
    private readonly decisions: Decisions,
    private readonly says: readonly (readonly [kind: Decision, a: number, b: number, c: number, d: number])[],
  ) {}

  arrived(...numbers: number[]): number {
    this.heard.push(['arrived', ...numbers]);
    for (const [kind, a, b, c, d] of this.says) this.decisions.push(kind, a, b, c, d);
    return 41;
  }

  readonly pending = 5;
  wouldDrop = () => true;
  taskOf = (request: number, row: number) => 100 * request + row;
  batchSize = () => 3;
  batchTask = (batch: number, i: number) => 10 * batch + i;
  batchPool = () => 0;
  batchDevice = () => 0;
  batchEdge = () => 0;
  requestOf = () => 0;
  rowOf = () => 0;
  turnedAway = (...numbers: number[]) => this.note('turnedAway', numbers, 42);
  cancelled = (...numbers: number[]) => this.note('cancelled', numbers, 1) === 1;
  started = (...numbers: number[]) => void this.note('started', numbers, 0);
  executed = (...numbers: [number, number, number, number, ...unknown[]]) =>
    void this.note('executed', numbers.flat() as number[], 0);
  failed = (...numbers: number[]) => void this.note('failed', numbers, 0);
  transferred = (...numbers: number[]) => void this.note('transferred', numbers, 0);
  due = (...numbers: number[]) => void this.note('due', numbers, 0);
  deviceUp = (...numbers: number[]) => void this.note('deviceUp', numbers, 0);
  deviceDown = (...numbers: number[]) => void this.note('deviceDown', numbers, 0);
  drain = (...numbers: number[]) => void this.note('drain', numbers, 0);
  decide = (...numbers: number[]) => void this.note('decide', numbers, 0);

  private note(word: string, numbers: number[], answer: number): number {
    this.heard.push([word, ...numbers]);
    return answer;
  }
}

const DROP = [Decision.drop, 6, 2, -1, 0] as const;
const EXECUTE = [Decision.execute, 7, 8, 0, 0] as const;
const TRANSFER = [Decision.transfer, 7, 8, 9, 4] as const;

/** The entries of a log for an arrival that is answered in this way. */
const SAID: LogEntry[] = [
  ['arrived', 1, 2, 3, 4],
  ['said', Decision.drop, 6, 2, -1, 0],
  ['said', Decision.execute, 7, 8, 0, 0, 70, 71, 72],
  ['said', Decision.transfer, 7, 8, 9, 4, 70, 71, 72],
];

describe('recorded()', () => {
  it("logs every event and every decision, batches with their tasks, and passes on the core's answers", () => {
    const decisions = new Decisions();
    const log: LogEntry[] = [];
    const bare = new Answering(decisions, [DROP, EXECUTE, TRANSFER]);
    const core = recorded(bare, decisions, (entry) => log.push(entry));
    decisions.push(Decision.answer, 1);
    expect(core.arrived(1, 2, 3, 4)).toBe(41);
    expect(log).toEqual(SAID);
    expect([core.turnedAway(1, 2), core.cancelled(1, 2)]).toEqual([42, true]);
    core.started(1, 2);
    core.executed(1, 2, 3, 4);
    core.failed(1, 2);
    core.transferred(1, 2, 3, 4);
    core.due(1);
    core.deviceUp(1, 2);
    core.deviceDown(1, 2);
    core.drain(1);
    core.decide(1);
    expect(log.slice(SAID.length)).toEqual(bare.heard.slice(1));
    expect(bare.heard.length).toBe(12);
  });

  it('logs the weight of a request where it is not 1, and passes it on', () => {
    const decisions = new Decisions();
    const log: LogEntry[] = [];
    const bare = new Answering(decisions, []);
    const core = recorded<ServingCore>(bare, decisions, (entry) => log.push(entry));
    core.arrived(1, 2, 3, 4, 1);
    core.arrived(1, 2, 3, 4, undefined);
    core.arrived(1, 2, 3, 4, 0.5);
    expect(log).toEqual([
      ['arrived', 1, 2, 3, 4],
      ['arrived', 1, 2, 3, 4],
      ['arrived', 1, 2, 3, 4, 0.5],
    ]);
    expect(bare.heard.map((told) => told[5])).toEqual([1, undefined, 0.5]);
    const again = new Answering(decisions, []);
    replay(log, () => again);
    expect(again.heard.map((told) => told[5])).toEqual([undefined, undefined, 0.5]);
  });

  it('logs no mere question, and passes it on', () => {
    const decisions = new Decisions();
    const log: LogEntry[] = [];
    const core = recorded<ServingCore>(new Answering(decisions, []), decisions, (entry) => log.push(entry));
    expect([core.pending, core.taskOf(2, 3), core.batchSize(7), core.batchTask(7, 1)]).toEqual([
      5, 203, 3, 71,
    ]);
    expect(core.wouldDrop(0, 0, 0, 0)).toBe(true);
    expect(log).toEqual([]);
  });
});

describe('replay()', () => {
  const makeCore = (decisions: Decisions) => new Answering(decisions, [DROP, EXECUTE, TRANSFER]);
  const DECIDE: LogEntry = ['decide', 1];

  it('counts the decisions of a log that a core makes again', () => {
    expect(replay([...SAID, DECIDE, ...SAID, DECIDE], makeCore)).toEqual({ same: true, entries: 10 });
    expect(replay([], makeCore)).toEqual({ same: true, entries: 0 });
  });

  it('reports where a core decides something else', () => {
    const logged: LogEntry = ['said', Decision.execute, 7, 8, 0, 0, 70, 71, 73];
    expect(replay([...SAID, ...SAID.slice(0, 2), logged], makeCore)).toEqual({
      same: false,
      at: 6,
      logged,
      said: SAID[2],
    });
  });

  it('reports where a core decides more, before the next event or at the end', () => {
    expect(replay([...SAID.slice(0, 3), DECIDE], makeCore)).toEqual({
      same: false,
      at: 3,
      logged: DECIDE,
      said: SAID[3],
    });
    expect(replay([...SAID, ...SAID.slice(0, 2)], makeCore)).toEqual({
      same: false,
      at: 6,
      logged: undefined,
      said: SAID[2],
    });
  });

  it('reports where a core decides less', () => {
    const logged: LogEntry = ['said', Decision.wakeAt, 5, 0, 0, 0];
    expect(replay([...SAID, logged], makeCore)).toEqual({ same: false, at: 4, logged, said: undefined });
  });

  it('clears the decisions of an instant when the core decides, not before', () => {
    const counts: number[] = [];
    const counting = (decisions: Decisions) => {
      const core = makeCore(decisions);
      core.due = () => void counts.push(decisions.count);
      return core;
    };
    const due: LogEntry = ['due', 1];
    expect(replay([...SAID, due, DECIDE, due], counting)).toMatchObject({ same: true });
    expect(counts).toEqual([3, 0]);
  });

  it('refuses an event that no core knows', () => {
    expect(() => replay([['wouldDrop', 1, 2, 3, 4]], makeCore)).toThrow('wouldDrop is no event of a core');
  });
});
