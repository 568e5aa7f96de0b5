import { Command, Option } from 'commander';
import type { LoadDocument } from '../../formats/index.js';
import { EXIT, type ExitCode } from '../exit.js';
import {
  arrivalsOption,
  countingNumber,
  cvOption,
  each,
  positiveNumber,
  seconds,
  share,
  traceFormatOption,
  waitSeconds,
  wholeNumber,
  withJson,
  withWindow,
} from '../options.js';
import { fileOf } from '../output.js';
import { withReporter } from '../reporter.js';
import { action, type Context } from '../run.js';

interface Options {
  rps?: string[];
  duration?: number;
  trace?: string[];
  samples?: string[];
  labels?: string;
  traceFormat?: 'perf-analyzer-intervals';
  from?: number;
  to?: number;
  model?: string;
  arrivals?: 'poisson' | 'uniform' | 'gamma';
  cv?: number;
  seed: number;
  slo?: number;
  rows: number;
  tensors?: 'binary' | 'json';
  priorities?: string;
  failUnder?: number;
  output?: string;
  header?: string[];
  tokenFile?: string;
  sslCaCerts?: string;
  sslCertfile?: string;
  sslKeyfile?: string;
  insecure?: boolean;
  timeout: number;
  maxRequest: number;
  maxAnswer: number;
  maxAnswers: number;
  maxDescription: number;
}

/** letIn adds the options that say what the client shows, and whom it trusts. */
function letIn(command: Command): Command {
  return command
    .option('-H, --header <line>', 'a header of every request, such as "X-Tenant: a" (repeatable)', each)
    .option('--token-file <file>', 'send the token of this file, which holds one: name:token, or it alone')
    .option(
      '--ssl-ca-certs <file>',
      "trust a server whose certificate one of these signs, in place of the system's",
    )
    .option('--ssl-certfile <file>', 'show this certificate, in PEM')
    .option('--ssl-keyfile <file>', "its key in PEM (default: in the certificate's file)")
    .option('--insecure', "look at no server's certificate");
}

/** bounded adds the limits of what a server may ask for and send. */
function bounded(command: Command): Command {
  return command
    .option('--timeout <time>', 'how long an answer may take to begin, and then to be whole', waitSeconds, 30)
    .option('--max-request <MiB>', "largest request that a server's metadata may ask for", wholeNumber, 64)
    .option('--max-answer <MiB>', 'largest answer', wholeNumber, 64)
    .option('--max-answers <MiB>', 'most memory for the answers that are being read', wholeNumber, 512)
    .option('--max-description <MiB>', 'most that a server may tell of itself', wholeNumber, 16);
}

const MIB = 1024 * 1024;

/** loadCommand makes `plan load`, an open-loop client that drives a server and reports what came back. */
export function loadCommand(): Command {
  return withJson(withReporter(letIn(bounded(drivingLoad()))).action(action<[string], Options>(driveServer)));
}

/** drivingLoad is the command with its argument and the options of the load. */
function drivingLoad(): Command {
  return withWindow(new Command('load'))
    .description(
      'Drive a server with an open-loop load: throughput, latency from the intended send times, attainment, drops. Exits with 6 when a request failed.',
    )
    .argument('<url>', 'server, such as http://127.0.0.1:8000, or http://host/prefix behind a proxy')
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
    .option('--model <name>', 'model to ask; it may be left out if the server has only one, or with --trace')
    .addOption(
      arrivalsOption("how requests arrive (default poisson), or how they lie in a trace's intervals"),
    )
    .addOption(cvOption(': 0 is even, 1 is as poisson'))
    .option('--seed <n>', 'seed of arrivals and inputs', countingNumber, 0)
    .option('--rows <n>', 'rows in one request', wholeNumber, 1)
    .addOption(
      new Option(
        '--tensors <as>',
        'how requests carry tensors (default: binary where the server tells that it takes it)',
      ).choices(['binary', 'json']),
    )
    .option(
      '--priorities <shares>',
      'what requests send as priority, and their shares, such as 1=0.1,2=0.9 (0 is the default level)',
    )
    .option('--slo <ms>', "latency objective, if it is not the server's", positiveNumber)
    .option(
      '--fail-under <share>',
      'exit with 6 if attainment, of all requests or of one model, is below this, such as 99%; needs an SLO',
      share,
    )
    .option('-o, --output <file>', 'write the report here (JSON); - is stdout');
}

async function driveServer(
  { terminal, signal, progress, inFlags }: Context,
  { trace: traces, ...options }: Options,
  url: string,
): Promise<ExitCode> {
  const { loadServer } = await import('../../api/index.js');
  const { isHeld } = await import('../../formats/index.js');
  const { checkCases, groupedWarnings, missedLines } = await import('../../report/index.js');
  const shown = await progress();
  const report = await loadServer(url, {
    ...given({ ...options, ...inUnits(options) }),
    traces,
    output: fileOf(options.output),
    signal,
    onReport: async (report) => {
      shown.stop();
      await showReport(terminal, report);
    },
    onProgress: ({ sent, done, seconds: at, ofSeconds }) =>
      shown.show({ doing: `${sent} sent, ${done} done`, fraction: Math.min(1, at / ofSeconds) }),
  });
  await terminal.artifact('report', options.output, report);
  await terminal.remarks(groupedWarnings(report.notes ?? []).map((note) => `of the plan: ${note}`));
  if (signal.aborted) return EXIT.interrupted;
  await terminal.warnings(report.warnings.map(inFlags));
  for (const { name, sent } of report.models ?? [])
    if (sent === 0)
      await terminal.warn(
        `${name} got no requests, so nothing is said of it, whatever attainment is asked for`,
      );
  terminal.judge(checkCases(report, 'the server is loaded'));
  for (const said of missedLines(report)) await terminal.error(said);
  return isHeld(report) ? EXIT.done : EXIT.checkFailed;
}

/** showReport prints the figures of a load, as a document or as tables. */
async function showReport(terminal: Context['terminal'], report: LoadDocument): Promise<void> {
  const { answeredByLine, labelledLine, loadModelTable, loadPriorityTable, loadTable } = await import(
    '../../report/index.js'
  );
  terminal.document(report);
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
}

/** inUnits gives the options that the library has under names with a unit, and those that are given more than once. */
function inUnits({ slo, duration, timeout, header, ...options }: Omit<Options, 'trace'>) {
  const { maxRequest, maxAnswer, maxAnswers, maxDescription } = options;
  return {
    sloMs: slo,
    durationS: duration,
    timeoutS: timeout,
    headers: header,
    maxRequestBytes: maxRequest * MIB,
    maxAnswerBytes: maxAnswer * MIB,
    maxAnswersBytes: maxAnswers * MIB,
    maxDescriptionBytes: maxDescription * MIB,
  };
}

/** given leaves out options that were not given, which the library does not take as undefined. */
function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
