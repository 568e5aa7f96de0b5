import { Argument, Command } from 'commander';
import type { ArtifactKind } from '../../formats/index.js';
import { EXIT } from '../exit.js';
import { withJson } from '../options.js';
import { action } from '../run.js';

/** The keys are the kinds, in the order in which the help lists them. */
const KINDS: { readonly [K in ArtifactKind]: true } = {
  profile: true,
  cluster: true,
  pooled: true,
  'pooled-plan': true,
  pipeline: true,
  'pipeline-plan': true,
  cascade: true,
  'gear-plan': true,
  workflow: true,
  'workflow-plan': true,
  policy: true,
  'engine-profile': true,
  run: true,
  bundle: true,
  'lint-report': true,
  'simulation-report': true,
  'simulation-sweep': true,
  'scheduler-comparison': true,
  comparison: true,
  'plan-diff': true,
  'load-report': true,
  verification: true,
  'trace-description': true,
  'no-plan': true,
  error: true,
  devices: true,
  validation: true,
  'partition-report': true,
  'pipeline-profile': true,
  'plan-set': true,
  server: true,
  example: true,
  completion: true,
};

/** schemaCommand makes `plan schema`, which prints the JSON Schema of a kind of file for editors and other programs. */
export function schemaCommand(): Command {
  return withJson(
    new Command('schema')
      .description('Print the JSON Schema (draft-07) of a kind of file.')
      .addArgument(new Argument('<kind>', 'kind of file').choices(Object.keys(KINDS)))
      .action(
        action<[ArtifactKind], object>(async ({ terminal }, _options, kind) => {
          const { schemaText } = await import('../../artifacts/index.js');
          const text = schemaText(kind);
          terminal.line(text.trimEnd());
          terminal.document(JSON.parse(text));
          return EXIT.done;
        }),
      ),
  );
}
