import { describe, expect, it } from 'vitest';
import { countedCalls } from '../../src/dyorc/frequencies.js';
import { mostInputBytes } from '../../src/dyorc/input-bytes.js';
import { meanRows, trainingRuns } from '../../src/dyorc/training.js';
import type { Run, RunTask } from '../../src/formats/index.js';
import { CHAT, chatSpec, resolvedSpec } from './made-specs.js';

const task = (component: string, inputs: RunTask['inputs'], more: Partial<RunTask> = {}): RunTask => ({
  component,
  inputs,
  after: [],
  outputBytes: 100,
  rows: 1,
  ...more,
});

const run = (tasks: RunTask[]): Run => ({
  kind: 'run',
  version: '1.0',
  application: 'chat',
  requestBytes: 1000,
  tasks,
});

describe('countedCalls()', () => {
  it('counts what followed the last two calls, where inputs came from, and ends', () => {
    const runs = [
      run([task('a', ['request']), task('b', [0], { rows: 3, outputBytes: 50 }), task('a', [0, 'request'])]),
      run([task('a', ['request'], { outputBytes: 300 }), task('b', [0])]),
    ];
    expect(countedCalls(runs, ['a', 'b'])).toEqual([
      { after: [], component: 'a', inputs: [0], rows: 1, count: 2, outputBytes: 200 },
      { after: ['a'], component: 'b', inputs: [1], rows: 2, count: 2, outputBytes: 75 },
      { after: ['a', 'b'], component: 'a', inputs: [2, 0], rows: 1, count: 1, outputBytes: 100 },
      { after: ['a', 'b'], count: 1 },
      { after: ['b', 'a'], count: 1 },
    ]);
  });
});

describe('meanRows()', () => {
  it('is exact of a chain, and the mean of recorded runs', () => {
    expect([...meanRows({ name: 'chat', chain: CHAT })]).toEqual([
      ['vision', 0.5],
      ['language', 1],
      ['image', 0.3],
    ]);
    const runs = [run([task('a', []), task('b', [], { rows: 3 })]), run([task('a', [])])];
    expect([...meanRows({ name: 'chat', runs })]).toEqual([
      ['a', 1],
      ['b', 1.5],
    ]);
  });
});

describe('trainingRuns()', () => {
  it('draws the same requests of a chain always, and takes recorded ones as they are', () => {
    const drawn = trainingRuns({ name: 'chat', chain: CHAT });
    expect(drawn).toHaveLength(1000);
    expect(trainingRuns({ name: 'chat', chain: CHAT })).toEqual(drawn);
    const runs = [run([task('a', [])])];
    expect(trainingRuns({ name: 'chat', runs })).toBe(runs);
  });
});

describe('mostInputBytes()', () => {
  it('is the most that a task takes, an output that it takes twice once, and as much for each row of a full batch', () => {
    const { components } = resolvedSpec(chatSpec());
    const runs = [
      run([
        task('vision', ['request']),
        task('language', [0, 0, 'request'], { rows: 2 }),
        task('language', [0]),
      ]),
    ];
    const { taskInputBytes, batchInputBytes } = mostInputBytes(runs, components);
    expect(taskInputBytes).toEqual([1000, 1100, 0]);
    expect(batchInputBytes).toEqual([8000, 4400, 0]);
  });
});
