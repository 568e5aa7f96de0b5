import { Command } from 'commander';
import type { ImportFormat } from '../../profiler/index.js';
import { EXIT } from '../exit.js';
import { wholeNumber, wholeNumbers, withJson } from '../options.js';
import { fileOf } from '../output.js';
import { action } from '../run.js';

const FORMATS: readonly string[] = ['csv', 'trtexec', 'ort'] satisfies ImportFormat[];

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
      .usage('[options] [csv|trtexec|ort] <file...>')
      .argument(
        '<file...>',
        'csv: blocks × batch tables in µs, named <model>-<class>-<v − 1>.csv; trtexec: its JSON exports; ort: profiles that ONNX Runtime wrote (enable_profiling). The content shows the format, unless it is named first.',
      )
      .requiredOption('--model <name>', 'name of the model')
      .option('--device <class>', 'device class of the figures, which the files do not name (trtexec, ort)')
      .option('--virtual <v>', 'virtual size of the figures (trtexec, ort)', wholeNumber, 1)
      .option(
        '--batch <sizes>',
        'batch sizes of the columns, in order (csv); batch size of the files (trtexec, ort)',
        wholeNumbers,
      )
      .option('--cut-bytes <file>', 'file with the bytes that cross after each block, one number per line')
      .requiredOption('-o, --output <file>', 'write the profile here; - is stdout')
      .action(
        action<[string[]], Options>(async ({ terminal }, options, given) => {
          const { importProfileFiles } = await import('../../api/index.js');
          const { format, files } = namedFormat(given);
          const { latencyTable } = await import('../../report/index.js');
          const profile = await importProfileFiles(format, files, {
            ...options,
            output: fileOf(options.output),
          });
          await terminal.table(latencyTable(profile));
          await terminal.artifact('profile', options.output, profile);
          terminal.document(profile);
          return EXIT.done;
        }),
      ),
  );
}

/** namedFormat removes the name of a format from the front of the files. "./csv" names a file. */
function namedFormat([first = '', ...others]: readonly string[]): {
  format: ImportFormat | undefined;
  files: string[];
} {
  if (FORMATS.includes(first)) return { format: first as ImportFormat, files: others };
  return { format: undefined, files: [first, ...others] };
}
