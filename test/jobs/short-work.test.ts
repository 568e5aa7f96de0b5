import { expect, it } from 'vitest';
import { doneShortly } from '../../src/jobs/index.js';
import { inWholeRun } from '../cases.js';

it('gives the answer of a job that is not cut short', async () => {
  expect(await doneShortly((interrupted) => (interrupted() ? 'a part' : 'all'))).toBe('all');
});

inWholeRun('gives no answer of a job that was cut short, since what it has then is not whole', async () => {
  const answer = await doneShortly((interrupted) => {
    while (!interrupted());
    return 'a part';
  });
  expect(answer).toBeUndefined();
});

it('goes on to say that a job is cut short once it has said so', async () => {
  const said: boolean[] = [];
  await doneShortly((interrupted) => {
    while (!interrupted());
    said.push(interrupted(), interrupted());
  });
  expect(said).toEqual([true, true]);
});

it('begins no job after an abort', async () => {
  const signal = AbortSignal.abort();
  const begun: string[] = [];
  expect(await doneShortly(() => begun.push('begun'), { signal })).toBeUndefined();
  expect(begun).toEqual([]);
});

it('passes on what a job throws', async () => {
  const broken = (): never => {
    throw new Error('broken');
  };
  await expect(doneShortly(broken)).rejects.toThrow('broken');
});
