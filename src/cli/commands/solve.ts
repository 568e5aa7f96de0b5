import { Command } from 'commander';
import { EXIT } from '../exit.js';
import { notNegative, positiveNumber, wholeNumber, withJson } from '../options.js';
import { action } from '../run.js';

interface Options {
  output?: string;
  gap?: number;
  work?: number;
  timeLimit?: number;
  json?: boolean;
}

/** `plan solve`: the plan a spec asks for, with a proven bound. */
export function solveCommand(): Command {
  return withJson(
    new Command('solve')
      .description(
        'Find the plan a spec asks for: pooled pipelines over pools of unlike devices, with a proven bound.',
      )
      .argument('<spec>', 'spec file (YAML or JSON)')
      .option('-o, --output <file>', 'write the plan here')
      .option(
        '--gap <share>',
        'stop once the plan is proven this close to the best, such as 0.001',
        notNegative,
      )
      .option('--work <n>', 'stop after this amount of counted work', wholeNumber)
      .option(
        '--time-limit <seconds>',
        'stop after this time; the plan then says reproducible: false',
        positiveNumber,
      )
      .action(
        action<[string], Options>(async ({ terminal, signal, progress }, options, spec) => {
          const { solveSpec } = await import('../../api/index.js');
          const { classTable, pipelineTable, planHeadline } = await import('../../report/index.js');
          const shown = await progress();
          const solved = await solveSpec(spec, {
            ...options,
            signal,
            onProgress: (doing) => shown.show({ doing }),
          });
          shown.stop();
          terminal.document(solved.document);
          switch (solved.outcome) {
            case 'infeasible':
              await terminal.error(`no plan can meet the SLOs of ${spec}:\n${indent(solved.reasons)}`);
              return EXIT.infeasible;
            case 'no-plan-in-time':
              await terminal.error(
                'the limit was reached before a plan was found; give more with --time-limit or --work',
              );
              return EXIT.limitWithoutPlan;
            case 'plan': {
              for (const warning of solved.warnings) await terminal.warn(warning);
              terminal.line(planHeadline(solved.plan));
              terminal.line();
              await terminal.table(pipelineTable(solved.plan));
              await terminal.table(classTable(solved.plan));
              if (options.output) terminal.line(`plan: ${options.output}`);
              if (signal.aborted) return EXIT.interrupted;
              return solved.limitReached ? EXIT.limitWithPlan : EXIT.done;
            }
          }
        }),
      ),
  );
}

function indent(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join('\n');
}
