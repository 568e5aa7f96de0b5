import { readFile } from 'node:fs/promises';
import {
  decodedText,
  everyInput,
  fault,
  InputError,
  inputFile,
  option,
  outputFiles,
  type Profile,
  refuseReplacing,
  saveArtifact,
  sha256Of,
  unreadable,
} from '../artifacts/index.js';

export interface ImportOptions {
  readonly model: string;
  /** The device class of the figures, where the files do not name it. */
  readonly device?: string | undefined;
  readonly virtual: number;
  /** The batch sizes of a table's columns, or the one batch size of trtexec's files. */
  readonly batch?: readonly number[] | undefined;
  /** A file with the bytes that cross after each block, one number per line. */
  readonly cutBytes?: string | undefined;
  /** Where the profile is written; nowhere when left out. */
  readonly output?: string | undefined;
}

interface TextFile {
  readonly path: string;
  readonly text: string;
  readonly sha256: string;
}

/**
 * importProfileFiles makes a profile from figures that other tools measured, and writes it where an output is named.
 * @param format `csv`: tables in the manner of PPipe; `trtexec`: one file per block, in the order of the blocks
 * @throws InputError where the figures cannot be used, or the output would replace one of the files; MissingError where a file is missing
 */
export async function importProfileFiles(
  format: 'csv' | 'trtexec',
  paths: readonly string[],
  options: ImportOptions,
): Promise<Profile> {
  const [cutBytes, ...files] = await everyInput<[TextFile | undefined, ...TextFile[]]>('import the files', [
    options.cutBytes === undefined ? Promise.resolve(undefined) : readText(options.cutBytes),
    ...paths.map(readText),
  ]);
  await refuseReplacing(`import figures of ${options.model}`, outputFiles({ output: options.output }), [
    ...files.map(({ path }) => ({ what: 'a file of latencies', path })),
    ...(cutBytes === undefined ? [] : [{ what: 'the file of cut bytes', path: cutBytes.path }]),
  ]);
  const imported =
    format === 'csv' ? await fromCsv(files, cutBytes, options) : await fromTrtexec(files, cutBytes, options);
  const sources = files.map((file) => inputFile('latencies', file, options.output));
  if (cutBytes !== undefined) sources.push(inputFile('cut-bytes', cutBytes, options.output));
  const profile: Profile = { ...imported, inputs: sources };
  if (options.output !== undefined) await saveArtifact<'profile'>(options.output, profile);
  return profile;
}

async function fromCsv(
  files: readonly TextFile[],
  cutBytes: TextFile | undefined,
  options: ImportOptions,
): Promise<Profile> {
  const missing = [
    ...(options.batch === undefined ? [fault("is needed: the columns' batch sizes", option('batch'))] : []),
    ...(cutBytes === undefined
      ? [fault('is needed: bytes that cross after each block', option('cutBytes'))]
      : []),
  ];
  if (missing.length > 0) throw new InputError('import latency tables', missing);
  const { importCsv } = await import('../profiler/index.js');
  return importCsv(files, {
    batchSizes: options.batch as readonly number[],
    cutBytes: cutBytes as TextFile,
    model: options.model,
  });
}

async function fromTrtexec(
  files: readonly TextFile[],
  cutBytes: TextFile | undefined,
  options: ImportOptions,
): Promise<Profile> {
  const { device, virtual, batch = [] } = options;
  const missing = [
    ...(device === undefined
      ? [fault('is needed: the class the files were measured on', option('device'))]
      : []),
    ...(batch.length === 1
      ? []
      : [fault('one batch size is needed: the one the files were measured at', option('batch'))]),
    ...(files.length > 1 && cutBytes === undefined
      ? [fault('is needed: bytes that cross after each block', option('cutBytes'))]
      : []),
  ];
  if (missing.length > 0) throw new InputError('import files of trtexec', missing);
  const { importTrtexec, readCutBytes } = await import('../profiler/index.js');
  const bytes = cutBytes === undefined ? [0] : readCutBytes(cutBytes, files.length);
  const measured = { device: device as string, virtual, batch: batch[0] as number };
  return importTrtexec(
    files.map(({ path, text }, block) => ({ path, text, block, ...measured })),
    { model: options.model, cutBytes: bytes },
  );
}

async function readText(path: string): Promise<TextFile> {
  try {
    const bytes = await readFile(path);
    return { path, text: decodedText(bytes, path), sha256: sha256Of(bytes) };
  } catch (error) {
    throw unreadable(path, error);
  }
}
