import { Command, Option } from 'commander';
import { EXIT } from '../exit.js';
import { countingNumber, positiveNumber, seconds, share, wholeNumber, withJson } from '../options.js';
import { fileOf } from '../output.js';
import { action } from '../run.js';

interface Options {
  rps: number;
  duration: number;
  model?: string;
  arrivals: 'poisson' | 'uniform';
  seed: number;
  slo?: number;
  rows: number;
  failUnder?: number;
  output?: string;
}

/** loadCommand makes `plan load`, an open-loop client that drives a server and reports what came back. */
export function loadCommand(): Command {
  return withJson(
    new Command('load')
      .description(
        'Drive a server with an open-loop load: throughput, latency from the intended send times, attainment, drops. Exits with 6 when a request failed.',
      )
      .argument('<url>', 'server, such as http://127.0.0.1:8000')
      .requiredOption('--rps <rate>', 'requests per second', positiveNumber)
      .requiredOption('--duration <time>', 'how long requests are sent, such as 10s', seconds)
      .option('--model <name>', 'model to ask; it may be left out if the server has only one')
      .addOption(
        new Option('--arrivals <process>', 'how requests arrive')
          .choices(['poisson', 'uniform'])
          .default('poisson'),
      )
      .option('--seed <n>', 'seed of arrivals and inputs', countingNumber, 0)
      .option('--rows <n>', 'rows in one request', wholeNumber, 1)
      .option('--slo <ms>', "latency objective, if it is not the server's", positiveNumber)
      .option('--fail-under <share>', 'exit with 6 if attainment is below this, such as 0.99', share)
      .option('-o, --output <file>', 'write the report here (JSON); - is stdout')
      .action(
        action<[string], Options>(async ({ terminal, signal, progress }, options, url) => {
          const { loadServer } = await import('../../api/index.js');
          const { loadTable } = await import('../../report/index.js');
          const shown = await progress();
          const report = await loadServer(url, {
            rps: options.rps,
            durationS: options.duration,
            arrivals: options.arrivals,
            seed: options.seed,
            rows: options.rows,
            output: fileOf(options.output),
            ...(options.model === undefined ? {} : { model: options.model }),
            ...(options.slo === undefined ? {} : { sloMs: options.slo }),
            signal,
            onProgress: ({ sent, done, seconds: at, ofSeconds }) =>
              shown.show({ doing: `${sent} sent, ${done} done`, fraction: Math.min(1, at / ofSeconds) }),
          });
          shown.stop();
          await terminal.table(loadTable(report));
          await terminal.artifact('report', options.output, report);
          terminal.document(report);
          if (signal.aborted) return EXIT.interrupted;
          for (const warning of report.warnings) await terminal.warn(warning);
          const isUnder = options.failUnder !== undefined && (report.attainment ?? 0) < options.failUnder;
          return isUnder || report.failed > 0 ? EXIT.checkFailed : EXIT.done;
        }),
      ),
  );
}
