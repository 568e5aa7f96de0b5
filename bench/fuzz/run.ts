/**
 * This program tries made-up hostile input of one kind on the program and checks the rules that hold for any input:
 *
 *     node dist/bench/fuzz/run.js onnx|artifacts|pipelines|bundle|traces|runs|http [--seed 1] [--seconds 10 | --cases n | --only case]
 *         [--keep folder]
 *
 * The seed and a case's number make the case again: `--seed 7 --only 123` tries it alone, and `--keep` keeps the input
 * of failed cases. CONTRIBUTING.md lists the rules.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { seededRun } from '../seeded/arguments.js';
import { type CaseResult, everyCase, inWatchedFolder, type TryCase } from '../seeded/every-case.js';
import { writeMaterial } from './material.js';
import { artifacts } from './subjects/artifacts.js';
import { bundles } from './subjects/bundle.js';
import { http } from './subjects/http.js';
import { onnx } from './subjects/onnx.js';
import { pipelines } from './subjects/pipelines.js';
import { runs } from './subjects/runs.js';
import { traces } from './subjects/traces.js';
import { workflows } from './subjects/workflows.js';

const SUBJECTS = { onnx, artifacts, pipelines, bundle: bundles, traces, runs, workflows, http } as const;

async function main(): Promise<void> {
  const run = seededRun('dist/bench/fuzz/run.js', Object.keys(SUBJECTS) as (keyof typeof SUBJECTS)[]);
  process.env.NO_COLOR = '1';
  await inWatchedFolder({ ...run, hangsAfterS: 60 }, async (root, heart) => {
    const material = await writeMaterial(join(root, 'material'));
    const subject = await SUBJECTS[run.subject](material);
    try {
      const bench = { root, heart, broke: 'FAILS' };
      const { done, broken } = await everyCase(run, bench, leavingNothing(subject.run));
      process.stdout.write(`${done - broken} cases held, ${broken} failed\n`);
      if (broken > 0) process.exitCode = 1;
    } finally {
      await subject.close();
    }
  });
}

/** leavingNothing tries a case again where only its cost was too large, and finds the files that it left behind. */
function leavingNothing(tryCase: TryCase): TryCase {
  return async (dice, folder) => {
    const first = await tryCase(dice, folder);
    // The first run includes what is compiled once, and garbage of earlier cases. A second run shows the cost of the case
    // itself.
    const costsOnly = first.faults.length > 0 && first.faults.every((fault) => fault.startsWith('took '));
    const result = costsOnly ? await tryCase(dice.again(), emptied(folder)) : first;
    return { ...result, faults: [...result.faults, ...leftBehind()] };
  };
}

function leftBehind(): CaseResult['faults'] {
  const temporary = process.env.TMPDIR as string;
  const left = readdirSync(temporary).map((file) => `left ${file} in the temporary folder`);
  if (left.length > 0) emptied(temporary);
  return left;
}

function emptied(folder: string): string {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  return folder;
}

await main();
