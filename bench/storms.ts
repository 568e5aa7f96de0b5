/**
 * This benchmark disturbs the program as machines and crowds do:
 *
 *     node dist/bench/storms.js kills [bundle/] [--model m] [--kills 50] [--load 0.3] [--seed 0] [--json file]
 *     node dist/bench/storms.js crowd [bundle/] [--model m] [--seconds 60] [--seed 0] [--json file]
 *     node dist/bench/storms.js disk [--json file]
 *
 * `kills` ends executors by SIGKILL under load, with each scheduler that serves: every request must get one answer,
 * which is right or 503. `crowd` sends ten times the planned rate after lower rates, and shows the server's memory and
 * its goodput against the best of them. Without a bundle they serve one of small models on devices that hold their
 * results back, so that they can run on a busy machine. `disk` lets every command that writes run out of disk. Each
 * ends with status 1 where a rule did not hold.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUNDLE_MANIFEST } from '../src/formats/index.js';
import { benchArguments, benchNumber } from './arguments.js';
import { writeMaterial } from './fuzz/material.js';
import { inputsAt, saveResult } from './results/result.js';
import { crowd } from './storms/crowd.js';
import { disk } from './storms/disk.js';
import { kills } from './storms/kills.js';
import { isClient, runClient } from './storms/load-client.js';
import type { Storm } from './storms/storm.js';

const USAGE =
  'node dist/bench/storms.js kills|crowd|disk [bundle folder] [--model m] [--kills 50] [--load 0.3] [--seconds 60] [--seed 0] [--json file]';

/**
 * The generated models take well under a millisecond, and the devices hold their results back to some tens of
 * milliseconds.
 */
const MADE = { slowdown: 150, latencyFactor: 3 };

if (isClient()) await runClient();
else await bench();

async function bench(): Promise<void> {
  const { values, positionals } = benchArguments(USAGE, {
    model: { type: 'string' },
    kills: { type: 'string', default: '50' },
    load: { type: 'string', default: '0.3' },
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '0' },
    json: { type: 'string' },
  });
  const [which = '', folder] = positionals;
  const number = (name: 'kills' | 'load' | 'seconds' | 'seed') =>
    benchNumber(USAGE, `--${name}`, values[name]);
  const target = { model: values.model, seed: number('seed') };
  const storms: Record<string, () => Promise<Storm>> = {
    kills: () =>
      withBundle(folder, (bundle) =>
        kills({ folder: bundle, ...target }, { kills: number('kills'), load: number('load') }),
      ),
    crowd: () => withBundle(folder, (bundle) => crowd({ folder: bundle, ...target }, number('seconds'))),
    disk,
  };
  const storm = storms[which];
  if (storm === undefined || (folder !== undefined && which === 'disk')) {
    process.stderr.write(`usage: ${USAGE}\n`);
    process.exitCode = 2;
    return;
  }
  const { table, measures, rows, faults } = await storm();
  const out = values.json === '-' ? process.stderr : process.stdout;
  out.write(table);
  for (const fault of faults) out.write(`DOES NOT HOLD: ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
  const { json, ...options } = values;
  const inputs = folder === undefined ? {} : inputsAt(join(folder, BUNDLE_MANIFEST), 'the bundle');
  saveResult(json, { bench: `storms ${which}`, options, inputs, measures, rows });
}

/** withBundle serves the named bundle, or makes one for the time of the storm. */
async function withBundle(
  folder: string | undefined,
  run: (bundle: string) => Promise<Storm>,
): Promise<Storm> {
  if (folder !== undefined) return run(folder);
  const root = mkdtempSync(join(tmpdir(), 'inferplan-storm-'));
  try {
    const { files } = await writeMaterial(join(root, 'material'), MADE);
    return await run(join(root, 'material', files.bundle));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
