import { Command, Option } from 'commander';
import type { SpecKind } from '../../api/index.js';
import { commandText } from '../command-text.js';
import { EXIT } from '../exit.js';
import { positiveNumber, withJson } from '../options.js';
import { fileOf, STDOUT } from '../output.js';
import { action } from '../run.js';

const KINDS: readonly string[] = ['pooled'] satisfies SpecKind[];

interface Options {
  kind: SpecKind;
  slo?: number;
  cluster?: string;
  force?: boolean;
  output: string;
}

/** initCommand makes `plan init`, which begins a spec from profiles, with comments that explain every field. */
export function initCommand(): Command {
  return withJson(
    new Command('init')
      .description(
        'Begin a spec from profiles: their devices, an SLO for each model, and every option explained in comments.',
      )
      .argument('<profile...>', 'profiles, one per model; for an ONNX file, its profile <model>.profile.json')
      .addOption(new Option('--kind <kind>', 'kind of spec').choices(KINDS).default('pooled'))
      .option(
        '--slo <ms>',
        'latency objective of every model (default: 5 × the fastest latency in its profile)',
        positiveNumber,
      )
      .option('--cluster <file>', 'write the devices to a file of their own, instead of into the spec')
      .option('--force', 'replace files that exist')
      .requiredOption('-o, --output <file>', 'write the spec here (YAML); - is stdout')
      .action(
        action<[string[]], Options>(async ({ terminal }, options, paths) => {
          const { initSpec } = await import('../../api/index.js');
          const { proposalTable, proposedDevicesTable } = await import('../../report/index.js');
          const begun = await initSpec(paths, { ...options, output: fileOf(options.output) });
          terminal.document(begun.spec);
          await terminal.table(proposalTable(begun));
          terminal.line();
          await terminal.table(proposedDevicesTable(begun));
          if (options.cluster !== undefined) terminal.line(`cluster: ${options.cluster}`);
          await terminal.textArtifact('spec', options.output, [begun.text]);
          if (options.output !== STDOUT)
            terminal.note(`next: ${commandText(['solve', options.output, '-o', 'plan.json'])}`);
          return EXIT.done;
        }),
      ),
  );
}
