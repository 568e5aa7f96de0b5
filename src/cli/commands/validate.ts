import { Command } from 'commander';
import { EXIT } from '../exit.js';
import { withJson } from '../options.js';
import { action } from '../run.js';

/** validateCommand makes `plan validate`, which checks that files are valid and that they fit together. */
export function validateCommand(): Command {
  return withJson(
    new Command('validate')
      .description(
        'Check files: profiles, clusters, specs, plans (against their profiles), bundles, ONNX models.',
      )
      .argument('<file...>', 'files to check')
      .action(
        action<[string[]], object>(async ({ terminal }, _options, files) => {
          const { validateFiles } = await import('../../api/index.js');
          const results = await validateFiles(files);
          for (const result of results) {
            if (result.ok) terminal.line(`${result.path}: ${result.what}`);
            else await terminal.error(result.message);
          }
          const { emittedHead } = await import('../../artifacts/index.js');
          terminal.document({ ...emittedHead('validation', []), files: results });
          if (results.every((result) => result.ok)) return EXIT.done;
          return results.some((result) => !result.ok && !result.missing) ? EXIT.badInput : EXIT.missing;
        }),
      ),
  );
}
