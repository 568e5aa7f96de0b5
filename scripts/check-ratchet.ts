/**
 * This check keeps functions short, arguments few and exported names distinct. The offenders at the time when the check
 * was made are listed in `scripts/ratchet.json` with their figures, which may only fall.
 *
 *     node dist/scripts/check-ratchet.js            # fails where an offender is new, grew, or was mended
 *     node dist/scripts/check-ratchet.js --lower    # lowers the list to the present figures, and adds nothing
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Offenders, RULES, type Rule } from './ratchet/offenders.js';
import { judged, lowered } from './ratchet/ratchet.js';
import { sourcesIn } from './ratchet/read.js';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const LIST = join(PROJECT, 'scripts/ratchet.json');

type Lists = Record<keyof typeof RULES, Offenders>;

const listed = JSON.parse(readFileSync(LIST, 'utf8')) as Lists;
const sources = sourcesIn(PROJECT, ['src', 'bench', 'examples', 'scripts']);
const rules = (Object.entries(RULES) as [keyof Lists, Rule][]).map(([name, rule]) => {
  const found = rule.offenders(sources);
  return { name, found, ...judged(found, listed[name], rule.told) };
});

if (process.argv.includes('--lower')) {
  const lists = rules.map(({ name, found }) => [name, lowered(found, listed[name])]);
  writeFileSync(LIST, `${JSON.stringify(Object.fromEntries(lists), undefined, 2)}\n`);
  console.log('scripts/ratchet.json is lowered');
} else {
  const faults = rules.flatMap((rule) => rule.faults);
  const fallen = rules.flatMap((rule) => rule.fallen);
  for (const fault of faults) console.error(fault);
  for (const name of fallen) console.log(`${name} is better than its figure in the list`);
  if (faults.length + fallen.length > 0)
    console.log('node dist/scripts/check-ratchet.js --lower lowers scripts/ratchet.json');
  if (faults.length > 0)
    console.error(
      'Where something grew: make it shorter, or hand several arguments in as an object. The list only gets shorter.',
    );
  if (faults.length === 0) console.log('nothing grew beyond its limit');
  process.exitCode = faults.length === 0 ? 0 : 1;
}
