import { Command, Option } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import {
  countingNumber,
  each,
  notNegative,
  positiveNumber,
  seconds,
  share,
  traceFormatOption,
  wholeNumber,
  withJson,
} from '../options.js';
import { fileOf } from '../output.js';
import { action, type Context } from '../run.js';

interface Options {
  rps?: string[];
  duration?: number;
  trace?: string[];
  samples?: string[];
  labels?: string;
  traceFormat?: 'perf-analyzer-intervals';
  model?: string;
  arrivals?: 'poisson' | 'uniform' | 'gamma';
  cv?: number;
  seed: number;
  slo?: number;
  rows: number;
  priorities?: string;
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
      .option('--rps <rate>', 'requests per second; with --trace its mean, or model=500 (repeatable)', each)
      .option(
        '--duration <time>',
        'how long requests are sent, such as 10s (default with --trace: the whole trace)',
        seconds,
      )
      .option(
        '--trace <file>',
        'send at the times of a trace, as plan simulate --trace has them; model=file for one model (repeatable)',
        each,
      )
      .addOption(traceFormatOption())
      .option(
        '--samples <file>',
        'send these requests in turn, in place of random ones: .npy, .npz, .csv, .json or .jsonl (repeatable)',
        each,
      )
      .option(
        '--labels <file>',
        'the classes of the samples, to count right answers: .npy, or one on each line',
      )
      .option(
        '--model <name>',
        'model to ask; it may be left out if the server has only one, or with --trace',
      )
      .addOption(
        new Option(
          '--arrivals <process>',
          "how requests arrive (default poisson), or how they lie in a trace's intervals",
        ).choices(['poisson', 'uniform', 'gamma']),
      )
      .option('--cv <c>', 'how bursty gamma arrivals are: 0 is even, 1 is as poisson', notNegative)
      .option('--seed <n>', 'seed of arrivals and inputs', countingNumber, 0)
      .option('--rows <n>', 'rows in one request', wholeNumber, 1)
      .option(
        '--priorities <shares>',
        'what requests send as priority, and their shares, such as 1=0.1,2=0.9 (0 is the default level)',
      )
      .option('--slo <ms>', "latency objective, if it is not the server's", positiveNumber)
      .option('--fail-under <share>', 'exit with 6 if attainment is below this, such as 99%', share)
      .option('-o, --output <file>', 'write the report here (JSON); - is stdout')
      .action(action<[string], Options>(driveServer)),
  );
}

async function driveServer(
  { terminal, signal, progress, inFlags }: Context,
  { trace: traces, slo: sloMs, duration: durationS, failUnder, ...options }: Options,
  url: string,
): Promise<ExitCode> {
  const { loadServer } = await import('../../api/index.js');
  const { answeredByLine, labelledLine, loadModelTable, loadPriorityTable, loadTable } = await import(
    '../../report/index.js'
  );
  const shown = await progress();
  const report = await loadServer(url, {
    ...given({ ...options, sloMs, durationS }),
    traces,
    output: fileOf(options.output),
    signal,
    onProgress: ({ sent, done, seconds: at, ofSeconds }) =>
      shown.show({ doing: `${sent} sent, ${done} done`, fraction: Math.min(1, at / ofSeconds) }),
  });
  shown.stop();
  await terminal.table(loadTable(report));
  if (report.labelled !== undefined) terminal.line(labelledLine(report.labelled));
  if (report.answeredBy !== undefined) terminal.line(answeredByLine(report.answeredBy));
  if (report.models !== undefined) {
    terminal.line();
    await terminal.table(loadModelTable(report.models));
  }
  if (report.priorities !== undefined) {
    terminal.line();
    await terminal.table(loadPriorityTable(report.priorities));
  }
  await terminal.artifact('report', options.output, report);
  terminal.document(report);
  for (const note of report.notes ?? []) terminal.note(`of the plan: ${note}`);
  if (signal.aborted) return EXIT.interrupted;
  for (const warning of report.warnings) await terminal.warn(inFlags(warning));
  const asked = (report.models ?? []).filter(({ sent }) => sent > 0);
  for (const { name, sent } of report.models ?? [])
    if (sent === 0)
      await terminal.warn(
        `${name} got no requests, so nothing is said of it, whatever attainment is asked for`,
      );
  const shares = [report, ...asked];
  const isUnder = failUnder !== undefined && shares.some(({ attainment = 0 }) => attainment < failUnder);
  return isUnder || report.failed > 0 ? EXIT.checkFailed : EXIT.done;
}

/** given leaves out options that were not given, which the library does not take as undefined. */
function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
