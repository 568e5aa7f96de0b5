/**
 * This program tests one room by mutation: it puts small faults into the room's sources, one at a time, and the room's
 * tests should notice each. Run it as `npm run mutants -- <room>`; `docs/mutants.md` explains its output.
 */
import { fileURLToPath } from 'node:url';
import type { LogLevel, PartialStrykerOptions } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { type Asked, askedFor } from './mutants/arguments.js';
import { ROOMS, type Room } from './mutants/rooms.js';
import { summaryOf } from './mutants/summary.js';
import { survivorsOf } from './mutants/survivors.js';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

function optionsOf(asked: Asked, room: Room): PartialStrykerOptions {
  return {
    mutate: [...(asked.files.length > 0 ? asked.files : room.sources)],
    testFiles: [...room.tests],
    testRunner: 'vitest',
    vitest: { configFile: 'vitest.mutants.config.ts', related: false },
    plugins: [
      import.meta.resolve('@stryker-mutator/vitest-runner'),
      new URL('./mutants/choose.js', import.meta.url).href,
    ],
    checkers: ['choose'],
    choose: { seed: asked.seed, ...(asked.sample !== undefined && { sample: asked.sample }) },
    coverageAnalysis: 'perTest',
    // A mutant of a constant needs every test file loaded again; such mutants are few and cost more than all others
    // together.
    ignoreStatic: true,
    // Other work on the machine makes tests slow, and a mutant that is wrongly taken for endless would count as
    // noticed.
    timeoutMS: 20_000,
    dryRunTimeoutMinutes: 20,
    timeoutFactor: 3,
    concurrency: asked.concurrency,
    disableTypeChecks: false,
    tempDirName: '.mutants',
    cleanTempDir: 'always',
    ignorePatterns: ['/docs', '/.mutants', ...(room.built === true ? [] : ['/dist', '/examples'])],
    reporters: process.stdout.isTTY ? ['progress'] : ['progress-append-only'],
    logLevel: 'warn' as LogLevel,
  };
}

async function main(argv: readonly string[]): Promise<void> {
  const asked = askedFor(argv);
  process.chdir(PROJECT);
  const began = performance.now();
  const results = await new Stryker(optionsOf(asked, ROOMS[asked.room] as Room)).runMutationTest();
  const seconds = (performance.now() - began) / 1000;
  console.log(['', ...survivorsOf(results), '', summaryOf(asked.room, results, seconds)].join('\n'));
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 2;
}
