import { once } from 'node:events';
import { Command } from 'commander';
import type { ProgressStep } from '../../api/index.js';
import type { PlanChecks } from '../../formats/index.js';
import type { RunningServer, ScaledDevice, ServeEvent, UpReason } from '../../runtime/index.js';
import { EXIT, type ExitCode } from '../exit.js';
import { harmlessLine } from '../harmless.js';
import {
  each,
  OTHER_SCHEDULERS,
  portNumber,
  waitSeconds,
  wholeNumber,
  withJson,
  withStrict,
} from '../options.js';
import { action, type Context } from '../run.js';
import { warnUnchecked } from '../unchecked.js';

const MIB = 1024 * 1024;

interface Options {
  host: string;
  port: number;
  scheduler?: string;
  policy?: string[];
  tuner?: string;
  at?: string;
  maxBody: number;
  maxBodies: number;
  maxAnswers: number;
  maxConnections: number;
  requestTimeout: number;
  drainTimeout: number;
  strict?: boolean;
  tokenFile?: string;
  sslCertfile?: string;
  sslKeyfile?: string;
  sslCaCerts?: string;
  metricsPort?: number;
  allowHost?: string[];
}

/** servedBundle is the command with its argument and the options that say how the bundle is served. */
function servedBundle(): Command {
  return new Command('serve')
    .description(
      'Serve a bundle over HTTP (Open Inference Protocol, REST), with batching and dropping, until Ctrl-C.',
    )
    .argument('<bundle>', 'folder of the bundle')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes any free one', portNumber, 8000)
    .option('--scheduler <name>', OTHER_SCHEDULERS)
    .option(
      '--policy <choice>',
      'a choice of the scheduler, such as drop=never, or a policy file (repeatable)',
      each,
    )
    .option(
      '--tuner <name>',
      "what activates a pipeline's standby devices, in place of the plan's tuner: inferline, coarse, ds2, hpa, kpa, by-rate or none",
    )
    .option(
      '--at <place>',
      'serve with the devices of one server of the plan alone, such as T4-0, or with one device, such as T4-0/gpu1',
    )
    .option('--max-body <MiB>', 'largest request body', wholeNumber, 64)
    .option('--max-bodies <MiB>', 'most memory for the bodies of all open requests', wholeNumber, 512)
    .option('--max-answers <MiB>', 'most memory for the answers that are being sent', wholeNumber, 512)
    .option('--max-connections <number>', 'most connections that are open at once', wholeNumber, 4096)
    .option(
      '--request-timeout <time>',
      'how long a client may take to send a request, and may read nothing of its answer',
      waitSeconds,
      60,
    )
    .option(
      '--drain-timeout <time>',
      'how long open requests are waited for at the end, before they are dropped',
      waitSeconds,
      10,
    );
}

/** guarded adds the options that say who may come in. */
function guarded(command: Command): Command {
  return command
    .option('--token-file <file>', 'let in only who sends a token of this file, one a line as name:token')
    .option('--ssl-certfile <file>', 'certificate in PEM, with those that it is signed by; speaks HTTPS then')
    .option('--ssl-keyfile <file>', "the certificate's key in PEM (default: in the certificate's file)")
    .option('--ssl-ca-certs <file>', 'let in only who has a certificate signed by one of these, in PEM')
    .option('--metrics-port <number>', 'a port for /metrics alone; 0 takes any free one', portNumber)
    .option(
      '--allow-host <name>',
      'a name by which clients may call this server, such as that of a proxy (repeatable)',
      each,
    );
}

/** accessOf gives what these options say. */
function accessOf(options: Options) {
  const { host, port, metricsPort, tokenFile, sslCertfile, sslKeyfile, sslCaCerts, allowHost } = options;
  return { host, port, metricsPort, tokenFile, sslCertfile, sslKeyfile, sslCaCerts, allowHosts: allowHost };
}

/**
 * listenForHangup calls `renew` for each SIGHUP, which ends no server: a terminal that closes sends it too.
 * @returns what ends the listening
 */
function listenForHangup(renew: () => void): () => void {
  process.on('SIGHUP', renew);
  return () => process.off('SIGHUP', renew);
}

/** serveCommand makes `plan serve`, which serves a bundle until Ctrl-C. */
export function serveCommand(): Command {
  return withJson(withStrict(guarded(servedBundle())).action(action<[string], Options>(serveUntilStopped)));
}

async function serveUntilStopped(context: Context, options: Options, bundle: string): Promise<ExitCode> {
  const { terminal, signal } = context;
  let isAskedToRenew = false;
  let running: RunningServer | undefined;
  const deaf = listenForHangup(() => {
    isAskedToRenew = true;
    void running?.renewAccess();
  });
  try {
    const { server, checks } = await started(context, options, bundle);
    running = server;
    if (isAskedToRenew) await server.renewAccess();
    const { url, metricsUrl } = server;
    terminal.line(`ready: ${url}`);
    if (metricsUrl !== undefined) terminal.line(`metrics: ${metricsUrl}`);
    const { emittedHead } = await import('../../artifacts/index.js');
    const metrics = metricsUrl === undefined ? {} : { metricsUrl };
    terminal.document({ ...emittedHead('server', []), ...checks, url, ...metrics });
    if (!signal.aborted) await Promise.race([once(signal, 'abort'), server.closed]);
    await server.close();
    return EXIT.done;
  } finally {
    deaf();
  }
}

