import { Command, Option } from 'commander';
import type { DimValues } from '../../formats/index.js';
import { EXIT, type ExitCode } from '../exit.js';
import {
  batchToleranceOption,
  dimensionOption,
  each,
  namedNumber,
  trustBatchOption,
  wholeNumber,
  withJson,
} from '../options.js';
import { fileOf } from '../output.js';
import { action, type Context } from '../run.js';

interface Options {
  profile?: string;
  device?: string[];
  dim?: DimValues;
  batchTolerance?: number;
  trustBatch?: boolean;
  fill?: Record<string, number>;
  blocks: number;
  method: 'greedy' | 'min-transfer';
  boundary: 'exact' | 'float16';
  extract?: string;
  output?: string;
}

/**
 * partitionCommand makes `plan partition`, which shows or changes how a model's layers are grouped into blocks, and
 * writes the blocks' ONNX files.
 */
export function partitionCommand(): Command {
  return withJson(
    new Command('partition')
      .description('Show how a model is cut into blocks, try another cut, or write the blocks as ONNX files.')
      .argument('<model>', 'ONNX file')
      .option(
        '--profile <file>',
        'a profile of the model, whose layer latencies are used; nothing is measured then',
      )
      .option(
        '-d, --device <device>',
        'device on which layers are measured if there is no profile (repeatable; cpu:1)',
        each,
      )
      .addOption(dimensionOption())
      .addOption(batchToleranceOption())
      .addOption(trustBatchOption())
      .option(
        '--fill <input=number>',
        'value of an input that takes certain values only (repeatable)',
        namedNumber,
      )
      .option('--blocks <n>', 'number of blocks', wholeNumber, 10)
      .addOption(
        new Option('--method <method>', 'how layers become blocks')
          .choices(['greedy', 'min-transfer'])
          .default('greedy'),
      )
      .addOption(
        new Option('--boundary <how>', 'how tensors cross a cut')
          .choices(['exact', 'float16'])
          .default('exact'),
      )
      .option(
        '--extract <folder>',
        "write the blocks' ONNX files here, and compare the chain of them with the whole model",
      )
      .option(
        '-o, --output <file>',
        'write a profile with these blocks, their latencies summed from the layers; - is stdout',
      )
      .action(action<[string], Options>(partitionModel)),
  );
}

async function partitionModel(
  { terminal, signal, progress }: Context,
  options: Options,
  model: string,
): Promise<ExitCode> {
  const { partitionModelFile } = await import('../../api/index.js');
  const { boundaryChangeLine, blockTable, chainLines } = await import('../../report/index.js');
  const shown = await progress();
  const result = await partitionModelFile(model, {
    ...options,
    output: fileOf(options.output),
    devices: options.device ?? ['cpu:1'],
    signal,
    onProgress: (step) => shown.show(step),
  });
  shown.stop();
  await terminal.table(blockTable(result.profile));
  for (const note of result.notes) terminal.line(note);
  if (result.boundaryChange !== undefined) terminal.line(boundaryChangeLine(result.boundaryChange));
  if (result.extracted) {
    const { files, ...differences } = result.extracted;
    terminal.line(`${files.length} files in ${options.extract}`);
    for (const line of chainLines(differences)) terminal.line(line);
  }
  await terminal.artifact('profile', options.output, result.profile);
  const { emittedHead } = await import('../../artifacts/index.js');
  terminal.document({
    ...emittedHead('partition-report', []),
    blocks: result.profile.blocks,
    notes: result.notes,
    ...(result.boundaryChange === undefined ? {} : { boundaryChange: result.boundaryChange }),
    ...(result.extracted ? { extracted: result.extracted } : {}),
  });
  return EXIT.done;
}
