import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { editsOf } from '../../../bench/edits/edits.js';
import { Judge } from '../../../bench/edits/judge.js';
import { PLAN_NAMES, writePlan } from '../../../bench/edits/written-plans.js';
import { cases, whole } from '../../cases.js';

/** Plans with the most fields; edits of the other kinds are refused in `test/specs` and `test/plans`. */
const FEW = PLAN_NAMES.filter((name) => /applications$|tuner$/.test(name));

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'inferplan-edits-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe('editsOf()', () => {
  it('edits every leaf, list and object, each time in one place', () => {
    const document = { a: 2.5, b: [{ name: 'x' }, { name: 'y' }], c: { d: true } };
    const edits = editsOf(document).map(({ path, what, edited }) => [
      path,
      what,
      JSON.stringify(edited(document)),
    ]);
    expect(edits).toContainEqual(['/a', 'made 25', JSON.stringify({ ...document, a: 25 })]);
    expect(edits).toContainEqual(['/a', 'dropped', JSON.stringify({ b: document.b, c: document.c })]);
    expect(edits).toContainEqual([
      '/b/0/name',
      'made "y"',
      JSON.stringify({ ...document, b: [{ name: 'y' }, { name: 'y' }] }),
    ]);
    expect(edits).toContainEqual([
      '/b',
      'with two entries swapped',
      JSON.stringify({ ...document, b: document.b.toReversed() }),
    ]);
    expect(edits).toContainEqual(['/c/d', 'flipped', JSON.stringify({ ...document, c: { d: false } })]);
    expect(new Set(edits.map(([, , text]) => text)).size).toBe(edits.length);
    expect(document).toEqual({ a: 2.5, b: [{ name: 'x' }, { name: 'y' }], c: { d: true } });
  });
});

describe('no edited plan runs as if nobody had edited it, beside what it was made from and away from it', () => {
  it.each(whole(FEW, PLAN_NAMES))('%s', async (name) => {
    const judge = await Judge.of(await writePlan(name, root));
    const all = editsOf(judge.document());
    const every = cases(Math.ceil(all.length / whole(2, 8)), 3);
    const first = whole(Math.floor(every / 2), 5 % every);
    const wrong: string[] = [];
    for (const edit of all.filter((_, i) => i % every === first)) {
      const { away, lacking, opened, beside, faults } = await judge.judged(edit);
      if ([away, lacking, opened, beside].includes('unnoticed') || faults.length > 0)
        wrong.push(
          `${edit.path} ${edit.what}: ${away} away, ${lacking} without one, ${opened} opened, ${beside} beside ${faults}`,
        );
    }
    expect(wrong).toEqual([]);
  });
});
