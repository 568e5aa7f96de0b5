import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchArguments, benchNumber } from '../arguments.js';
import { type Edit, editsOf } from './edits.js';
import { Judge, OUTCOMES, type Outcome } from './judge.js';
import { PLAN_NAMES, writePlan } from './written-plans.js';

/**
 * This program edits every leaf of plans of every kind, beside what they were made from and away from it, and counts what
 * becomes of them. It ends with 1 where an edited plan runs as if nobody had edited it.
 */
const USAGE = 'node dist/bench/edits/run.js [--every 1] [--from 0] [--only <part of a plan name>] [--list]';
const { values } = benchArguments(USAGE, {
  every: { type: 'string', default: '1' },
  from: { type: 'string', default: '0' },
  only: { type: 'string', default: '' },
  list: { type: 'boolean', default: false },
});
const every = benchNumber(USAGE, '--every', values.every);
const from = benchNumber(USAGE, '--from', values.from);

type Counts = Record<'away' | 'lacking' | 'opened' | 'beside', Record<Outcome, number>>;

const root = mkdtempSync(join(tmpdir(), 'inferplan-edits-'));
let wrong = 0;
try {
  for (const name of PLAN_NAMES.filter((one) => one.includes(values.only))) {
    const judge = await Judge.of(await writePlan(name, root));
    const edits = editsOf(judge.document()).filter((_, i) => i % every === from % every);
    const counts: Counts = { away: none(), lacking: none(), opened: none(), beside: none() };
    for (const edit of edits) {
      const { away, lacking, opened, beside, faults } = await judge.judged(edit);
      counts.away[away]++;
      counts.lacking[lacking]++;
      counts.opened[opened]++;
      counts.beside[beside]++;
      if (opened === 'unnoticed') tell(name, edit, 'opened: unnoticed');
      if (away === 'unnoticed') tell(name, edit, 'away: unnoticed');
      if (lacking === 'unnoticed') tell(name, edit, 'lacking: unnoticed');
      if (beside === 'unnoticed') tell(name, edit, 'beside: unnoticed');
      if (values.list && away === 'unchecked') tell(name, edit, 'away: unchecked');
      if (values.list && beside !== 'refused' && beside !== 'unnoticed')
        tell(name, edit, `beside: ${beside}`);
      for (const fault of faults) tell(name, edit, fault);
      const unnoticed = [away, lacking, opened, beside].filter((one) => one === 'unnoticed').length;
      wrong += unnoticed + faults.length;
    }
    for (const [where, of] of Object.entries(counts))
      console.log(
        `${name}, ${where}: ${edits.length} edits, ${OUTCOMES.map((one) => `${of[one]} ${one}`).join(', ')}`,
      );
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
process.exit(wrong > 0 ? 1 : 0);

function none(): Record<Outcome, number> {
  return { refused: 0, unchecked: 0, 'no effect': 0, unnoticed: 0 };
}

function tell(name: string, { path, what }: Edit, outcome: string): void {
  console.log(`  ${name}: ${path} ${what}: ${outcome}`);
}
