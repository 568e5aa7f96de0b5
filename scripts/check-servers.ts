/**
 * This script loads servers of others with `plan load`'s client: MLServer and the model server of KServe, each with a model
 * that doubles numbers. Every request must be answered, and rightly, with tensors as the server takes them. The servers are
 * kept in virtual environments of Python; where one cannot be installed, the script says so, and that is no failure.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeServer, driveLoad, type LoadOptions, type LoadReport } from '../src/loadgen/index.js';
import { environmentWith, PROJECT } from './python/environment.js';
import { freePorts } from './servers/free-ports.js';

const FILES = join(PROJECT, 'scripts/servers');
const START_MS = 120_000;
/** Of what a server tells, this is kept for who looks for a fault. */
const MOST_TOLD = 4000;
const LOAD = { rps: 50, durationS: 2, arrivals: 'uniform', sloMs: 10_000 } as const;
/** Servers that describe no inputs are sent these. */
const INPUTS: LoadOptions['inputs'] = [
  { x: { dtype: 'float32', dims: [1, 4], data: new Float32Array([1, 2, 3, 4]) } },
];

interface Server {
  readonly requirement: string;
  readonly module: string;
  /** The program in the environment's folder, its arguments and variables, for ports that are free. */
  command(ports: readonly number[]): { program: string; args: string[]; env?: Record<string, string> };
  readonly load?: Partial<LoadOptions>;
}

const SERVERS: Readonly<Record<string, Server>> = {
  MLServer: {
    requirement: 'mlserver==1.7.1',
    module: 'mlserver',
    command: ([http, grpc, metrics]) => ({
      program: 'bin/mlserver',
      args: ['start', join(FILES, 'mlserver')],
      env: {
        MLSERVER_HOST: '127.0.0.1',
        MLSERVER_HTTP_PORT: `${http}`,
        MLSERVER_GRPC_PORT: `${grpc}`,
        MLSERVER_METRICS_PORT: `${metrics}`,
        MLSERVER_PARALLEL_WORKERS: '0',
      },
    }),
  },
  KServe: {
    requirement: 'kserve==0.21.0',
    module: 'kserve',
    command: ([http]) => ({
      program: 'bin/python',
      args: [join(FILES, 'kserve/server.py'), '--http_port', `${http}`, '--enable_grpc', 'false'],
    }),
    load: { inputs: INPUTS },
  },
};

async function ready(url: string, server: ChildProcess): Promise<void> {
  for (const end = Date.now() + START_MS; ; await new Promise((resolve) => setTimeout(resolve, 250))) {
    const answer = await fetch(`${url}/v2/health/ready`).catch(() => undefined);
    if (answer?.status === 200) return;
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
    if (Date.now() > end) throw new Error(`the server was not ready within ${START_MS / 1000} s`);
  }
}

function isDoubled(x: ArrayLike<number>, y: ArrayLike<number>): boolean {
  return x.length === y.length && Array.from(x).every((value, i) => y[i] === 2 * value);
}

/** loaded starts a server in an environment, and loads it. */
async function loaded(environment: string, { command, load = {} }: Server): Promise<LoadReport> {
  const folder = mkdtempSync(join(tmpdir(), 'inferplan-server-'));
  const ports = await freePorts(3);
  const { program, args, env = {} } = command(ports);
  const server = spawn(join(environment, program), args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'] as const,
    env: { ...process.env, ...env, PYTHONDONTWRITEBYTECODE: '1', PYTHONPATH: join(FILES, 'mlserver') },
  });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  let told = '';
  server.stderr.on('data', (bytes: Buffer) => {
    told = (told + bytes.toString()).slice(-MOST_TOLD);
  });
  try {
    const url = `http://127.0.0.1:${ports[0]}`;
    await ready(url, server);
    await describeServer(url);
    return await driveLoad(url, {
      ...LOAD,
      ...load,
      check: ({ inputs, outputs }) =>
        isDoubled(inputs.x?.data as ArrayLike<number>, outputs.y?.data as ArrayLike<number>),
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}; it told last:\n${told}`);
  } finally {
    server.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const [name, server] of Object.entries(SERVERS)) {
  const environment = environmentWith(server);
  if ('lacking' in environment) {
    process.stdout.write(`${name} was not tried: ${environment.lacking}\n`);
    continue;
  }
  const { sent, answered, failures, tensors } = await loaded(environment.folder, server);
  const said = `${name} answered ${answered} of ${sent} requests rightly, sent as ${tensors}`;
  process.stdout.write(`${said}${answered === sent ? '' : `: ${JSON.stringify(failures)}`}\n`);
  if (answered < sent || sent === 0) process.exitCode = 1;
}
