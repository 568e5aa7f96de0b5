import { Command, InvalidArgumentError } from 'commander';
import type { SimulationSweep } from '../../formats/index.js';
import type { SimulationProgress } from '../../simulation/index.js';
import { EXIT, type ExitCode } from '../exit.js';
import {
  arrivalsOption,
  countingNumber,
  cvOption,
  each,
  OTHER_SCHEDULERS,
  positiveNumber,
  seconds,
  share,
  traceFormatOption,
  wholeNumber,
  withJson,
  withStrict,
  withWindow,
} from '../options.js';
import { fileOf } from '../output.js';
import { withReporter } from '../reporter.js';
import { action, type Context } from '../run.js';
import { warnUnchecked } from '../unchecked.js';
import { simulateSchedulers } from './simulate-schedulers.js';

interface Options {
  trace?: string[];
  traceFormat?: 'perf-analyzer-intervals';
  from?: number;
  to?: number;
  arrivals?: 'poisson' | 'uniform' | 'gamma';
  cv?: number;
  rps?: string[];
  load?: number;
  duration?: number;
  phase?: string[];
  scheduler?: string;
  schedulers?: string;
  preset?: string;
  policy?: string[];
  tuner?: string;
  engine?: string;
  priorities?: string;
  verdicts?: string;
  records?: string;
  seed: number;
  jitter?: 'profile' | number;
  slow?: number;
  runs?: number;
  windows?: number;
  exact?: boolean;
  timeline?: string;
  sweep?: string;
  failUnder?: number;
  output?: string;
  strict?: boolean;
}

/**
 * simulateCommand makes `plan simulate`, which shows in virtual time whether a plan holds: a scheduler against the
 * plan's latencies and links.
 */
export function simulateCommand(): Command {
  const command = new Command('simulate')
    .description(
      'Run a plan in virtual time, at one load or at many: attainment, goodput, latencies, utilisation.',
    )
    .argument('<plan>', 'plan file; or the folder of a bundle, whose devices are all on one machine');
  return withJson(
    withReporter(withStrict(withReportOptions(withRunOptions(withLoadOptions(command))))),
  ).action(
    action<[string], Options>(async (context, options, plan) => {
      const { schedulers, sweep } = options;
      if (schedulers !== undefined) return simulateSchedulers(context, { ...options, schedulers }, plan);
      return sweep === undefined
        ? simulateOnce(context, options, plan)
        : simulateSweep(context, { ...options, sweep }, plan);
    }),
  );
}

/** withLoadOptions adds the options that say which requests arrive. */
function withLoadOptions(command: Command): Command {
  return withWindow(command)
    .option(
      '--load <factor>',
      "offer each model this multiple of its planned rate (default 0.9, or the rates that the plan holds); with --trace, the trace's mean",
      positiveNumber,
    )
    .option('--rps <rate>', 'offer 500 requests/s, shared by weight, or model=500 (repeatable)', each)
    .addOption(
      arrivalsOption(
        "how requests arrive (default poisson, or as the plan says: as it was planned for or confirmed), or how they lie in a trace's intervals",
      ),
    )
    .addOption(cvOption(': 0 is even, 1 is as poisson, 4 is very bursty (default that of the plan)'))
    .option(
      '--duration <time>',
      'how long requests arrive, such as 60s or 10min (default 30s, or as the plan was planned for or confirmed, or the whole trace)',
      seconds,
    )
    .option(
      '--phase <phase>',
      'a load that changes: 60s,load=0.5 or 2min,rps=300,cv=4,over=30s or 60s,model=200 (repeatable, in order)',
      each,
    )
    .option(
      '--trace <file>',
      'arrivals from a file: arrival_s per line, or interval_s,count, or a known published format; model=file for one model (repeatable)',
      each,
    )
    .addOption(traceFormatOption());
}

/** withRunOptions adds the options that say how requests are served. */
function withRunOptions(command: Command): Command {
  return command
    .option('--scheduler <name>', OTHER_SCHEDULERS)
    .option(
      '--schedulers <names>',
      'compare schedulers with the same requests: all that can serve the plan, or names such as fifo,reactive',
    )
    .option('--preset <name>', "published: every choice as in PPipe's published simulator")
    .option(
      '--policy <choice>',
      'a choice of the scheduler, such as firstSight=never, or a policy file (repeatable); with --schedulers it applies where it exists',
      each,
    )
    .option(
      '--tuner <name>',
      "what changes the replicas of a pipeline, in place of the plan's tuner: inferline, coarse, ds2, hpa, kpa, by-rate, oracle or none",
    )
    .option(
      '--engine <file>',
      'what the engine of ray-serve, ray-serve-batch or triton takes beside its devices, from an engine profile',
    )
    .option(
      '--priorities <shares>',
      "what requests send as priority, and their shares, such as 1=0.1,2=0.9; the plan's serving.priorities says what each weighs",
    )
    .option(
      '--verdicts <file>',
      'what the models of a pipeline say, from a CSV file with a column per conditional edge, such as detect>read, and a line per request',
    )
    .option(
      '--records <file>',
      'what the models of a gear plan say of samples, in place of the records that the plan was made from',
    )
    .option('--seed <n>', 'seed of all random draws', countingNumber, 0)
    .option(
      '--jitter <spread>',
      'how executions vary: profile (as the profiles say), or a coefficient of variation',
      jitter,
    )
    .option(
      '--slow <factor>',
      'executions take this multiple of the planned time, such as 1.1',
      positiveNumber,
    );
}

