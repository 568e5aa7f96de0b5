import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { attempted, oneErrorOf, readPolicies } from '../artifacts/index.js';
import type { StartExecutor } from '../execution/index.js';
import { errorFields, fault, InputError, option, ToldFaults } from '../formats/index.js';
import { chosenScheduler, type SchedulerOptions } from '../serving/index.js';
import { Access } from './http/access.js';
import { Doorkeeper } from './http/access-hook.js';
import { closedConnections } from './http/connections.js';
import { makeFront } from './http/front.js';
import { HttpServers } from './http/http-servers.js';
import { makeMetricsFront } from './http/metrics-front.js';
import { openServable, type Scheduled, type Servable, type ServingEngine } from './servable.js';
import type { RunningServer, ServeEvent, ServeOptions } from './types.js';

const DEFAULT_PORT = 8000;
/** How long a connection may stay open after every request has its outcome: a body may never end, and an answer never be read. */
const CLOSE_MS = 2000;
/** Answers that were given at the drain timeout have this long to be sent. */
const LEAST_CLOSE_MS = 100;
const MIB = 1024 * 1024;
const DEFAULT_BODY_BYTES = 64 * MIB;
const DEFAULT_BODIES_BYTES = 512 * MIB;
const DEFAULT_ANSWERS_BYTES = 512 * MIB;
const DEFAULT_CONNECTIONS = 4096;
const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;
const DEFAULT_DRAIN_TIMEOUT_MS = 10_000;

/**
 * startServer serves a bundle over HTTP until it is closed. It checks every file, calls `confirm`, listens, and then
 * starts and warms an executor per virtual GPU. It resolves when all of them are up; until every pool has one, the
 * server answers that it is not ready. When it throws, everything that was started is released.
 * @param folder the folder that holds manifest.json
 * @param start starts the executors of devices, elsewhere than on the cores of this host; by default `startExecutor` of `execution`
 * @throws MissingError where the bundle or a device is missing; InputError with every fault of the bundle, where the
 *   scheduler or its policy is not valid, the host has too few CPU threads, or the port cannot be used; the signal's
 *   reason on abort
 */
export async function startServer(
  folder: string,
  options: ServeOptions = {},
  start?: StartExecutor,
): Promise<RunningServer> {
  const log = options.onLog ?? (() => {});
  const started = await checkedStart(folder, options, log);
  const server = new Server(started, { ...options, start }, log);
  try {
    await server.start();
  } catch (error) {
    await server.release();
    throw error;
  }
  return server;
}

/** CheckedStart is what a server starts with. */
interface CheckedStart {
  readonly access: Access;
  readonly bundle: Servable['bundle'];
  readonly scheduled: Scheduled;
}

/**
 * checkedStart opens and checks all that a server starts with, and starts nothing.
 * @throws as `startServer` does, with what is wrong with options and bundle at once
 */
async function checkedStart(
  folder: string,
  options: ServeOptions,
  log: (event: ServeEvent) => void,
): Promise<CheckedStart> {
  const task = `serve ${folder}`;
  const errors: InputError[] = [];
  const warnings: string[] = [];
  const told = new ToldFaults();
  const access = await Access.open(options, told, warnings);
  const { signal, at, sloMs } = options;
  const servable = await attempted(errors, openServable(folder, { task, signal, at, sloMs }));
  const policy = await readPolicies(options.policy ?? [], told);
  const asked = { ...options, policy };
  if (servable !== undefined) await attempted(errors, confirmed(servable, options));
  const scheduled =
    servable === undefined
      ? schedulerAlone(asked, told)
      : await attempted(errors, (async () => servable.scheduled(asked))());
  if (told.count > 0) errors.push(told.error(task));
  if (servable === undefined || scheduled === undefined || errors.length > 0) throw oneErrorOf(task, errors);
  for (const why of warnings) log({ kind: 'warning', why });
  return { access, bundle: servable.bundle, scheduled };
}

async function confirmed(servable: Servable, { confirm }: Pick<ServeOptions, 'confirm'>): Promise<void> {
  await confirm?.(servable.bundle);
}

/** schedulerAlone finds what is wrong with a scheduler and its policy whatever the bundle is. */
function schedulerAlone({ scheduler, policy }: SchedulerOptions, told: ToldFaults): undefined {
  if (scheduler !== undefined) chosenScheduler({ scheduler, policy }, told);
}

class Server implements RunningServer {
  readonly closed: Promise<void>;
  readonly address: { host: string; port: number };
  private readonly access: Access;
  private readonly engine: ServingEngine;
  private readonly front: FastifyInstance;
  private readonly servers: HttpServers;
  private readonly metrics: { readonly front: FastifyInstance; readonly servers: HttpServers } | undefined;
  private metricsPort: number | undefined;
  private renewing: Promise<void> = Promise.resolve();
  private readonly drainTimeoutMs: number;
  private tellClosed: () => void = () => {};
  private closing: Promise<void> | undefined;

