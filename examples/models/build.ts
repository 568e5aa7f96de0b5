/**
 * This program writes example models: `node dist/examples/models/build.js <model|all> --out <folder>
 * [options]`. It prints the files that it wrote, one per line, and exits with 2 when an option is wrong.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeWhole } from '../../src/artifacts/index.js';
import { fault, InputError } from '../../src/formats/index.js';
import { buildModel, type Given, MODEL_NAMES, type ModelName, optionsOf } from './options.js';

const USAGE = `Usage: node dist/examples/models/build.js <${MODEL_NAMES.join('|')}|all> --out <folder>
  --seed <n>                                            weights (0)
  --image <pixels>                                      resnet18, mobilenetv2 (224), unet (128)
  --width-multiplier <x>  --classes <n>                 resnet18, mobilenetv2, unet
  --size tiny|mini|small|base                           bert (tiny)
  --layers --hidden --heads --vocab --seq <n>           bert: single figures of the size; 128 tokens
  --layers --hidden --heads <n>                         bert-exported, gpt-exported, vit-exported (2, 64, 2)
  --vocab --positions <n>                               bert-exported, gpt-exported (1000, 128)
  --image <pixels>  --classes <n>                       vit-exported (64, 10)`;

const OPTION_NAMES = ['out', 'seed', ...MODEL_NAMES.flatMap((name) => optionsOf(name))];

async function main(argv: readonly string[]): Promise<void> {
  if (argv.includes('--help')) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const { model, given } = readArguments(argv);
  const folder = given.out ?? '.';
  const names = model === 'all' ? MODEL_NAMES : [model];
  // All models are built before the first is written, so that a wrong option leaves nothing behind.
  const built = names.map((name) => ({ file: join(folder, `${name}.onnx`), bytes: buildModel(name, given) }));
  mkdirSync(folder, { recursive: true });
  for (const { file, bytes } of built) {
    await writeWhole(file, bytes);
    process.stdout.write(`${file}\n`);
  }
}

function readArguments(argv: readonly string[]): { model: ModelName | 'all'; given: Given } {
  const options = Object.fromEntries(OPTION_NAMES.map((name) => [name, { type: 'string' as const }]));
  const { values, positionals } = parse(argv, options);
  const given = values as Given;
  const model = (['all', ...MODEL_NAMES] as const).find((name) => name === positionals[0]);
  const faults = [];
  if (model === undefined || positionals.length !== 1) {
    faults.push(
      fault(`model is "${positionals.join(' ')}"; valid values are ${MODEL_NAMES.join(', ')}, all`),
    );
  } else if (model !== 'all') {
    const taken = ['out', 'seed', ...optionsOf(model)];
    const strange = Object.keys(given).filter((name) => !taken.includes(name));
    faults.push(...strange.map((name) => fault(`is not an option of ${model}`, `--${name}`)));
  }
  if (model === undefined || faults.length > 0) throw new InputError('build a model', faults, USAGE);
  return { model, given };
}

function parse(argv: readonly string[], options: Record<string, { type: 'string' }>) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (error) {
    throw new InputError('build a model', [fault((error as Error).message)], USAGE);
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  if (!(error instanceof InputError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
});
