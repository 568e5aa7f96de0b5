import { describe, expect, it } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import type { Run } from '../../src/formats/index.js';
import { type ProgramClock, type RecordedProgramCall, recordedRun } from '../../src/programs/index.js';
import { numbers } from './fake-driver.js';
import { ONE, programOf, started, turn } from './started.js';
import { wanderingProgram } from './wandering.js';

const SIZES = { application: 'debate', requestBytes: 8, outputBytes: (task: number) => 100 + task };

/** runOf makes a recorded run, which a file may have. */
function runOf(calls: readonly RecordedProgramCall[]): Run | undefined {
  const run = recordedRun(calls, { ...SIZES, reads: new Set(calls.keys()) });
  return run && parseArtifact(JSON.stringify(run), 'run.json', ['run']).value;
}

describe('recordedRun()', () => {
  it('reports what each call takes, and what was read before it, in the words of a run', async () => {
    const driver = await started(
      programOf(`
        const x = request.in('x');
        const first = call('turn', { x });
        const second = call('add', { a: first.out('y'), b: x });
        await first.read('z');
        await first.read('y');
        await request.read('x');
        const third = call('add', { a: second.out('y'), b: second.out('y') });
        await Promise.all([second.read('y'), third.read('y')]);
        return { y: call('turn', { x }).out('y') };`),
    );
    const { recorded } = await driver.run(0, ONE);
    const run = runOf(recorded) as Run;
    for (const task of run.tasks) delete task.thinkMs;
    expect(run).toEqual({
      kind: 'run',
      version: '1.1',
      application: 'debate',
      requestBytes: 8,
      tasks: [
        { component: 'turn', inputs: ['request'], after: [], outputBytes: 100, rows: 1 },
        { component: 'add', inputs: [0, 'request'], after: [], outputBytes: 101, rows: 1 },
        { component: 'add', inputs: [1, 1], after: [0], outputBytes: 102, rows: 1 },
        { component: 'turn', inputs: ['request'], after: [0, 1, 2], outputBytes: 103, rows: 1 },
      ],
    });
  });

  it('reports what was read or returned, where that is not what calls come after and what nothing takes', async () => {
    const driver = await started(
      programOf(`
        const x = request.in('x');
        const first = call('turn', { x });
        const second = call('add', { a: first.out('y'), b: x });
        return { y: first.out('y') };`),
    );
    const { recorded } = await driver.run(0, ONE);
    const readsOf = (reads: readonly number[]) =>
      recordedRun(recorded, { ...SIZES, reads: new Set(reads) })?.reads;
    expect(readsOf([1])).toBeUndefined();
    expect(readsOf([0])).toEqual([0]);
    expect(readsOf([1, 0])).toEqual([0, 1]);
    expect(readsOf([])).toEqual([]);
  });

  it('says by the clock that it is handed how long the program took', async () => {
    let time = 0;
    // The clock moves by what it has been moved to whenever a call is told.
    const clock: ProgramClock = { nowMs: () => time, every: () => () => {} };
    const driver = await started(
      programOf(`
        const handle = call('turn', { x: request.in('x') });
        await handle.read('y');
        call('turn', { x: request.in('x') });
        call('turn', { x: request.in('x') });
        return {};`),
      { clock, fake: { answers: () => false } },
    );
    const running = driver.run(0, ONE);
    time = 2.5;
    while (driver.waits(0) === 0) await turn();
    time = 10;
    driver.host?.give(0, { from: 'task', task: 0, output: 'y' }, numbers(0, 0));
    time = 10.0416;
    const { recorded } = await running;
    expect(runOf(recorded)?.tasks.map(({ thinkMs }) => thinkMs)).toEqual([2.5, 0.042, 0.042]);
    const calls = recorded.map((call) => ({ ...call, thinkMs: 0.0004 }));
    expect(runOf(calls)?.tasks.every((task) => !('thinkMs' in task))).toBe(true);
  });

  it('makes runs that files may have of all that programs do, and none where nothing was called', async () => {
    const driver = await started(wanderingProgram());
    const ended = await Promise.all(
      Array.from({ length: 50 }, (_, run) => driver.run(run, { x: numbers(run % 7, run) })),
    );
    const runs = ended.map(({ recorded }) => runOf(recorded));
    expect(runs.map((run) => run?.tasks.length ?? 0)).toEqual(ended.map(({ calls }) => calls.length));
    expect(new Set(runs.map((run) => run === undefined))).toEqual(new Set([true, false]));
  });
});
