import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { parse } from 'yaml';
import { environmentWith } from '../python/environment.js';
import { freePorts } from '../servers/free-ports.js';

const RAY = {
  requirement: 'ray[serve]==2.60.0',
  besides: ['onnxruntime==1.30.0', 'numpy'],
  module: 'ray.serve, onnxruntime',
};
const START_MS = 120_000;
const ASK_MS = 250;
/** Of what Ray tells, this is kept for who looks for a fault. */
const MOST_TOLD = 4000;

/** ServeConfig is what a bundle's serve_config.yaml holds, as far as it is changed here. */
export interface ServeConfig {
  readonly http_options: Record<string, unknown>;
  readonly applications: {
    name: string;
    route_prefix: string;
    runtime_env?: object;
    readonly deployments: { readonly name: string; user_config?: Record<string, unknown> }[];
  }[];
}

/** RayServer is a Ray of this machine that serves the applications of several bundles, each below its own path. */
export class RayServer {
  private told = '';
  private readonly ended: Promise<unknown>;

  private constructor(
    private readonly process: ChildProcess,
    private readonly dashboard: string,
    readonly url: string,
    private readonly folder: string,
  ) {
    this.ended = new Promise((resolve) => process.once('exit', resolve));
    for (const stream of [process.stdout, process.stderr])
      stream?.on('data', (bytes: Buffer) => {
        this.told = (this.told + bytes.toString()).slice(-MOST_TOLD);
      });
  }

  /**
   * start starts Ray from an environment of Python, with as many of each resource as is asked for, and variables for
   * its replicas.
   */
  static async start(
    environment: string,
    resources: Readonly<Record<string, number>>,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<RayServer> {
    const [gcs, dashboard, http] = (await freePorts(3)) as [number, number, number];
    // Ray's sockets have paths of at most 107 characters.
    const folder = mkdtempSync(join(tmpdir(), 'ray-'));
    const child = spawn(
      join(environment, 'bin/ray'),
      [
        ...['start', '--head', '--block', '--disable-usage-stats', '--num-cpus=64'],
        ...[`--port=${gcs}`, `--dashboard-port=${dashboard}`, `--temp-dir=${folder}`],
        `--resources=${JSON.stringify(resources)}`,
      ],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          ...process.env,
          PATH: `${join(environment, 'bin')}:${process.env.PATH}`,
          RAY_worker_niceness: '0',
          // Where a user of this machine has a token, Ray asks for it.
          RAY_AUTH_MODE: 'disabled',
          PYTHONDONTWRITEBYTECODE: '1',
          ...variables,
        },
      },
    );
    const server = new RayServer(child, `http://127.0.0.1:${dashboard}`, `http://127.0.0.1:${http}`, folder);
    try {
      await server.until('answers', async () => (await fetch(`${server.dashboard}/api/version`)).ok);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  /** deploy puts the configurations of bundles, and waits until all their applications run. */
  async deploy(
    configs: ReadonlyMap<string, { readonly bundle: string; readonly config: ServeConfig }>,
  ): Promise<void> {
    const [first] = configs.values();
    const body = {
      ...first?.config,
      http_options: { ...first?.config.http_options, port: Number(new URL(this.url).port) },
      applications: [...configs].flatMap(([name, { bundle, config }]) =>
        config.applications.map((application) => ({
          ...application,
          name,
          route_prefix: `/${name}`,
          runtime_env: { env_vars: { PYTHONPATH: bundle } },
        })),
      ),
    };
    // Ray refuses what fetch() sends, as traffic of a browser.
    const put = await request(`${this.dashboard}/api/serve/applications/`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const said = await put.body.text();
    if (put.statusCode !== 200) throw new Error(`Ray refused the configuration: ${put.statusCode} ${said}`);
    await this.until('runs all applications', async () => {
      const { applications } = (await (await fetch(`${this.dashboard}/api/serve/applications/`)).json()) as {
        applications: Record<string, { status: string; message: string }>;
      };
      for (const [name, { status, message }] of Object.entries(applications))
        if (status === 'DEPLOY_FAILED') throw new Failed(`${name} failed: ${message}`);
      return [...configs.keys()].every((name) => applications[name]?.status === 'RUNNING');
    });
  }

  /** pidOf finds the process of a replica of a deployment of an application. */
  pidOf(application: string, deployment: string): number {
    const listed = spawnSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).stdout;
    const line = listed.split('\n').find((one) => one.includes(`ServeReplica:${application}:${deployment}`));
    if (line === undefined) throw new Error(`no process is a replica of ${application}'s ${deployment}`);
    return Number.parseInt(line, 10);
  }

  /** stop ends Ray, and gives how many of its processes are left. */
  async stop(): Promise<number> {
    this.process.kill('SIGTERM');
    await this.ended;
    const listed = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).stdout;
    const left = listed.split('\n').filter((line) => line.includes(this.folder) && !line.includes('ps -eo'));
    rmSync(this.folder, { recursive: true, force: true });
    return left.length;
  }

  private async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (const end = Date.now() + START_MS; ; await new Promise((resolve) => setTimeout(resolve, ASK_MS))) {
      const isSo = await holds().catch((error: unknown) => {
        if (error instanceof Failed) throw error;
        return false;
      });
      if (isSo) return;
      if (this.process.exitCode !== null)
        throw new Error(`Ray ended with ${this.process.exitCode}:\n${this.told}`);
      if (Date.now() > end)
        throw new Error(
          `Ray has taken ${START_MS / 1000} s and not got so far that it ${what}:\n${this.told}`,
        );
    }
  }
}

/** Failed is what no waiting mends. */
class Failed extends Error {}

/** rayEnvironment gives the environment of Python that has Ray, or says why there is none. */
export function rayEnvironment(): ReturnType<typeof environmentWith> {
  return environmentWith(RAY);
}

/** configOf reads the configuration of a bundle for Ray Serve. */
export function configOf(bundle: string): ServeConfig {
  const path = join(bundle, 'serve_config.yaml');
  if (!existsSync(path)) throw new Error(`${bundle} holds no serve_config.yaml`);
  return parse(readFileSync(path, 'utf8')) as ServeConfig;
}
