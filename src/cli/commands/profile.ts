import { Command, Option } from 'commander';
import type { ProfiledSpecKind } from '../../api/index.js';
import type { DimValues } from '../../formats/index.js';
import { EXIT, type ExitCode } from '../exit.js';
import {
  batchToleranceOption,
  dimensionOption,
  each,
  memoryBytes,
  namedNumber,
  notNegative,
  positiveNumber,
  trustBatchOption,
  wholeNumber,
  wholeNumbers,
  withJson,
} from '../options.js';
import { fileOf, STDIN, STDOUT } from '../output.js';
import { action, type Context } from '../run.js';
import { profileEngineCommand } from './profile-engine.js';
import { profileImportCommand } from './profile-import.js';
import { profileMergeCommand } from './profile-merge.js';

interface Options {
  device?: string[];
  batch?: number[];
  virtual?: number[];
  dim?: DimValues;
  batchTolerance?: number;
  trustBatch?: boolean;
  fill?: Record<string, number>;
  blocks?: string;
  method?: 'greedy' | 'min-transfer';
  boundary?: 'exact' | 'float16';
  warmup?: number;
  minRuns?: number;
  minMs?: number;
  maxMs?: number;
  pauseMs?: number;
  memoryLimit?: number;
  resume?: boolean;
  samples?: string[];
  verdicts?: string;
  labels?: string;
  workflow?: string;
  output?: string;
}

const METHOD = new Option('--method <method>', 'how layers become blocks (greedy)').choices([
  'greedy',
  'min-transfer',
]);
const PAUSE = new Option(
  '--pause-ms <ms>',
  'pause before each run on a whole device, which on a server was idle before most runs (2)',
).argParser(notNegative);
const SAMPLES = new Option(
  '--samples <files...>',
  'sample requests of a pipeline, cascade or workflow: .npz with an array for each input, .npy, .csv, or requests as .json or .jsonl',
);
const LABELS = new Option(
  '--labels <file>',
  "the classes of a cascade's samples: whole numbers in a .npy array, or one on each line",
);
const WORKFLOW = new Option(
  '--workflow <name>',
  'of which workflow the samples are, where several have a program',
);
const VERDICTS = new Option(
  '--verdicts <file>',
  "write which edges each sample takes here (CSV), for plan simulate's --verdicts",
);

/** profileCommand makes `plan profile`, which measures a model by layers and by blocks on the devices here. */
export function profileCommand(): Command {
  const others = [profileEngineCommand(), profileImportCommand(), profileMergeCommand()];
  return withJson(others.reduce((command, other) => command.addCommand(other), measuringModels()));
}

/** measuringModels is the command with its argument and options. */
function measuringModels(): Command {
  return new Command('profile')
    .description(
      'Measure a model: layers and blocks × devices × batch sizes × virtual sizes → a profile. Of a pipeline, measure the models whose profiles are missing, and count scale factors and probabilities by sample requests; of a workflow, record what its program calls for them.',
    )
    .argument(
      '<model>',
      'ONNX file, or the spec of a pipeline, cascade or workflow (.yaml, .json); - is a spec on stdin, with paths relative to the working folder',
    )
    .option(
      '-d, --device <device>',
      'a device, such as cpu:1, cuda:0 or slow=cpu:1,slowdown=3 (repeatable; cpu:1)',
      each,
    )
    .option('-b, --batch <sizes>', 'batch sizes (1,2,4,8)', wholeNumbers)
    .option(
      '--virtual <sizes>',
      'virtual sizes: 2 runs two copies at once on half a device each (1)',
      wholeNumbers,
    )
    .addOption(dimensionOption())
    .addOption(batchToleranceOption())
    .addOption(trustBatchOption())
    .option(
      '--fill <input=number>',
      'value of an input that takes certain values only (repeatable)',
      namedNumber,
    )
    .option(
      '--blocks <n or file>',
      "number of blocks (10), or a profile whose blocks are measured again on this machine's devices, with its --dim",
    )
    .addOption(METHOD)
    .addOption(
      new Option('--boundary <how>', 'how tensors cross a cut (exact)').choices(['exact', 'float16']),
    )
    .option('--warmup <runs>', 'runs before measuring (3)', wholeNumber)
    .option('--min-runs <runs>', 'least number of runs measured in each cell (10)', wholeNumber)
    .option('--min-ms <ms>', 'least time measured in each cell (200)', notNegative)
    .option('--max-ms <ms>', 'most time spent on a cell (2000)', positiveNumber)
    .addOption(PAUSE)
    .option(
      '--memory-limit <size>',
      'most memory that the processes which run the model may take (the free memory less a reserve)',
      memoryBytes,
    )
    .option('--resume', 'continue the interrupted run of the output file, as it was asked for')
    .addOption(SAMPLES)
    .addOption(VERDICTS)
    .addOption(LABELS)
    .addOption(WORKFLOW)
    .option(
      '-o, --output <file>',
      "write the profile here (<model>.profile.json), a pipeline's spec with the probabilities (not written by default), or a workflow's runs (where its spec has them); - is stdout",
    )
    .action(action<[string], Options>(profileModel));
}

/** A command of profiling, for what its path names. */
type Profiling = (context: Context, options: Options, path: string) => Promise<ExitCode>;

/** PROFILINGS says how what each kind of spec names is profiled. */
const PROFILINGS: { readonly [K in ProfiledSpecKind]: Profiling } = {
  cascade: profileFamily,
  pipeline: profileStages,
  workflow: profileProgram,
};

