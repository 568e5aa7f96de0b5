import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT } from '../../scripts/python/environment.js';
import { configOf, RayServer, type ServeConfig } from '../../scripts/ray/ray-server.js';
import { startServer } from '../../src/runtime/index.js';
import { type ClassName, DEVICES, type ExecutorKind, MODEL, type PlannedBundles, wholeMs } from './plan.js';
import { sleeper } from './sleeper.js';

const CLASSES = Object.keys(DEVICES) as ClassName[];
/** The resource of which Ray's own deployment asks for one, whatever the class of the device is. */
const ANY_DEVICE = 'inferplan/device';

/** System is a server that runs. */
export interface System {
  readonly url: string;
  stop(): Promise<void>;
}

/** SystemParts is what systems are started from. */
export interface SystemParts {
  /** The environment of Python that has Ray. */
  readonly environment: string;
  readonly bundles: PlannedBundles;
  readonly executor: ExecutorKind;
  /** A folder for what a system needs besides. */
  readonly folder: string;
}

/** SYSTEMS starts each system that is measured: our plan on Ray Serve, Ray Serve's own deployment, and our own server. */
export const SYSTEMS = {
  plan: (parts: SystemParts) =>
    onRay(parts, { name: 'plan', bundle: parts.bundles.ray, config: configOf(parts.bundles.ray) }),
  uncut: async (parts: SystemParts) => onRay(parts, { name: 'uncut', ...(await uncut(parts)) }),
  own: ({ bundles, executor }: SystemParts) => ownServer(bundles, executor),
} as const satisfies Record<string, (parts: SystemParts) => Promise<System>>;
export type SystemName = keyof typeof SYSTEMS;

interface Application {
  readonly name: string;
  readonly bundle: string;
  readonly config: ServeConfig;
}

async function onRay({ environment, executor }: SystemParts, app: Application): Promise<System> {
  const resources = Object.fromEntries([
    ...CLASSES.map((name) => [`inferplan/${name}`, DEVICES[name]]),
    [ANY_DEVICE, CLASSES.reduce((sum, name) => sum + DEVICES[name], 0)],
  ]) as Record<string, number>;
  const server = await RayServer.start(environment, resources, {
    ...(executor === 'sleeper' ? { INFERPLAN_EXECUTOR: 'sleep' } : {}),
  });
  const stop = async () => {
    const left = await server.stop();
    if (left > 0) process.stderr.write(`${left} processes of Ray are left\n`);
  };
  try {
    await server.deploy(new Map([[app.name, app]]));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `${server.url}/${app.name}`, stop };
}

/** uncut writes the application of Ray Serve's own deployment (`uncut.py`). */
async function uncut({ bundles, folder }: SystemParts): Promise<Omit<Application, 'name'>> {
  const bundle = join(folder, 'uncut');
  await mkdir(bundle, { recursive: true });
  await copyFile(join(PROJECT, 'bench/ray/uncut.py'), join(bundle, 'uncut.py'));
  await copyFile(join(bundles.ray, 'rows.py'), join(bundle, 'rows.py'));
  const planned = configOf(bundles.ray);
  const { models } = (planned.applications[0] as { args?: { models?: Record<string, object> } }).args ?? {};
  const devices = CLASSES.flatMap((name) =>
    Array.from({ length: DEVICES[name] }, (_, i) => ({
      lock: join(bundle, `${name}-${i}.lock`),
      latency_ms: wholeMs(name),
    })),
  );
  const application = {
    name: 'uncut',
    route_prefix: '/',
    import_path: 'uncut:build',
    args: { name: MODEL, model: models?.[MODEL], devices },
    deployments: [{ name: 'uncut', ray_actor_options: { num_cpus: 0, resources: { [ANY_DEVICE]: 1 } } }],
  };
  return { bundle, config: { ...planned, applications: [application] } };
}

async function ownServer({ own, stageMs }: PlannedBundles, executor: ExecutorKind): Promise<System> {
  const plannedMs = (file: string, rows: number) => {
    const [, times] = [...stageMs].find(([stage]) => file.endsWith(stage)) ?? [];
    const ms = times?.[rows - 1];
    if (ms === undefined) throw new Error(`the plan has no time for ${rows} rows of ${file}`);
    return ms;
  };
  const server = await startServer(own, { port: 0 }, executor === 'sleeper' ? sleeper(plannedMs) : undefined);
  return { url: server.url, stop: () => server.close() };
}
