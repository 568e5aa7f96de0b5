import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { refuteAll } from '../../../bench/refute/refute-all.js';
import { cases, describeInWholeRun, inWholeRunOnly } from '../../cases.js';

const PROGRAM = createRequire(import.meta.url).resolve('#dist/bench/refute/run.js');
const MOST_MS = 3_600_000;

const files = await readdir(new URL('../../../bench/refute/subjects', import.meta.url));
const subjects = files.map((file) => basename(file, '.ts')).sort();

describeInWholeRun('nothing is refuted that the program claims of', () => {
  it.each(subjects)(
    '%s',
    async (subject) => {
      const count = cases(3, 500);
      const args = [PROGRAM, subject, '--seed', '2', '--cases', String(count)];
      const { stdout } = await promisify(execFile)(process.execPath, args).catch((error) => error);
      expect(stdout).toMatch(new RegExp(`^${subject}: ${count} cases, 0 refutations in 0 of them$`, 'm'));
    },
    MOST_MS,
  );
});

/** These were refuted once, by what stands behind them; the numbers are seeds and cases. */
const ONCE_REFUTED = [
  [
    'gear-plans',
    33,
    31,
    'a number of devices was told that has a plan, and none for the objective of the spec',
  ],
] as const;

it.each(inWholeRunOnly(ONCE_REFUTED))(
  '%s of seed %i, case %i, once refuted, is not any more: %s',
  async (subject, seed, only) => {
    const args = [PROGRAM, subject, '--seed', String(seed), '--only', String(only)];
    const { stdout } = await promisify(execFile)(process.execPath, args).catch((error) => error);
    expect(stdout).toContain(`${subject}: 1 cases, 0 refutations in 0 of them`);
  },
  MOST_MS,
);

describe('refuteAll()', () => {
  it('reports each false claim with its case, and takes an error for one', async () => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const root = await mkdtemp(join(tmpdir(), 'inferplan-refute-'));
    folders.push(root);
    const run = { subject: 'made', seed: 7, seconds: 60, cases: 3, only: undefined, keep: undefined };
    const tally = await refuteAll(run, { root, heart: new Int32Array(1) }, async (dice) => {
      // Equal dice draw the same again, and other cases have other dice.
      drawn.push(dice.again().below(1e6));
      if (drawn.length === 3) throw new Error('oops');
      const refutations = [{ claim: 'a + b = 3', found: 'it is 4' }];
      return {
        what: `case of ${drawn.length}`,
        outcome: 'told',
        refutations: drawn.length === 2 ? refutations : [],
      };
    });
    const told = write.mock.calls.join('');
    write.mockRestore();
    expect(tally).toMatchObject({ done: 3, broken: 2, faults: 2 });
    expect(told).toContain('case 1 REFUTED (case of 2)\n  a + b = 3: it is 4\n');
    expect(told).toContain('case 2 REFUTED (an error)\n  every case is answered: it threw Error: oops');
    expect(told).toContain('made: 3 cases, 2 refutations in 2 of them\n');
    expect(new Set(drawn).size).toBe(3);
  });

  const drawn: number[] = [];
  const folders: string[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });
});
