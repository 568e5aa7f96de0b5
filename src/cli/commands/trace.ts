import { Command, Option } from 'commander';
import type { ConvertTraceOptions, MadeTrace } from '../../api/index.js';
import { EXIT, type ExitCode } from '../exit.js';
import {
  arrivalsOption,
  countingNumber,
  cvOption,
  positiveNumber,
  seconds,
  traceFormatOption,
  withJson,
  withWindow,
} from '../options.js';
import { fileOf } from '../output.js';
import { action, type Context } from '../run.js';

/** traceCommand makes `plan trace`, which describes traces, and writes them with another format, rate or duration. */
export function traceCommand(): Command {
  return new Command('trace')
    .description(
      'Describe traces of requests, convert them to the CSV of inferplan, give them another rate or duration, or take a window of them.',
    )
    .addCommand(describeCommand())
    .addCommand(convertCommand())
    .addCommand(rescaleCommand())
    .addCommand(sliceCommand());
}

interface DescribeOptions {
  window?: number;
  traceFormat?: 'perf-analyzer-intervals';
}

function describeCommand(): Command {
  return withJson(
    new Command('describe')
      .description('Show requests, rates, burstiness and gaps, and the share of each trace in all.')
      .argument('<trace...>', 'trace files; model=file names the model that a trace is for')
      .option(
        '--window <time>',
        'length of the windows whose rates are shown (default 1s, or the longest interval)',
        seconds,
      )
      .addOption(traceFormatOption()),
  ).action(
    action<[string[]], DescribeOptions>(async ({ terminal, signal }, options, traces) => {
      const { describeTraces } = await import('../../api/index.js');
      const { traceTable } = await import('../../report/index.js');
      const document = await describeTraces(traces, { ...options, signal });
      terminal.document(document);
      await terminal.table(traceTable(document));
      return EXIT.done;
    }),
  );
}

type ConvertOptions = Omit<ConvertTraceOptions, 'output' | 'signal'> & { output: string };

function convertCommand(): Command {
  return withJson(
    new Command('convert')
      .description(
        'Write a trace of any known format as the CSV of inferplan: arrival_s, or interval_s,count.',
      )
      .argument('<trace>', 'trace file')
      .addOption(
        new Option(
          '--to <what>',
          'arrival times, or counts per interval (default: what the trace has)',
        ).choices(['arrivals', 'counts']),
      )
      .option('--interval <time>', 'length of the intervals to count in, such as 1s', seconds)
      .addOption(
        arrivalsOption(
          'how the requests of an interval lie in it, with --to arrivals (default poisson, as plan simulate)',
        ),
      )
      .addOption(cvOption())
      .option('--seed <n>', 'seed of all random draws', countingNumber, 0)
      .requiredOption('-o, --output <file>', 'write the trace here (CSV); - is stdout')
      .addOption(traceFormatOption()),
  ).action(
    action<[string], ConvertOptions>(async (context, options, trace) => {
      const { convertTrace } = await import('../../api/index.js');
      const { signal } = context;
      return show(
        context,
        options.output,
        await convertTrace(trace, { ...options, output: fileOf(options.output), signal }),
        options.to === 'arrivals' && options.arrivals !== 'uniform'
          ? '; --arrivals uniform keeps each count'
          : '',
      );
    }),
  );
}

interface RescaleOptions {
  rps?: number;
  duration?: number;
  seed: number;
  traceFormat?: 'perf-analyzer-intervals';
  output: string;
}

function rescaleCommand(): Command {
  return withJson(
    new Command('rescale')
      .description(
        'Give a trace another mean rate or duration, and keep its shape. With both, requests are left out or added at random.',
      )
      .argument('<trace>', 'trace file')
      .option(
        '--rps <rate>',
        'mean rate in requests per second, as plan simulate --rps takes it',
        positiveNumber,
      )
      .option('--duration <time>', 'time from the start to the last request, such as 10min', seconds)
      .option('--seed <n>', 'seed of the requests that are left out or added', countingNumber, 0)
      .requiredOption('-o, --output <file>', 'write the trace here (CSV); - is stdout')
      .addOption(traceFormatOption()),
  ).action(
    action<[string], RescaleOptions>(async (context, options, trace) => {
      const { rescaleTrace } = await import('../../api/index.js');
      const { signal } = context;
      return show(
        context,
        options.output,
        await rescaleTrace(trace, { ...options, output: fileOf(options.output), signal }),
      );
    }),
  );
}

interface SliceOptions {
  from?: number;
  to?: number;
  busiest?: number;
  traceFormat?: 'perf-analyzer-intervals';
  output: string;
}

function sliceCommand(): Command {
  return withJson(
    withWindow(
      new Command('slice')
        .description('Take a window of a trace, or the one with the most requests. It then begins at 0.')
        .argument('<trace>', 'trace file'),
    )
      .option(
        '--busiest <time>',
        'take the window of this length with the most requests, such as 1h',
        seconds,
      )
      .requiredOption('-o, --output <file>', 'write the trace here (CSV); - is stdout')
      .addOption(traceFormatOption()),
  ).action(
    action<[string], SliceOptions>(async (context, options, trace) => {
      const { sliceTrace } = await import('../../api/index.js');
      const { signal } = context;
      return show(
        context,
        options.output,
        await sliceTrace(trace, { ...options, output: fileOf(options.output), signal }),
      );
    }),
  );
}

async function show(
  { terminal }: Context,
  output: string,
  { document, pieces }: MadeTrace,
  advice = '',
): Promise<ExitCode> {
  const { requestsText, traceTable, windowText } = await import('../../report/index.js');
  terminal.document(document);
  await terminal.table(traceTable(document));
  const window = windowText(document);
  if (window !== undefined) terminal.line(window);
  const requests = requestsText(document);
  if (requests !== undefined) terminal.line(`${requests}${advice}`);
  await terminal.textArtifact('trace', output, pieces());
  return EXIT.done;
}
