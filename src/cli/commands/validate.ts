import { Command, Option } from 'commander';
import type { Validated } from '../../api/index.js';
import type { DeployTarget } from '../../formats/index.js';
import type { CiCase } from '../../report/index.js';
import { DEPLOY_TARGETS } from '../deploy-targets.js';
import { EXIT, type ExitCode } from '../exit.js';
import { withJson, withStrict } from '../options.js';
import { refusedCase, withReporter } from '../reporter.js';
import { action, type Context } from '../run.js';
import { warnUnchecked } from '../unchecked.js';

/** toldResult names options as flags in what is wrong with a file. */
function toldResult(result: Validated, inFlags: Context['inFlags']): Validated {
  if (result.ok) return result;
  const faults = result.faults.map((one) => ({
    ...one,
    path: inFlags(one.path),
    message: inFlags(one.message),
  }));
  return { ...result, message: inFlags(result.message), faults };
}

/** fileCase is the verdict on a file. */
async function fileCase(result: Validated): Promise<CiCase> {
  const { path: file } = result;
  if (result.ok) return { name: file, outcome: 'held', says: result.what };
  const { message, faults, checks = [] } = result;
  return refusedCase({ name: file, outcome: checks.length > 0 ? 'failed' : 'broken', message, file }, faults);
}

/**
 * exitOf gives the exit code: what has to be mended comes before a plan whose inputs have changed, and that before what
 * is missing.
 */
function exitOf(results: readonly Validated[]): ExitCode {
  const refused = results.filter((result) => !result.ok);
  if (refused.length === 0) return EXIT.done;
  if (refused.some(({ missing, checks = [] }) => !missing && checks.length === 0)) return EXIT.badInput;
  return refused.some(({ missing }) => !missing) ? EXIT.checkFailed : EXIT.missing;
}

/** validateCommand makes `plan validate`, which checks that files are valid and that they fit together. */
export function validateCommand(): Command {
  return withJson(
    withReporter(withStrict(new Command('validate')))
      .description(
        'Check files: profiles, clusters, specs, plans (against their profiles), bundles, ONNX models.',
      )
      .argument(
        '<file...>',
        'files to check; - is a spec on stdin, with paths relative to the working folder',
      )
      .addOption(
        new Option(
          '--target <target>',
          'what bundles must be for; by default each is checked for what its manifest names',
        ).choices(DEPLOY_TARGETS),
      )
      .action(
        action<[string[]], { strict?: boolean; reporter?: string; target?: DeployTarget }>(
          async ({ terminal, inFlags }, options, files) => {
            const { validateFiles } = await import('../../api/index.js');
            const results = (await validateFiles(files, options)).map((one) => toldResult(one, inFlags));
            for (const result of results) {
              if (result.ok) {
                terminal.line(`${result.path}: ${result.what}`);
                for (const text of result.warnings ?? []) terminal.note(text);
                await warnUnchecked({ terminal, inFlags }, result, true);
              } else await terminal.error(result.message);
            }
            const { emittedHead } = await import('../../artifacts/index.js');
            const checks = results.flatMap(({ path, checks = [] }) =>
              checks.map(({ what, ...verdict }) => ({ what, file: path, ...verdict })),
            );
            const judged = checks.length === 0 ? {} : { checks };
            terminal.document({ ...emittedHead('validation', []), ...judged, files: results });
            if (options.reporter !== undefined) terminal.judge(await Promise.all(results.map(fileCase)));
            return exitOf(results);
          },
        ),
      ),
  );
}
