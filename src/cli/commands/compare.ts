import { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit.js';
import { each, gap, openShare, positiveNumber, wholeNumber, withJson } from '../options.js';
import { fileOf } from '../output.js';
import { withReporter } from '../reporter.js';
import { action, type Context } from '../run.js';

interface Options {
  mix?: string[];
  mixFile?: string;
  budget?: number;
  sweep?: string[];
  strictProfile?: boolean;
  output?: string;
  gap?: number;
  work?: number;
  timeLimit?: number;
  hold?: number;
}

/** compareCommand makes `plan compare`, which answers capacity questions: clusters, SLOs or margins side by side. */
export function compareCommand(): Command {
  return withJson(
    withReporter(new Command('compare'))
      .description(
        'Plan a spec for several mixes of devices, SLOs or margins side by side: throughput, cost, utilisation, gap; of a pipeline cost and attainment; of a cascade accuracy and p95. Every mix is tried at every point of a sweep.',
      )
      .argument('<spec>', 'spec file (YAML or JSON); - is stdin, with paths relative to the working folder')
      .option(
        '--mix <class=n,…>',
        'devices by class, such as L4=25,T4=75; a class that is left out has none (repeatable)',
        each,
      )
      .option(
        '--mix-file <file>',
        'a file with more mixes, one per line; a line that begins with # is a comment',
      )
      .option(
        '--budget <cost>',
        'the most to spend per hour: compares up to 60 evenly spread mixes that leave no money for one more device',
        positiveNumber,
      )
      .option(
        '--sweep <range>',
        "slo=2x..10x (times each model's fastest latency at batch 1), slo=50ms..200ms, margin=0..0.6 or, of cascades, accuracy=0.8..0.9; :n gives the number of steps (repeatable)",
        each,
      )
      .option(
        '--strict-profile',
        'refuse profiles with unfit, emulated or imported figures that a plan could use',
      )
      .option('-o, --output <file>', 'write the comparison here: .json or .csv; - is stdout, as JSON')
      .option('--gap <share>', 'stop each plan once it is proven this close to the best', gap)
      .option('--work <n>', 'stop each plan after this amount of counted work', wholeNumber)
      .option('--time-limit <seconds>', 'stop each plan after this time', positiveNumber)
      .option(
        '--hold <share>',
        "search, for each row, the plan that holds this share of each model's requests in time in simulation, such as 99%",
        openShare,
      )
      .action(action<[string], Options>(compareSpecFile)),
  );
}

async function compareSpecFile(
  { terminal, signal, progress }: Context,
  options: Options,
  spec: string,
): Promise<ExitCode> {
  const { compareSpec } = await import('../../api/index.js');
  const { checkCases, compareHeadline, compareNotes, compareTable, rowCases } = await import(
    '../../report/index.js'
  );
  const { mix: mixes, sweep: sweeps, ...rest } = options;
  const shown = await progress();
  const { document, planKind, limitReached, nothingHeld } = await compareSpec(spec, {
    ...rest,
    output: fileOf(options.output),
    mixes,
    sweeps,
    signal,
    onProgress: ({ done, of, leftMs }) =>
      shown.show({ doing: `${done} of ${of} plans`, fraction: done / of, leftMs }),
  });
  shown.stop();
  terminal.document(document);
  await terminal.parts([compareHeadline(document, planKind), '', compareTable(document, planKind)]);
  await terminal.remarks(compareNotes(document));
  await terminal.artifact('comparison', options.output, document);
  terminal.judge([
    ...rowCases(document.rows),
    ...(document.checks === undefined ? [] : checkCases(document, 'the mixes are compared')),
  ]);
  if (!document.complete) return EXIT.interrupted;
  if (nothingHeld && document.rows.every(({ status }) => status === 'infeasible')) {
    await terminal.error('there is no plan for any row');
    return EXIT.infeasible;
  }
  if (nothingHeld) {
    await terminal.error('no plan was found for any row that holds in simulation what was asked for');
    return EXIT.limitWithoutPlan;
  }
  return limitReached ? EXIT.limitWithPlan : EXIT.done;
}
