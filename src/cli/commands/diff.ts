import { Command } from 'commander';
import { EXIT } from '../exit.js';
import { withJson } from '../options.js';
import { action } from '../run.js';

interface Options {
  check?: boolean;
}

/** diffCommand makes `plan diff`, which shows what a new plan changes. */
export function diffCommand(): Command {
  return withJson(
    new Command('diff')
      .description(
        'Compare two plans: rates, SLOs, pipelines, stages or gears, GPUs in use, and GPUs that would serve something else.',
      )
      .argument('<before>', 'plan file')
      .argument('<after>', 'plan file')
      .option('--check', 'exit with 6 if they differ')
      .action(
        action<[string, string], Options>(async ({ terminal }, options, before, after) => {
          const { diffPlanFiles } = await import('../../api/index.js');
          const { differenceParts } = await import('../../report/index.js');
          const diff = await diffPlanFiles(before, after);
          terminal.document(diff);
          await terminal.parts(differenceParts(diff));
          return options.check && !diff.same ? EXIT.checkFailed : EXIT.done;
        }),
      ),
  );
}
