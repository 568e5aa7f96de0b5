/**
 * This check inserts an empty kind of plan, a kind of spec, a drop rule, a queue order and a deploy target into the types,
 * and lists the files that no longer compile: those that a real addition edits. The list stands in CONTRIBUTING.md, and has
 * to be the one that is found. It also finds every place that tells kinds apart by their names, where an addition would fall
 * through: those that are left are listed with their reasons.
 *
 *     node dist/scripts/check-additions.js            # fails where a list is not the one that is found
 *     node dist/scripts/check-additions.js --write    # writes the table of CONTRIBUTING.md
 *     node dist/scripts/check-additions.js --errors   # prints the first error of each file
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ADDITIONS, type Addition, withInsertion } from './additions/additions.js';
import { FAMILIES, MOST_TOLD_APART, TOLD_APART } from './additions/families.js';
import { type Compiled, compiled, faultyFiles, textOf } from './additions/program.js';
import { tableText, withTable } from './additions/table.js';
import { type Place, toldApart } from './additions/told-apart.js';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = join(PROJECT, 'CONTRIBUTING.md');

function touchedBy({ insertions }: Addition, before: Compiled): ReadonlyMap<string, string> {
  const overlay = new Map<string, string>();
  for (const insertion of insertions) {
    const text = overlay.get(insertion.file) ?? textOf(PROJECT, insertion.file);
    overlay.set(insertion.file, withInsertion(text, insertion));
  }
  return faultyFiles(compiled(PROJECT, overlay, before));
}

/** toldApartFaults compares the places that tell kinds apart with the list of those that have a reason. */
function toldApartFaults(places: readonly Place[]): string[] {
  const files = new Set([...places.map(({ file }) => file), ...Object.keys(TOLD_APART)]);
  const faults = [...files].flatMap((file) => {
    const own = places.filter((place) => place.file === file);
    const listed = TOLD_APART[file]?.times ?? 0;
    if (own.length === listed) return [];
    const told = own.map(({ line, text }) => `\n  ${file}:${line} ${text}`).join('');
    return [`${file} tells kinds apart ${own.length} times, and ${listed} are listed with a reason${told}`];
  });
  if (places.length > MOST_TOLD_APART)
    faults.push(`${places.length} places tell kinds apart by their names; at most ${MOST_TOLD_APART} may`);
  return faults;
}

const before = compiled(PROJECT);
const faults = toldApartFaults(toldApart(before, FAMILIES));
const touched = new Map(ADDITIONS.map((addition) => [addition.name, touchedBy(addition, before)]));
for (const [name, files] of touched) {
  if (files.size === 0)
    faults.push(`${name} compiles everywhere, so that nothing says what has to be edited`);
  if (process.argv.includes('--errors'))
    for (const [file, error] of files) console.log(`${name}: ${file}:${error}`);
}
const page = readFileSync(PAGE, 'utf8');
const table = tableText(new Map([...touched].map(([name, files]) => [name, [...files.keys()].sort()])));
const wanted = withTable(page, table);
if (process.argv.includes('--write')) writeFileSync(PAGE, wanted);
else if (wanted !== page)
  faults.push(
    `The table of additions in CONTRIBUTING.md should be:\n${table}\nnode dist/scripts/check-additions.js --write writes it`,
  );
for (const fault of faults) console.error(fault);
if (faults.length === 0) console.log('every addition is heard of by the compiler');
process.exitCode = faults.length === 0 ? 0 : 1;
