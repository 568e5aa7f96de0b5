import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { fault, InputError, option, readPolicies, ToldFaults } from '../artifacts/index.js';
import type { ChosenScheduler } from '../serving/index.js';
import { makeFront } from './front.js';
import { LiveEngine } from './live-engine.js';
import { type OpenedBundle, openBundle } from './opened-bundle.js';
import { liveScheduler, toldServing } from './scheduler.js';
import type { RunningServer, ServeEvent, ServeOptions } from './types.js';

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
  private readonly engine: LiveEngine;
  private readonly front: FastifyInstance;
  private tellClosed: () => void = () => {};
  private closing: Promise<void> | undefined;

  constructor(
    bundle: OpenedBundle,
    options: Omit<ServeOptions, 'scheduler'> & { readonly scheduler: ChosenScheduler },
    private readonly log: (event: ServeEvent) => void,
  ) {
    this.closed = new Promise((resolve) => {
      this.tellClosed = resolve;
    });
    this.address = { host: options.host ?? '127.0.0.1', port: options.port ?? DEFAULT_PORT };
    this.engine = new LiveEngine(bundle, { ...options, log });
    this.front = makeFront({
      bundle,
      intake: this.engine.intake,
      serving: toldServing(options.scheduler),
      counters: this.engine.counters,
      bodyLimits: {
        oneBytes: options.maxBodyBytes ?? DEFAULT_BODY_BYTES,
        allBytes: options.maxBodiesBytes ?? DEFAULT_BODIES_BYTES,
      },
      requestTimeoutMs: options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
      ready: () => this.closing === undefined && this.engine.everyPoolUp(),
    });
  }

  get url(): string {
    const { host, port } = this.address;
    return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  executorPids(): readonly number[] {
    return this.engine.executorPids();
  }

  /** start tries the port first, so that a port in use is reported before all models are loaded. */
  async start(): Promise<void> {
    await this.front.ready();
    await this.listen();
    await this.engine.start();
    this.log({ kind: 'ready', url: this.url });
  }

  /** release waits for the answers to all requests before it closes the server. */
  async release(): Promise<void> {
    await this.engine.drain();
    // A connection that is still open after this time has a body that never ends, or an answer that nobody reads.
    const cut = setTimeout(() => this.front.server.closeAllConnections(), CLOSE_MS);
    await Promise.all([this.front.close(), this.engine.close()]);
    clearTimeout(cut);
  }

  close(): Promise<void> {
    this.closing ??= this.finish();
    return this.closing;
  }

  metricsText(): Promise<string> {
    return this.engine.counters.registry.metrics();
  }

  coreTime(): { decideUs: number; calls: number; requests: number } {
    return this.engine.coreTime();
  }

  private async finish(): Promise<void> {
    this.log({ kind: 'draining', pending: this.engine.pending });
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
