/**
 * This benchmark measures a plan on Ray Serve, and sets it beside its simulation, beside Ray Serve's own way and beside our server:
 *
 *     node dist/bench/ray.js [--requests 1000] [--loads 0.5,0.8,1.2] [--executor sleeper,cpu] [--only plan,uncut,own]
 *                            [--warm 60] [--seed 0] [--json file]
 *
 * The plan is a chain of two stages over two classes of two devices each: stages of 300 to 600 ms, bodies of 768 bytes, at most
 * eight requests/s. Replicas sleep for the planned times (`sleeper`), or compute on emulated devices (`cpu`). Poisson arrivals,
 * `--requests` of them at each of the loads, which are multiples of the planned rate, are the same for all systems.
 *
 * The first table has the plan on Ray Serve beside the simulation under `ray-serve` of the same arrivals, without and with what the
 * engine takes beside the devices. That is measured before, as by `plan profile engine`. It divides the difference of p95 as `plan
 * verify` does, and says whether the simulation holds: up to the planned rate, attainment within a point and p95 within 5 % or
 * 10 ms of the simulation, and above it goodput within 5 %; for `cpu` 5 points and 20 %.
 *
 * The second table has the sleeper on three systems: `plan`, that plan on Ray Serve; `uncut`, one deployment of the whole model by
 * Ray Serve's default autoscaling and `@serve.batch` on the same devices; and `own`, that plan on our server. Each gets `--warm`
 * seconds of half the planned rate before, and as much of each load before it is measured, so that the autoscaler has settled.
 *
 * The client is a process of its own. `busy` is the share of the time of all cores that anything took: two cores that are busier
 * than half say more about themselves than about the plan.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rayEnvironment } from '../scripts/ray/ray-server.js';
import { benchArguments, benchNumber } from './arguments.js';
import { type Client, openClient } from './live/client.js';
import type { Row } from './ray/measured.js';
import { Measuring } from './ray/measuring.js';
import { type ExecutorKind, type PlannedBundles, plannedBundles } from './ray/plan.js';
import { SYSTEMS } from './ray/systems.js';
import { batchesText, holds, sideBySideText, simulatedText } from './ray/tables.js';
import { measuresOf, saveResult } from './results/result.js';

const USAGE =
  'node dist/bench/ray.js [--requests 1000] [--loads 0.5,0.8,1.2] [--executor sleeper,cpu] [--only plan,uncut,own] [--warm 60] [--seed 0] [--json file]';

const { values } = benchArguments(USAGE, {
  requests: { type: 'string', default: '1000' },
  loads: { type: 'string', default: '0.5,0.8,1.2' },
  executor: { type: 'string', default: 'sleeper,cpu' },
  only: { type: 'string', default: 'plan,uncut,own' },
  warm: { type: 'string', default: '60' },
  seed: { type: 'string', default: '0' },
  json: { type: 'string' },
});
const { json, ...options } = values;
const requests = benchNumber(USAGE, '--requests', options.requests);
const loads = options.loads.split(',').map((load) => benchNumber(USAGE, '--loads', load));
const [warmS, seed] = [
  benchNumber(USAGE, '--warm', options.warm),
  benchNumber(USAGE, '--seed', options.seed),
];
const executors = among(options.executor, ['sleeper', 'cpu'] as const);
const systems = among(options.only, ['plan', 'uncut', 'own'] as const);
const found = rayEnvironment();
if ('lacking' in found) process.stdout.write(`Ray Serve is not measured: ${found.lacking}\n`);
else await main(found.folder);

/** among reads a list of words. */
function among<const Word extends string>(text: string, words: readonly Word[]): Word[] {
  const asked = text.split(',');
  const unknown = asked.filter((one) => !words.some((word) => word === one));
  if (unknown.length === 0) return words.filter((word) => asked.includes(word));
  process.stderr.write(`${unknown.join(', ')}: there are ${words.join(', ')}\nusage: ${USAGE}\n`);
  process.exit(2);
}

async function main(environment: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-ray-'));
  const client = openClient();
  const rows: Row[] = [];
  try {
    for (const executor of executors) {
      const own = join(folder, executor);
      await mkdir(own);
      const bundles = await bundlesFor(executor, { environment, folder, own, client });
      process.stdout.write(`${executor}: the plan is for ${bundles.plannedRps.toFixed(2)} requests/s\n`);
      for (const system of systems) {
        // What Ray Serve's own deployment and our server are compared in is the plan, and not how well cores are emulated.
        if (executor === 'cpu' && system !== 'plan') continue;
        const running = await SYSTEMS[system]({ environment, bundles, executor, folder });
        const measuring = new Measuring(running, {
          client,
          bundles,
          folder,
          executor,
          system,
          requests,
          loads,
          warmS,
          seed,
        });
        rows.push(...(await measuring.rows().finally(() => running.stop())));
      }
    }
  } finally {
    client.close();
    await rm(folder, { recursive: true });
  }
  tell(rows);
}

interface Preparing {
  readonly environment: string;
  readonly folder: string;
  /** The folder of the plan. */
  readonly own: string;
  readonly client: Client;
}

/** bundlesFor plans for an executor; for one that computes, with cores slowed down by what they took on Ray. */
async function bundlesFor(executor: ExecutorKind, { own, ...parts }: Preparing): Promise<PlannedBundles> {
  const bundles = await plannedBundles(own, executor);
  if (executor !== 'cpu') return bundles;
  const running = await SYSTEMS.plan({ ...parts, bundles, executor });
  const measuring = new Measuring(running, {
    client: parts.client,
    bundles,
    folder: parts.folder,
    executor,
    system: 'plan',
    requests,
    loads,
    warmS,
    seed,
  });
  const executed = await measuring.executed().finally(() => running.stop());
  return plannedBundles(own, executor, executed);
}

function tell(rows: readonly Row[]): void {
  process.stdout.write(`${simulatedText(rows)}\n${batchesText(rows)}\n${sideBySideText(rows)}`);
  if (rows.some((row) => holds(row) === false))
    process.stdout.write('\nThe simulation does not hold everywhere.\n');
  saveResult(json, {
    bench: 'ray',
    options,
    measures: measuresOf(rows, ({ executor, system, load }) => `${executor}, ${system} at ${load}`, {
      attainment: (row) => row.attainment,
      'p95 ms': (row) => row.p95Ms,
      'goodput requests/s': (row) => row.goodputRps,
    }),
    rows,
  });
}
