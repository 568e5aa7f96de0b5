/**
 * This script runs bundles for Ray Serve on Ray Serve: a chain over two classes, a pipeline with branches, and a cascade. Every
 * answer must be that of the whole models, also with many requests in flight, while a replica is killed, and while gears are
 * changed; what the load saw is compared with a simulation. Ray is kept in a virtual environment of Python; where it cannot be
 * installed, the script says so, and that is no failure.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadServer, verifyLoad } from '../src/api/index.js';
import { driveLoad, type LoadOptions } from '../src/loadgen/index.js';
import { BundleMaker, type RightAnswer, type Tried } from './ray/bundles.js';
import { configOf, RayServer, rayEnvironment, type ServeConfig } from './ray/ray-server.js';

/** Batches add up in another order than single rows. */
const TOLERANCE = 1e-4;
const LOAD = { rps: 6, durationS: 5, arrivals: 'poisson', sloMs: 8000, inFlight: 400 } as const;
const IN_FLIGHT = 100;

/** check tells what was tried and whether it held. */
function check(what: string, held: boolean, said = ''): void {
  process.stdout.write(`Ray Serve: ${held ? 'holds' : 'fails'}: ${what}${said === '' ? '' : `: ${said}`}\n`);
  if (!held) process.exitCode = 1;
}

function isRight(
  right: RightAnswer,
  outputs: Record<string, { readonly data: ArrayLike<number | string> }>,
): boolean {
  const wanted = Object.entries(right.outputs);
  return (
    Object.keys(outputs).length === wanted.length &&
    wanted.every(([name, values]) => {
      const given = outputs[name]?.data;
      const most = Array.from(values).reduce((top, value) => Math.max(top, Math.abs(value)), 0);
      return (
        given?.length === values.length &&
        Array.from(values).every((value, i) => Math.abs(value - Number(given[i])) <= TOLERANCE * most)
      );
    })
  );
}

/** answered loads an application, whose every answer must be right, and says what came. */
async function answered(
  server: RayServer,
  { name, images, right }: Tried,
  input: string,
  options: Partial<LoadOptions> = {},
): Promise<{ held: boolean; said: string }> {
  const { sent, answered, failures, drops } = await driveLoad(`${server.url}/${name}`, {
    ...LOAD,
    inputs: images.map((image) => ({ [input]: image })),
    check: ({ index, outputs }) => isRight(right[index % right.length] as RightAnswer, outputs as never),
    ...options,
  } as LoadOptions);
  const rest = answered === sent ? '' : ` (${JSON.stringify({ failures, drops })})`;
  return { held: sent > 0 && answered === sent, said: `${answered} of ${sent} answers are right${rest}` };
}

async function main(environment: string, folder: string): Promise<void> {
  const maker = new BundleMaker(folder);
  const [chain, branches, cascade] = [await maker.chain(), await maker.branches(), await maker.cascade()];
  const all = [chain, branches, cascade];
  const server = await RayServer.start(environment, {
    'inferplan/first': 1,
    'inferplan/second': 1,
    'inferplan/cpu': 5,
  });
  try {
    const configs = new Map(all.map(({ name, bundle }) => [name, { bundle, config: configOf(bundle) }]));
    await server.deploy(configs);
    for (const tried of all) {
      const { held, said } = await answered(server, tried, 'image');
      check(`${tried.name} answers as its models`, held, said);
    }
    await inFlight(server, chain);
    await killed(server, chain);
    await killedOfTwo(server, branches);
    await verified(server, chain, folder);
    await changedGears(server, cascade, configs);
  } finally {
    check('nothing is left when it has stopped', (await server.stop()) === 0);
  }
}

async function inFlight(server: RayServer, chain: Tried): Promise<void> {
  const burst = { rps: 10 * IN_FLIGHT, durationS: 0.1, arrivals: 'uniform' } as const;
  const { held, said } = await answered(server, chain, 'image', burst);
  check(`${IN_FLIGHT} requests in flight are all answered`, held, said);
}

async function killed(server: RayServer, chain: Tried): Promise<void> {
  const load = answered(server, chain, 'image', { durationS: 12, sloMs: 30_000 });
  await new Promise((resolve) => setTimeout(resolve, 2000));
  process.kill(server.pidOf('chain', 'whole_p0_s1'), 'SIGKILL');
  const { said } = await load;
  const after = await answered(server, chain, 'image');
  check(
    'it answers again once the only replica of a stage was killed',
    after.held,
    `${after.said}; meanwhile ${said}`,
  );
}

async function killedOfTwo(server: RayServer, branches: Tried): Promise<void> {
  const load = answered(server, branches, 'image', { durationS: 12, sloMs: 30_000 });
  await new Promise((resolve) => setTimeout(resolve, 2000));
  process.kill(server.pidOf('branches', 'high_low'), 'SIGKILL');
  const { held, said } = await load;
  check('no request is lost when one of two replicas of a stage is killed', held, said);
}

async function verified(server: RayServer, chain: Tried, folder: string): Promise<void> {
  const output = join(folder, 'load.json');
  await loadServer(`${server.url}/chain`, { ...LOAD, durationS: 10, output } as never);
  const { figures, executions = [] } = (await verifyLoad(output, { plan: chain.bundle })) as {
    figures: readonly object[];
    executions?: readonly { executed?: number }[];
  };
  check(
    'plan verify compares it with its simulation',
    figures.length > 0 && executions.length > 0,
    `${executions.length} rows of executions`,
  );
}

async function changedGears(
  server: RayServer,
  cascade: Tried & { readonly second: readonly RightAnswer[] },
  configs: Map<string, { readonly bundle: string; readonly config: ServeConfig }>,
): Promise<void> {
  const either = ({ index, outputs }: { index: number; outputs: unknown }) => {
    const at = index % cascade.right.length;
    return [cascade.right, cascade.second].some((right) =>
      isRight(right[at] as RightAnswer, outputs as never),
    );
  };
  const load = answered(server, cascade, 'image', { durationS: 10, check: either } as never);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const { bundle, config } = configs.get(cascade.name) as { bundle: string; config: ServeConfig };
  const changed = structuredClone(config);
  for (const { name, user_config: own } of changed.applications[0]?.deployments ?? [])
    if (name === 'ingress') for (const gear of gearsOf(own)) gear.steps = gearsOf(own).at(-1)?.steps ?? [];
  await server.deploy(new Map([...configs, [cascade.name, { bundle, config: changed }]]));
  const { held, said } = await load;
  check('gears are changed while it serves, and nothing is lost', held, said);
  const after = await answered(server, { ...cascade, right: cascade.second }, 'image');
  check('it answers by the new gears then', after.held, after.said);
}

function gearsOf(config: Record<string, unknown> = {}): { steps: readonly object[] }[] {
  return (config.gears as { gears: { steps: readonly object[] }[] }).gears;
}

const found = rayEnvironment();
if ('lacking' in found) process.stdout.write(`Ray Serve was not tried: ${found.lacking}\n`);
else {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-ray-'));
  await main(found.folder, folder).finally(() => rmSync(folder, { recursive: true, force: true }));
}
