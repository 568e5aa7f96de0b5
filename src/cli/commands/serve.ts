import { once } from 'node:events';
import { Command } from 'commander';
import type { ProgressStep } from '../../api/index.js';
import type { ServeEvent } from '../../runtime/index.js';
import { EXIT } from '../exit.js';
import { each, OTHER_SCHEDULERS, portNumber, seconds, wholeNumber, withJson } from '../options.js';
import { action } from '../run.js';

const MIB = 1024 * 1024;

interface Options {
  host: string;
  port: number;
  scheduler?: string;
  policy?: string[];
  tuner?: string;
  maxBody: number;
  maxBodies: number;
  requestTimeout: number;
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
    .option('--max-body <MiB>', 'largest request body', wholeNumber, 64)
    .option('--max-bodies <MiB>', 'most memory for the bodies of all open requests', wholeNumber, 512)
    .option('--request-timeout <time>', 'how long a client may take to send a request', seconds, 60);
}

/** serveCommand makes `plan serve`, which serves a bundle until Ctrl-C. */
export function serveCommand(): Command {
  return withJson(
    servedBundle().action(
      action<[string], Options>(async ({ terminal, signal, progress }, options, bundle) => {
        const { serveBundle } = await import('../../api/index.js');
        const shown = await progress();
        let ready = false;
        const warnings: string[] = [];
        shown.show({ doing: 'loading models' });
        const server = await serveBundle(bundle, {
          host: options.host,
          port: options.port,
          scheduler: options.scheduler,
          policy: options.policy,
          tuner: options.tuner,
          maxBodyBytes: options.maxBody * MIB,
          maxBodiesBytes: options.maxBodies * MIB,
          requestTimeoutMs: Math.ceil(options.requestTimeout * 1000),
          signal,
          onLog: (event) => {
            if (event.kind === 'loading') shown.show(loadingStep(event));
            if (event.kind === 'crowded')
              warnings.push(`${event.why}; plan for fewer devices, or serve on a larger host`);
            const text = ready ? eventText(event) : undefined;
            if (text !== undefined) terminal.note(text);
          },
        });
        shown.stop();
        ready = true;
        for (const warning of warnings) await terminal.warn(warning);
        terminal.line(`ready: ${server.url}`);
        const { emittedHead } = await import('../../artifacts/index.js');
        terminal.document({ ...emittedHead('server', []), url: server.url });
        if (!signal.aborted) await Promise.race([once(signal, 'abort'), server.closed]);
        await server.close();
        terminal.note('stopped: every request was answered');
        return EXIT.done;
      }),
    ),
  );
}

function loadingStep({ device, done, of }: Extract<ServeEvent, { kind: 'loading' }>): ProgressStep {
  return { doing: `loading models on ${device}`, fraction: of === 0 ? 1 : done / of };
}

/** eventText describes an event in words. It is undefined for events that are shown in another way. */
function eventText(event: ServeEvent): string | undefined {
  switch (event.kind) {
    case 'deviceDown':
      return `${event.device} is down: ${event.why}`;
    case 'deviceUp':
      return `${event.device} is up`;
    case 'notStarted':
      return `${event.device} did not start, and is tried again: ${event.why}`;
    case 'batchFailed':
      return `a batch failed on ${event.device}: ${event.why}`;
    case 'loadStrayed':
      return `for ${percentText(event.share)} of the time the load is in other ranges than planned; plan for the distribution that comes`;
    case 'draining':
      return `answering the ${event.pending} requests that are still open`;
    case 'loading':
    case 'crowded':
    case 'ready':
    case 'closed':
      return undefined;
  }
}

function percentText(share: number): string {
  return `${Math.round(100 * share)} %`;
}
