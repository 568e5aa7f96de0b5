import { Argument, Command } from 'commander';
import { EXIT } from '../exit.js';
import { withJson } from '../options.js';
import { action } from '../run.js';

const KINDS = [
  'profile',
  'cluster',
  'pooled',
  'pooled-plan',
  'pipeline',
  'pipeline-plan',
  'cascade',
  'gear-plan',
  'policy',
  'bundle',
  'simulation-report',
  'simulation-sweep',
  'comparison',
  'plan-diff',
  'load-report',
  'verification',
  'trace-description',
  'no-plan',
  'error',
  'devices',
  'validation',
  'partition-report',
  'pipeline-profile',
  'plan-set',
  'server',
] as const;

/** schemaCommand makes `plan schema`, which prints the JSON Schema of a kind of file for editors and other programs. */
export function schemaCommand(): Command {
  return withJson(
    new Command('schema')
      .description('Print the JSON Schema (draft-07) of a kind of file.')
      .addArgument(new Argument('<kind>', 'kind of file').choices(KINDS))
      .action(
        action<[(typeof KINDS)[number]], object>(async ({ terminal }, _options, kind) => {
          const { schemaText } = await import('../../artifacts/index.js');
          const text = schemaText(kind);
          terminal.line(text.trimEnd());
          terminal.document(JSON.parse(text));
          return EXIT.done;
        }),
      ),
  );
}