async function profileModel(context: Context, options: Options, path: string): Promise<ExitCode> {
  const { refuseLabels, refuseWorkflow, specKind } = await import('../../api/index.js');
  const isSpec = path === STDIN || /\.(ya?ml|json)$/i.test(path);
  if (isSpec) return PROFILINGS[await specKind(path)](context, options, path);
  refuseLabels(path, options);
  refuseWorkflow(path, options);
  return profileOne(context, options, path);
}

/** profileFamily profiles the models of a cascade's spec. */
async function profileFamily(
  { terminal, signal, progress, inFlags }: Context,
  options: Options,
  path: string,
): Promise<ExitCode> {
  const { profileCascade, refuseWorkflow } = await import('../../api/index.js');
  refuseWorkflow(path, options);
  const { familyTable, measuredLines } = await import('../../report/index.js');
  const shown = await progress();
  const document = await profileCascade(path, {
    ...options,
    output: fileOf(options.output),
    devices: options.device,
    signal,
    onProgress: (step) => shown.show(step),
    onNote: (note) => terminal.note(inFlags(note)),
  });
  shown.stop();
  for (const line of measuredLines(document)) terminal.line(line);
  if (document.family !== undefined) {
    await terminal.table(familyTable(document.family));
    terminal.line(`records: ${document.family.records}`);
  }
  terminal.document(document);
  return EXIT.done;
}

/** profileStages profiles the pipeline of a spec. */
async function profileStages(
  { terminal, signal, progress, inFlags }: Context,
  options: Options,
  path: string,
): Promise<ExitCode> {
  const { profilePipeline, refuseLabels, refuseWorkflow } = await import('../../api/index.js');
  refuseLabels(path, options);
  refuseWorkflow(path, options);
  const { edgeTable, measuredLines, visitTable } = await import('../../report/index.js');
  const shown = await progress();
  const { document, text } = await profilePipeline(path, {
    ...options,
    output: fileOf(options.output),
    devices: options.device,
    signal,
    onProgress: (step) => shown.show(step),
    onNote: (note) => terminal.note(inFlags(note)),
  });
  shown.stop();
  for (const line of measuredLines(document)) terminal.line(line);
  const { samples } = document;
  if (samples !== undefined && text !== undefined) {
    terminal.line(`${samples.rows} samples`);
    await terminal.table(visitTable(samples));
    terminal.line();
    await terminal.table(edgeTable(samples));
    if (options.verdicts !== undefined) terminal.line(`verdicts: ${options.verdicts}`);
    if (options.output !== undefined) await terminal.textArtifact('spec', options.output, [text]);
  }
  await terminal.warnings(document.warnings.map(inFlags));
  terminal.document(document);
  return EXIT.done;
}

/** profileProgram profiles the components of a workflow's spec, and records what its program calls. */
async function profileProgram(
  { terminal, signal, progress, inFlags }: Context,
  options: Options,
  path: string,
): Promise<ExitCode> {
  const { profileWorkflow, refuseLabels } = await import('../../api/index.js');
  refuseLabels(path, options);
  const { callTable, measuredLines } = await import('../../report/index.js');
  const shown = await progress();
  const document = await profileWorkflow(path, {
    ...options,
    output: fileOf(options.output),
    devices: options.device,
    signal,
    onProgress: (step) => shown.show(step),
    onNote: (note) => terminal.note(inFlags(note)),
  });
  shown.stop();
  for (const line of measuredLines(document)) terminal.line(line);
  if (document.recorded !== undefined) {
    terminal.line(`${document.recorded.samples} samples`);
    await terminal.table(callTable(document.recorded));
    terminal.line(`runs: ${document.recorded.runs}`);
  }
  await terminal.warnings(document.warnings.map(inFlags));
  terminal.document(document);
  return EXIT.done;
}

async function profileOne(
  { terminal, signal, progress, inFlags }: Context,
  options: Options,
  model: string,
): Promise<ExitCode> {
  const { profileModelFile, refuseSamples } = await import('../../api/index.js');
  refuseSamples(model, options);
  const { boundaryChangeLine, blockTable, latencyTable, measuredText, warningLines } = await import(
    '../../report/index.js'
  );
  const shown = await progress();
  const { profile, path } = await profileModelFile(model, {
    ...options,
    output: options.output === STDOUT ? false : options.output,
    devices: options.device,
    signal,
    onProgress: (step) => shown.show(step),
    onNote: (text) => terminal.note(inFlags(text)),
  });
  shown.stop();
  await terminal.table(blockTable(profile));
  const latencies = latencyTable(profile);
  if (latencies.rows.length > 0) await terminal.table(latencies);
  const change = profile.measurement?.boundaryChange;
  if (change !== undefined) terminal.line(boundaryChangeLine(change));
  await terminal.artifact('profile', path ?? STDOUT, profile);
  for (const warning of warningLines(profile)) await terminal.warn(inFlags(warning));
  terminal.document(profile);
  if (profile.measurement?.complete !== false) return EXIT.done;
  terminal.note(`${measuredText(profile)}; ${path ?? 'stdout'} has what was measured`);
  const { commandText } = await import('../../formats/index.js');
  if (path !== undefined) terminal.note(`To measure the rest: ${commandText(resumed(model, options))}`);
  return signal.aborted ? EXIT.interrupted : EXIT.done;
}

/**
 * resumed gives the arguments that measure the rest of a profile. The profile itself holds what it was asked for, in all
 * runs so far, and options would narrow that; only the memory that may be taken is not in it.
 */
function resumed(model: string, { output, memoryLimit }: Options): string[] {
  return [
    ...['profile', model, '--resume'],
    ...(memoryLimit === undefined ? [] : ['--memory-limit', `${memoryLimit / 2 ** 20}MiB`]),
    ...(output === undefined ? [] : ['-o', output]),
  ];
}