/** withReportOptions adds the options that choose the figures of the report. */
function withReportOptions(command: Command): Command {
  return command
    .option(
      '--runs <n>',
      'simulate this many seeds, from --seed on, and give means with 95 % confidence intervals',
      wholeNumber,
    )
    .option('--windows <time>', 'also give figures by windows of this length, such as 1s', seconds)
    .option('--exact', 'give exact percentiles, which takes 32 bytes per request (default: within 0.2 %)')
    .option('--timeline <file>', 'write every batch as a trace for ui.perfetto.dev')
    .option(
      '--sweep <range>',
      'simulate many loads, such as load=0.05..1.0 (:n gives the number of points), and find the largest with 99 % in time',
    )
    .option(
      '--fail-under <share>',
      'exit with 6 if attainment, of all requests or of one model, is below this, such as 99%; of several runs, the lower end of its interval',
      share,
    )
    .option('-o, --output <file>', 'write the report here (JSON); - is stdout');
}

async function simulateOnce(
  { terminal, signal, progress, inFlags }: Context,
  { trace: traces, phase: phases, ...options }: Options,
  plan: string,
): Promise<ExitCode> {
  const { simulatePlan } = await import('../../api/index.js');
  const { isHeld } = await import('../../formats/index.js');
  const { checkCases, groupedWarnings, missedLines, simulationParts } = await import('../../report/index.js');
  const shown = await progress();
  const { report, warnings } = await simulatePlan(plan, {
    ...options,
    output: fileOf(options.output),
    traces,
    phases,
    signal,
    onProgress: (step) => shown.show(progressStep(step)),
    onNote: (text) => shown.note(text),
    onRuns: ({ done, of, leftMs }) =>
      shown.show({ doing: `${done} of ${of} runs`, fraction: done / of, leftMs }),
  });
  shown.stop();
  terminal.document(report);
  await terminal.parts(simulationParts(report));
  await terminal.artifact('report', options.output, report);
  if (options.timeline) terminal.line(`timeline: ${options.timeline} (open it at ui.perfetto.dev)`);
  await warnUnchecked({ terminal, inFlags }, report);
  await terminal.remarks(groupedWarnings(report.notes ?? []).map((note) => `of the plan: ${note}`));
  await terminal.warnings(warnings.map(inFlags));
  if (!report.complete) return EXIT.interrupted;
  terminal.judge(checkCases(report, 'the plan is simulated'));
  for (const said of missedLines(report)) await terminal.error(said);
  return isHeld(report) ? EXIT.done : EXIT.checkFailed;
}

async function simulateSweep(
  { terminal, signal, progress, inFlags }: Context,
  { trace: traces, ...options }: Options & { sweep: string },
  plan: string,
): Promise<ExitCode> {
  await refuseWithSweep(options, plan);
  const { sweepPlan } = await import('../../api/index.js');
  const { largestLoads, pointCases, sweepTable } = await import('../../report/index.js');
  const shown = await progress();
  const document: SimulationSweep = await sweepPlan(plan, {
    ...options,
    output: fileOf(options.output),
    traces,
    signal,
    onNote: (text) => shown.note(text),
    onProgress: ({ done, of, leftMs }) =>
      shown.show({ doing: `${done} of ${of} loads`, fraction: done / of, leftMs }),
  });
  shown.stop();
  terminal.document(document);
  await terminal.parts([...largestLoads(document), '', sweepTable(document)]);
  await terminal.artifact('sweep', options.output, document);
  await warnUnchecked({ terminal, inFlags }, document);
  terminal.judge(pointCases(document));
  return document.complete ? EXIT.done : EXIT.interrupted;
}

/** refuseWithSweep refuses options that belong to one run and have no meaning over a sweep. */
async function refuseWithSweep(options: Options, plan: string): Promise<void> {
  const { InputError } = await import('../../formats/index.js');
  const single = {
    load: '--load',
    rps: '--rps',
    phase: '--phase',
    runs: '--runs',
    windows: '--windows',
    timeline: '--timeline',
    failUnder: '--fail-under',
  };
  const faults = Object.entries(single)
    .filter(([name]) => options[name as keyof Options] !== undefined)
    .map(([, path]) => ({ path, message: 'is for one run, not for --sweep' }));
  if (faults.length > 0) throw new InputError(`sweep ${plan}`, faults);
}

function progressStep({ seconds: at, ofSeconds, requests }: SimulationProgress): {
  doing: string;
  fraction: number;
} {
  return {
    doing: `${at.toFixed(1)} of ${ofSeconds.toFixed(1)} s simulated, ${requests} requests`,
    fraction: Math.min(1, at / ofSeconds),
  };
}

/** jitter parses `profile` or a coefficient of variation, such as `0.1` or `cv=0.1`. */
function jitter(text: string): 'profile' | number {
  if (text === 'profile') return text;
  const value = Number(text.replace(/^cv=/, ''));
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError(
      `"${text}" is neither profile nor a coefficient of variation such as 0.1.`,
    );
  return value;
}
