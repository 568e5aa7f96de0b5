import { Argument, Command } from 'commander';
import { EXIT } from '../exit.js';
import { wholeNumber, wholeNumbers, withJson } from '../options.js';
import { fileOf } from '../output.js';
import { action } from '../run.js';

const FORMATS = ['csv', 'trtexec'] as const;

interface Options {
  model: string;
  device?: string;
  virtual: number;
  batch?: number[];
  cutBytes?: string;
  output: string;
}

/** profileImportCommand makes `plan profile import`, which turns figures of other tools into a profile. */
export function profileImportCommand(): Command {
  return withJson(
    new Command('import')
      .description('Make a profile from figures that other tools measured.')
      .addArgument(new Argument('<format>', 'format of the files').choices(FORMATS))
      .argument(
        '<file...>',
        'csv: blocks × batch tables in µs, named <model>-<class>-<v − 1>.csv; trtexec: its JSON exports',
      )
      .requiredOption('--model <name>', 'name of the model')
      .option('--device <class>', 'device class of the figures, which the files do not name (trtexec)')
      .option('--virtual <v>', 'virtual size of the figures (trtexec)', wholeNumber, 1)
      .option(
        '--batch <sizes>',
        'batch sizes of the columns, in order (csv); batch size of the files (trtexec)',
        wholeNumbers,
      )
      .option('--cut-bytes <file>', 'file with the bytes that cross after each block, one number per line')
      .requiredOption('-o, --output <file>', 'write the profile here; - is stdout')
      .action(
        action<[(typeof FORMATS)[number], string[]], Options>(
          async ({ terminal }, options, format, files) => {
            const { importProfileFiles } = await import('../../api/index.js');
            const { latencyTable } = await import('../../report/index.js');
            const profile = await importProfileFiles(format, files, {
              ...options,
              output: fileOf(options.output),
            });
            await terminal.table(latencyTable(profile));
            await terminal.artifact('profile', options.output, profile);
            terminal.document(profile);
            return EXIT.done;
          },
        ),
      ),
  );
}
