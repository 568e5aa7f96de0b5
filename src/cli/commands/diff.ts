import { Command } from 'commander';
import type { Tolerance } from '../../api/index.js';
import { EXIT } from '../exit.js';
import { tolerances, withJson } from '../options.js';
import { withReporter } from '../reporter.js';
import { action } from '../run.js';

interface Options {
  check?: boolean;
  tolerance?: Record<string, Tolerance>;
}

/** diffCommand makes `plan diff`, which shows what a new plan changes. */
export function diffCommand(): Command {
  return withJson(
    withReporter(new Command('diff'))
      .description(
        'Compare two plans: rates, SLOs, pipelines, stages or gears, devices in use, and devices that would serve something else.',
      )
      .argument('<before>', 'plan file')
      .argument('<after>', 'plan file')
      .option('--check', 'exit with 6 if they differ')
      .option(
        '--tolerance <figure=most>',
        'with --check, exit with 6 only if this figure differs by more, such as cost=2% or p95=5: cost, gpus, objective, throughput, held, slo, accuracy or p95 (repeatable)',
        tolerances,
      )
      .action(
        action<[string, string], Options>(async ({ terminal }, options, before, after) => {
          const { diffPlanFiles } = await import('../../api/index.js');
          const { isHeld } = await import('../../formats/index.js');
          const { checkCases, differenceParts } = await import('../../report/index.js');
          const diff = await diffPlanFiles(before, after, options);
          terminal.document(diff);
          await terminal.parts(differenceParts(diff));
          await terminal.warnings(diff.notes ?? []);
          terminal.judge(checkCases(diff, 'the plans are compared'));
          return isHeld(diff) ? EXIT.done : EXIT.checkFailed;
        }),
      ),
  );
}
