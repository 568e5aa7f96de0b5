import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { fault, InputError, option, readPolicies, ToldFaults } from '../artifacts/index.js';
import { streamsOf } from '../random/index.js';
import { type ChosenScheduler, makeCore, poolsServedBy } from '../serving/index.js';
import { Counters } from './counters.js';
import { makeFront } from './front.js';
import { crowdedByDevices, LiveDevice, planDevices } from './live-device.js';
import { LiveDriver } from './live-driver.js';
import { LoadWatch } from './load-watch.js';
import { type OpenedBundle, openBundle } from './opened-bundle.js';
import { liveScheduler, toldServing } from './scheduler.js';
import type { RunningServer, ServeEvent, ServeOptions } from './types.js';

/** What the core draws is the same in every run, so that a logged run can be replayed. */
const CORE_SEED = 1;
const DEFAULT_PORT = 8000;
/** How long a connection may stay open after every request has its outcome. */
const CLOSE_MS = 2000;
const MIB = 1024 * 1024;
const DEFAULT_BODY_BYTES = 64 * MIB;
const DEFAULT_BODIES_BYTES = 512 * MIB;
const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;

/**
 * startServer serves a bundle over HTTP until it is closed. It checks every file, calls `confirm`, listens, and then
 * starts and warms an executor per virtual GPU. It resolves when all of them are up; until every pool has one, the
 * server answers that it is not ready. When it throws, everything that was started is released.
 * @param folder the folder that holds manifest.json
 * @throws MissingError where the bundle or a device is missing; InputError with every fault of the bundle, where the
 *   scheduler or its policy is not valid, the host has too few CPU threads, or the port cannot be used; the signal's
 *   reason on abort
 */
export async function startServer(folder: string, options: ServeOptions = {}): Promise<RunningServer> {
  const log = options.onLog ?? (() => {});
  const bundle = await openBundle(folder, options.sloMs === undefined ? {} : { sloMs: options.sloMs });
  await options.confirm?.(bundle);
  const told = new ToldFaults();
  const policy = await readPolicies(options.policy ?? [], told);
  const server = new Server(
    bundle,
    { ...options, scheduler: liveScheduler({ ...options, policy }, bundle, told) },
    log,
  );
  try {
    await server.start();
  } catch (error) {
    await server.release();
    throw error;
  }
  return server;
}

class Server implements RunningServer {
  readonly closed: Promise<void>;
  readonly address: { host: string; port: number };
  private readonly devices: LiveDevice[];
  private readonly driver: LiveDriver;
  private readonly counters: Counters;
  private readonly front: FastifyInstance;
  private tellClosed: () => void = () => {};
  private closing: Promise<void> | undefined;
  private readonly up: Set<number> = new Set();

  constructor(
    private readonly bundle: OpenedBundle,
    private readonly options: Omit<ServeOptions, 'scheduler'> & { readonly scheduler: ChosenScheduler },
    private readonly log: (event: ServeEvent) => void,
  ) {
    this.closed = new Promise((resolve) => {
      this.tellClosed = resolve;
    });
    this.address = { host: options.host ?? '127.0.0.1', port: options.port ?? DEFAULT_PORT };
    this.counters = new Counters(bundle, () => this.driver, watchedArrivals(bundle, log));
    this.devices = planDevices(bundle).map((plan, device) => {
      const duties = poolsServedBy(bundle.topology.devices[device]!).map((pool) => ({
        pool,
        work: bundle.work[pool]!,
        largestBatch: bundle.topology.pools[pool]!.batch,
      }));
      return new LiveDevice(plan, duties, {
        up: () => this.deviceUp(device),
        down: (why) => this.deviceDown(device, why),
        failed: (why) => log({ kind: 'notStarted', device: this.nameOf(device), why }),
        off: () => this.deviceOff(device),
        restarted: () => this.counters.restarted(device),
      });
    });
    const { scheduler } = options;
    this.driver = new LiveDriver(bundle, this.devices, {
      makeCore: (decisions) =>
        makeCore(scheduler, bundle.topology, { decisions, streams: streamsOf(CORE_SEED, 'core') }),
      observer: {
        batch: (record) => this.counters.batch(record),
        failure: (pool, device, why) => {
          this.counters.executionFailed(pool);
          log({ kind: 'batchFailed', device: this.nameOf(device), why });
        },
      },
      log: options.onDecision,
    });
    this.front = makeFront({
      bundle,
      driver: this.driver,
      serving: toldServing(scheduler),
      counters: this.counters,
      bodyLimits: {
        oneBytes: options.maxBodyBytes ?? DEFAULT_BODY_BYTES,
        allBytes: options.maxBodiesBytes ?? DEFAULT_BODIES_BYTES,
      },
      requestTimeoutMs: options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
      ready: () => this.closing === undefined && this.everyPoolUp(),
    });
  }