  constructor(
    { access, bundle, scheduled }: CheckedStart,
    options: ServeOptions & { readonly start: StartExecutor | undefined },
    private readonly log: (event: ServeEvent) => void,
  ) {
    this.closed = new Promise((resolve) => {
      this.tellClosed = resolve;
    });
    this.address = { host: options.host ?? '127.0.0.1', port: options.port ?? DEFAULT_PORT };
    this.drainTimeoutMs = options.drainTimeoutMs ?? DEFAULT_DRAIN_TIMEOUT_MS;
    this.access = access;
    const { onDecision, signal, start } = options;
    this.engine = scheduled.engine({ onDecision, signal, start, log });
    const { registry } = this.engine.counters;
    const doorkeeper = new Doorkeeper(access, registry, log);
    const connections = {
      most: options.maxConnections ?? DEFAULT_CONNECTIONS,
      timeoutMs: options.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS,
    };
    const closed = closedConnections(registry);
    this.servers = new HttpServers(access.tls);
    this.metricsPort = options.metricsPort;
    if (options.metricsPort !== undefined) {
      const servers = new HttpServers(access.tls);
      this.metrics = {
        servers,
        front: makeMetricsFront({ registry, servers, doorkeeper, closed, connections }),
      };
    }
    this.front = makeFront({
      bundle,
      intake: this.engine.intake,
      serving: scheduled.serving,
      counters: this.engine.counters,
      servers: this.servers,
      doorkeeper,
      hasMetricsElsewhere: this.metrics !== undefined,
      bodyLimits: {
        oneBytes: options.maxBodyBytes ?? DEFAULT_BODY_BYTES,
        allBytes: options.maxBodiesBytes ?? DEFAULT_BODIES_BYTES,
      },
      answersBytes: options.maxAnswersBytes ?? DEFAULT_ANSWERS_BYTES,
      connections,
      closed,
      ready: (model) => this.closing === undefined && this.engine.isReady(model),
      isClosing: () => this.closing !== undefined,
    });
  }

  get url(): string {
    return this.urlAt(this.address.port);
  }

  get metricsUrl(): string | undefined {
    return this.metricsPort === undefined ? undefined : `${this.urlAt(this.metricsPort)}/metrics`;
  }

  private urlAt(port: number): string {
    const { host } = this.address;
    const scheme = this.access.tls === undefined ? 'http' : 'https';
    return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  }

  renewAccess(): Promise<void> {
    this.renewing = this.renewing.then(async () => {
      for (const said of await this.access.renew()) this.log({ kind: 'readAgain', said });
      const { tls } = this.access;
      if (tls === undefined) return;
      this.servers.renew(tls);
      this.metrics?.servers.renew(tls);
    });
    return this.renewing;
  }

  executorPids(): readonly number[] {
    return this.engine.executorPids();
  }

  /** start tries the port first, so that a port in use is reported before all models are loaded. */
  async start(): Promise<void> {
    await this.listen();
    await this.engine.start();
    this.log({ kind: 'ready', url: this.url });
  }

  /**
   * release waits for the answers to all requests before it closes the server. Requests that are still open after the
   * drain timeout are dropped then, and executors that have not ended are killed.
   */
  async release(): Promise<void> {
    const untilMs = performance.now() + this.drainTimeoutMs;
    let timer: NodeJS.Timeout | undefined;
    const timedOut = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        const requests = this.engine.abandon();
        this.log({ kind: 'drainTimedOut', requests, ms: this.drainTimeoutMs });
        resolve();
      }, this.drainTimeoutMs);
    });
    await Promise.race([this.engine.drain(), timedOut]);
    const leftMs = Math.max(LEAST_CLOSE_MS, untilMs - performance.now());
    await this.servers.close(Math.min(CLOSE_MS, leftMs));
    await Promise.all([this.front.close(), this.engine.close()]);
    // Its last words are of the end.
    await this.metrics?.servers.close(LEAST_CLOSE_MS);
    await this.metrics?.front.close();
    clearTimeout(timer);
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
    const { endings, unsentAnswers } = this.engine.counters;
    const { crossedRequests } = this.servers;
    this.log({
      kind: 'closed',
      outcomes: { ...endings },
      unsent: unsentAnswers,
      crossed: crossedRequests,
    });
    this.tellClosed();
  }

  private async listen(): Promise<void> {
    const { host, port } = this.address;
    this.address.port = await listenAt(this.front, this.servers, { host, port, asked: 'port' });
    if (this.metrics !== undefined) {
      const { front, servers } = this.metrics;
      this.metricsPort = await listenAt(front, servers, {
        host,
        port: this.metricsPort ?? 0,
        asked: 'metricsPort',
      });
    }
    const why = this.access.listensOn(this.servers.addresses);
    if (why !== undefined) this.log({ kind: 'warning', why });
  }
}

/** ListenPlace is where a front listens, and the option that says the port. */
interface ListenPlace {
  readonly host: string;
  readonly port: number;
  readonly asked: 'port' | 'metricsPort';
}

/** listenAt lets a front listen, and gives its port. */
async function listenAt(front: FastifyInstance, servers: HttpServers, at: ListenPlace): Promise<number> {
  try {
    await front.ready();
    const { host, port } = at;
    await front.listen({ host, port });
    await servers.listenOnOthers(at.host);
    return (front.server.address() as AddressInfo).port;
  } catch (error) {
    throw cannotListen(at, error);
  }
}

function cannotListen({ host, port, asked }: ListenPlace, error: unknown): unknown {
  switch (errorFields(error).code) {
    case 'EADDRINUSE':
      return new InputError(
        `listen on ${host}:${port}`,
        [fault('the port is in use')],
        `Choose another with ${option(asked)}, or 0 for any free one.`,
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
