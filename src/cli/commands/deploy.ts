import { Command, Option } from 'commander';
import type { DeployTarget } from '../../formats/index.js';
import { DEPLOY_TARGETS } from '../deploy-targets.js';
import { EXIT } from '../exit.js';
import { namedText, withJson, withStrict } from '../options.js';
import { STDOUT } from '../output.js';
import { action } from '../run.js';
import { warnUnchecked } from '../unchecked.js';

interface Options {
  output: string;
  target: DeployTarget;
  model?: Record<string, string>;
  strict?: boolean;
}

/** deployCommand makes `plan deploy`, which turns a plan and its models into a bundle that `plan serve` or another engine runs. */
export function deployCommand(): Command {
  return withJson(
    withStrict(new Command('deploy'))
      .description(
        'Write the bundle of a plan: one ONNX file per distinct partition or stage, the plan, and a manifest with digests; for another engine also its files, checked by its rules.',
      )
      .argument('<plan>', 'plan file; or the folder of a bundle, whose plan is deployed again')
      .requiredOption(
        '-o, --output <folder>',
        'folder of the bundle; it is made, or replaced if it holds a bundle',
      )
      .addOption(
        new Option('--target <target>', 'what the bundle is for').choices(DEPLOY_TARGETS).default('local'),
      )
      .option(
        '--model <name=file>',
        "a model's ONNX file, if it is not where its profile says (repeatable)",
        namedText,
      )
      .action(
        action<[string], Options>(async ({ terminal, signal, progress, inFlags }, options, plan) => {
          const { deployPlan } = await import('../../api/index.js');
          const { InputError } = await import('../../formats/index.js');
          if (options.output === STDOUT)
            throw new InputError(
              'write a bundle to stdout',
              [{ path: '', message: 'it is a folder of files' }],
              'Name a folder.',
            );
          const { bundleTable } = await import('../../report/index.js');
          const shown = await progress();
          const { manifest, sizes, lint } = await deployPlan(plan, {
            ...options,
            signal,
            onProgress: (step) => shown.show(step),
            onNote: (text) => terminal.note(text),
          });
          shown.stop();
          await terminal.table(bundleTable(manifest, sizes));
          terminal.line(`bundle: ${options.output}`);
          for (const { rule, file, line, message } of lint?.warnings ?? [])
            terminal.note(`${file}${line === undefined ? '' : `:${line}`}: ${message} (${rule})`);
          terminal.document(manifest);
          await warnUnchecked({ terminal, inFlags }, manifest);
          return EXIT.done;
        }),
      ),
  );
}
