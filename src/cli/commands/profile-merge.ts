import { Command } from 'commander';
import { EXIT } from '../exit.js';
import { withJson } from '../options.js';
import { fileOf } from '../output.js';
import { action } from '../run.js';

/** profileMergeCommand makes `plan profile merge`, which merges the profiles of one model from several machines. */
export function profileMergeCommand(): Command {
  return withJson(
    new Command('merge')
      .description('Merge profiles of the same model and blocks, measured on several machines.')
      .argument('<profile...>', 'profiles to merge')
      .requiredOption('-o, --output <file>', 'write the merged profile here; - is stdout')
      .action(
        action<[string[]], { output: string }>(async ({ terminal }, options, paths) => {
          const { mergeProfileFiles } = await import('../../api/index.js');
          const { latencyTable } = await import('../../report/index.js');
          const profile = await mergeProfileFiles(paths, fileOf(options.output));
          await terminal.table(latencyTable(profile));
          await terminal.artifact('profile', options.output, profile);
          terminal.document(profile);
          return EXIT.done;
        }),
      ),
  );
}
