/**
 * This program makes up specs, clusters, loads and models of one kind, has the program answer each, and tries to make
 * false what the answer claims:
 *
 *     node dist/bench/refute/run.js <subject> [--seed 1] [--seconds 10 | --cases n | --only case] [--keep folder]
 *
 * The subjects are the files of bench/refute/subjects. The seed and a case's number make the case again: `--seed 7
 * --only 123` tries it alone, and `--keep` keeps the files of refuted cases. It ends with 1 where anything was refuted.
 */
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { seededRun } from '../seeded/arguments.js';
import { inWatchedFolder } from '../seeded/every-case.js';
import { refuteAll } from './refute-all.js';
import type { Refuter } from './refuter.js';

const SUBJECTS = new URL('subjects/', import.meta.url);

async function main(): Promise<void> {
  const subjects = readdirSync(SUBJECTS)
    .filter((file) => file.endsWith('.js'))
    .map((file) => basename(file, '.js'));
  const run = seededRun('dist/bench/refute/run.js', subjects);
  process.env.NO_COLOR = '1';
  const { refuter } = (await import(new URL(`${run.subject}.js`, SUBJECTS).href)) as { refuter: Refuter };
  await inWatchedFolder({ ...run, hangsAfterS: 600 }, async (root, heart) => {
    const { faults } = await refuteAll(run, { root, heart }, refuter);
    if (faults > 0) process.exitCode = 1;
  });
}

await main();