/** started starts a server, and reports what it says from then on. */
async function started(
  { terminal, signal, progress, inFlags }: Context,
  options: Options,
  bundle: string,
): Promise<{ readonly server: RunningServer; readonly checks: PlanChecks }> {
  const { serveBundle } = await import('../../api/index.js');
  const shown = await progress();
  let ready = false;
  const warnings: string[] = [];
  let checks: PlanChecks = {};
  shown.show({ doing: 'loading models' });
  const server = await serveBundle(bundle, {
    ...accessOf(options),
    scheduler: options.scheduler,
    policy: options.policy,
    tuner: options.tuner,
    at: options.at,
    maxBodyBytes: options.maxBody * MIB,
    maxBodiesBytes: options.maxBodies * MIB,
    maxAnswersBytes: options.maxAnswers * MIB,
    maxConnections: options.maxConnections,
    requestTimeoutMs: Math.ceil(options.requestTimeout * 1000),
    drainTimeoutMs: Math.ceil(options.drainTimeout * 1000),
    signal,
    strict: options.strict,
    onChecked: (found) => {
      checks = found;
    },
    onLog: (event) => {
      if (event.kind === 'loading') shown.show(loadingStep(event));
      if (event.kind === 'warning') warnings.push(inFlags(event.why));
      if (event.kind === 'crowded')
        warnings.push(`${event.why}; plan for fewer devices, or serve on a larger host`);
      const text = ready ? eventText(event) : undefined;
      if (text !== undefined) terminal.note(harmlessLine(inFlags(text)));
    },
  });
  shown.stop();
  ready = true;
  for (const warning of warnings) await terminal.warn(harmlessLine(warning));
  await warnUnchecked({ terminal, inFlags }, checks);
  return { server, checks };
}

function loadingStep({ device, done, of }: Extract<ServeEvent, { kind: 'loading' }>): ProgressStep {
  return { doing: `loading models on ${device}`, fraction: of === 0 ? 1 : done / of };
}

/**
 * eventText describes an event in words, for people who watch a server. It is undefined for events that are shown in
 * another way.
 */
export function eventText(event: ServeEvent): string | undefined {
  switch (event.kind) {
    case 'deviceDown':
      return `${event.device} is down: ${event.why}`;
    case 'deviceUp':
      return `${event.device} is up${UP_WORDS[event.why]}`;
    case 'deviceActivated':
      return `${event.device} is activated: ${scaledText(event)}`;
    case 'deviceRetired':
      return `${event.device} is retired: ${scaledText(event)}`;
    case 'notStarted':
      return `${event.device} did not start, and is tried again: ${event.why}`;
    case 'batchFailed':
      return `a batch failed on ${event.device}: ${event.why}`;
    case 'loadFailed':
      return `${event.device} could not load ${event.component}, and is started again: ${event.why}`;
    case 'programPrinted':
      return `the program of ${event.workflow} says: ${event.text.trimEnd()}`;
    case 'loadStrayed':
      return `for ${percentText(event.share)} of the time the load is in other ranges than planned; plan for the distribution that comes`;
    case 'draining':
      return event.pending === 1
        ? 'answering the request that is still open'
        : `answering the ${event.pending} requests that are still open`;
    case 'deviceHangs':
      return `${event.device} hangs: its batch has taken ${Math.round(event.ms)} ms and has not ended`;
    case 'deviceGoesOn':
      return `${event.device} goes on: the batch that took so long has ended`;
    case 'drainTimedOut':
      return `after ${event.ms} ms, ${requests(event.requests)} ${were(event.requests)} still open and dropped, and the executors were ended`;
    case 'closed':
      return stoppedText(event);
    case 'clientCame':
      return `the first request with the token of ${event.name} comes from ${event.address}`;
    case 'refused':
      return `${requests(event.requests)} ${were(event.requests)} not let in, the last from ${event.address}: ${event.why}`;
    case 'readAgain':
      return event.said;
    case 'loading':
    case 'warning':
    case 'crowded':
    case 'ready':
      return undefined;
  }
}

const UP_WORDS: { readonly [W in UpReason]: string } = {
  start: '',
  activation: ', since it was activated',
  restart: ' again, with a new process',
};

/** scaledText says who has changed the devices in use, to how many, and what came before. */
function scaledText({ serves, tuner, inUse, inLastS, inLast10S }: ScaledDevice): string {
  const who = tuner === undefined ? 'the schedule of the policy' : `the tuner ${tuner}`;
  const devices = `${inUse} ${inUse === 1 ? 'device' : 'devices'}`;
  return `${who} has ${devices} in use for ${serves.join(', ')}; ${requests(inLastS)} came in the last second, ${inLast10S} in the last 10 s`;
}

/** stoppedText says what became of all requests. */
function stoppedText({ outcomes, unsent, crossed }: Extract<ServeEvent, { kind: 'closed' }>): string {
  const { refused, ...ended } = outcomes;
  const sum = Object.values(ended).reduce((total, count) => total + count, 0);
  const told = Object.entries(ended).map(([outcome, count]) => `${count} ${outcome.replace('_', ' ')}`);
  const invalid = refused === 0 ? '' : `; ${refused} more ${were(refused)} not valid`;
  const lost = unsent === 0 ? '' : `; ${unsent} of the answers could not be sent`;
  const late = crossed === 0 ? '' : `; ${crossed} more came as the server closed`;
  return `stopped: of ${requests(sum)}, ${told.join(', ')}${lost}${invalid}${late}`;
}

function requests(count: number): string {
  return `${count} ${count === 1 ? 'request' : 'requests'}`;
}

function were(count: number): string {
  return count === 1 ? 'was' : 'were';
}

function percentText(share: number): string {
  return `${Math.round(100 * share)} %`;
}
