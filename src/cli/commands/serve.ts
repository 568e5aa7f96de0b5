import { once } from 'node:events';
import { Command, Option } from 'commander';
import type { ProgressStep, ServeEvent } from '../../api/index.js';
import { EXIT } from '../exit.js';
import { portNumber, wholeNumber, withJson } from '../options.js';
import { action } from '../run.js';

const SCHEDULERS = ['stage-local', 'reservation'] as const;

interface Options {
  host: string;
  port: number;
  scheduler: (typeof SCHEDULERS)[number];
  maxBody: number;
}

/** serveCommand makes `plan serve`, which serves a bundle until Ctrl-C. */
export function serveCommand(): Command {
  return withJson(
    new Command('serve')
      .description(
        'Serve a bundle over HTTP (Open Inference Protocol, REST), with batching and dropping, until Ctrl-C.',
      )
      .argument('<bundle>', 'folder of the bundle')
      .option('--host <address>', 'address to listen on', '127.0.0.1')
      .option('--port <number>', 'port to listen on; 0 takes any free one', portNumber, 8000)
      .addOption(
        new Option(
          '--scheduler <name>',
          'stage-local: every pool decides for itself; reservation: a batch reserves devices over its whole way, as in plan simulate by default',
        )
          .choices(SCHEDULERS)
          .default('stage-local'),
      )
      .option('--max-body <MiB>', 'largest request body', wholeNumber, 64)
      .action(
        action<[string], Options>(async ({ terminal, signal, progress }, options, bundle) => {
          const { serveBundle } = await import('../../api/index.js');
          const shown = await progress();
          let ready = false;
          shown.show({ doing: 'loading models' });
          const server = await serveBundle(bundle, {
            host: options.host,
            port: options.port,
            scheduler: options.scheduler,
            maxBodyBytes: options.maxBody * 1024 * 1024,
            signal,
            onLog: (event) => {
              if (event.kind === 'loading') shown.show(loadingStep(event));
              const text = ready ? eventText(event) : undefined;
              if (text !== undefined) terminal.note(text);
            },
          });
          shown.stop();
          ready = true;
          terminal.line(`ready: ${server.url}`);
          terminal.document({ url: server.url });
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

/** eventText says in words what happened. It is undefined for events that are told in another way. */
function eventText(event: ServeEvent): string | undefined {
  switch (event.kind) {
    case 'deviceDown':
      return `${event.device} is down: ${event.why}`;
    case 'deviceUp':
      return `${event.device} is up again`;
    case 'batchFailed':
      return `a batch failed on ${event.device}: ${event.why}`;
    case 'draining':
      return `answering the ${event.pending} requests that are still open`;
    case 'loading':
    case 'ready':
    case 'closed':
      return undefined;
  }
}