  get url(): string {
    const { host, port } = this.address;
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  executorPids(): readonly number[] {
    return this.devices.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  }

  /** start tries the port first, so that a port in use is reported before all models are loaded. */
  async start(): Promise<void> {
    await this.front.ready();
    await this.listen();
    let done = 0;
    const used = this.devices.filter((_, device) => this.bundle.topology.devices[device]!.standby !== true);
    await settleAll(
      used.map(async (device) => {
        this.options.signal?.throwIfAborted();
        await device.start();
        done += 1;
        this.log({ kind: 'loading', device: device.plan.name, done, of: used.length });
      }),
    );
    this.options.signal?.throwIfAborted();
    const crowded = crowdedByDevices(this.devices.map(({ plan }) => plan));
    if (crowded !== undefined) this.log({ kind: 'crowded', why: crowded });
    this.log({ kind: 'ready', url: this.url });
  }

  /** release waits for the answers to all requests before it closes the server. */
  async release(): Promise<void> {
    await this.driver.drain();
    this.driver.stop();
    // A connection that is still open after this time has a body that never ends, or an answer that nobody reads.
    const cut = setTimeout(() => this.front.server.closeAllConnections(), CLOSE_MS);
    await Promise.all([this.front.close(), ...this.devices.map((device) => device.close())]);
    clearTimeout(cut);
  }

  close(): Promise<void> {
    this.closing ??= this.finish();
    return this.closing;
  }

  metricsText(): Promise<string> {
    return this.counters.registry.metrics();
  }

  coreTime(): { decideUs: number; calls: number; requests: number } {
    const { decideUs, decideCalls, requestCount } = this.driver;
    return { decideUs, calls: decideCalls, requests: requestCount };
  }

  private async finish(): Promise<void> {
    this.log({ kind: 'draining', pending: this.driver.pending });
    await this.release();
    this.log({ kind: 'closed' });
    this.tellClosed();
  }

  private async listen(): Promise<void> {
    const { host, port } = this.address;
    try {
      await this.front.listen({ host, port });
      this.address.port = (this.front.server.address() as AddressInfo).port;
    } catch (error) {
      throw cannotListen(host, port, error);
    }
  }

  private everyPoolUp(): boolean {
    return this.bundle.topology.pools.every((pool) => pool.devices.some((device) => this.up.has(device)));
  }

  private nameOf(device: number): string {
    return this.bundle.topology.devices[device]!.name;
  }

  private deviceUp(device: number): void {
    this.up.add(device);
    this.counters.device(device, true);
    this.driver.deviceUp(device);
    this.log({ kind: 'deviceUp', device: this.nameOf(device) });
  }

  private deviceOff(device: number): void {
    this.up.delete(device);
    this.counters.device(device, false);
  }

  private deviceDown(device: number, why: string): void {
    this.deviceOff(device);
    this.driver.deviceDown(device);
    this.log({ kind: 'deviceDown', device: this.nameOf(device), why });
  }
}

/** settleAll waits for all starts before it throws the first error, so that no start goes on after it. */
async function settleAll(starts: Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(starts);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** watchedArrivals gives what is called for each arrival: the load of a gear plan is compared with the planned one. */
function watchedArrivals({ plan }: OpenedBundle, log: (event: ServeEvent) => void): () => void {
  if (plan.kind !== 'gear-plan') return () => {};
  const fromMs = performance.now();
  const watch = new LoadWatch(plan, (share) => log({ kind: 'loadStrayed', share }));
  return () => watch.arrived(performance.now() - fromMs);
}

function cannotListen(host: string, port: number, error: unknown): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new InputError(
        `listen on ${host}:${port}`,
        [fault('the port is in use')],
        `Choose another with ${option('port')}, or 0 for any free one.`,
      );
    case 'EACCES':
      return new InputError(
        `listen on ${host}:${port}`,
        [fault('permission denied')],
        'Ports below 1024 need rights.',
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new InputError(`listen on ${host}:${port}`, [fault('this machine has no such address')]);
    default:
      return error;
  }
}
