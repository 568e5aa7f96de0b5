import { Command } from 'commander';
import { EXIT } from '../exit.js';
import { positiveNumber, wholeNumber, withJson } from '../options.js';
import { fileOf } from '../output.js';
import { action } from '../run.js';

interface Options {
  model?: string;
  requests: number;
  rps?: number;
  refusals: number;
  output?: string;
}

/** profileEngineCommand makes `plan profile engine`, which measures what an engine takes beside its devices. */
export function profileEngineCommand(): Command {
  return withJson(
    new Command('engine')
      .description(
        'Measure what an engine takes of requests beside its devices: its ingress, and the hops to its stages. Nobody else may use the deployment meanwhile.',
      )
      .argument('<url>', 'deployment of a bundle for that engine, such as http://127.0.0.1:8000')
      .option('--model <name>', 'model to ask; it may be left out if the deployment has only one')
      .option('--requests <n>', 'requests that stages answer', wholeNumber, 100)
      .option(
        '--rps <rate>',
        'how many of them come each second; half of the planned rate where the server tells it',
        positiveNumber,
      )
      .option('--refusals <n>', 'requests that the ingress alone answers', wholeNumber, 400)
      .option('-o, --output <file>', 'write the engine profile here; - is stdout')
      .action(
        action<[string], Options>(async ({ terminal, signal }, { output, ...options }, url) => {
          const { profileEngine } = await import('../../api/index.js');
          const { engineLines } = await import('../../report/index.js');
          const profile = await profileEngine(url, { ...options, output: fileOf(output), signal });
          for (const line of engineLines(profile)) terminal.line(line);
          await terminal.artifact('engine profile', output, profile);
          terminal.document(profile);
          return EXIT.done;
        }),
      ),
  );
}
