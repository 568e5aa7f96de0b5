import {
  decodedText,
  everyInput,
  inputFile,
  outputFiles,
  readWhole,
  refuseReplacing,
  saveArtifact,
} from '../artifacts/index.js';
import {
  fault,
  InputError,
  option,
  type Profile,
  refuseContradictions,
  sha256Of,
  ToldFaults,
} from '../formats/index.js';
import {
  formatOfFiles,
  type ImportFormat,
  importCsv,
  importOrtProfile,
  importTrtexec,
  type MeasuredFile,
  type MeasuredOptions,
  readCutBytes,
} from '../profiler/index.js';

/** ImportOptions says what the files of figures do not say themselves. */
export interface ImportOptions {
  readonly model: string;
  /** The device class of the figures, where the files do not name it. */
  readonly device?: string | undefined;
  /** The virtual size v that files of trtexec and ONNX Runtime were measured at: 1/v of a GPU. */
  readonly virtual: number;
  /** The batch sizes of a table's columns, or the one batch size of files of trtexec and ONNX Runtime. */
  readonly batch?: readonly number[] | undefined;
  /** A file with the bytes that cross after each block, one number per line. */
  readonly cutBytes?: string | undefined;
  /** Where the profile is written; nowhere when left out. */
  readonly output?: string | undefined;
}

/** No larger file is read: its bytes and its text are held at the same time, up to 768 MiB together. */
const MOST_BYTES = 256 * 1024 * 1024;

interface TextFile {
  readonly path: string;
  readonly text: string;
  readonly sha256: string;
}

/**
 * importProfileFiles makes a profile from figures that other tools measured, and writes it where an output is named.
 * @param format `csv`: tables in the manner of PPipe; `trtexec` and `ort`: one file per block, in the order of the
 *   blocks; undefined: the one that the content of the files shows
 * @throws InputError where the figures cannot be used, an option that the format needs is left out (`csv`: `batch` and
 *   `cutBytes`; the others: `device`, one `batch`, and `cutBytes` for several files), a file is larger than 256 MiB, or
 *   the output would replace one of the files; MissingError where a file is missing
 */
export async function importProfileFiles(
  format: ImportFormat | undefined,
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
  const imported = await importedFrom(format ?? (await formatShown(files)), files, {
    ...options,
    cuts: cutBytes,
  });
  const sources = files.map((file) => inputFile('latencies', file, options.output));
  if (cutBytes !== undefined) sources.push(inputFile('cut-bytes', cutBytes, options.output));
  const profile: Profile = { ...imported, inputs: sources };
  refuseContradictions(profile, `import figures of ${options.model}`);
  if (options.output !== undefined) await saveArtifact<'profile'>(options.output, profile);
  return profile;
}

interface Sources extends ImportOptions {
  /** The file of cut bytes. */
  readonly cuts: TextFile | undefined;
}

async function formatShown(files: readonly TextFile[]): Promise<ImportFormat> {
  return formatOfFiles(files);
}

async function importedFrom(
  format: ImportFormat,
  files: readonly TextFile[],
  sources: Sources,
): Promise<Profile> {
  switch (format) {
    case 'csv':
      return fromCsv(files, sources);
    case 'trtexec':
      return fromBlocks(files, sources, { of: 'trtexec', read: importTrtexec });
    case 'ort':
      return fromBlocks(files, sources, { of: 'ONNX Runtime', read: importOrtProfile });
  }
}

async function fromCsv(
  files: readonly TextFile[],
  { cuts: cutBytes, ...options }: Sources,
): Promise<Profile> {
  const missing = [
    ...(options.batch === undefined ? [fault("is needed: the columns' batch sizes", option('batch'))] : []),
    ...(cutBytes === undefined
      ? [fault('is needed: bytes that cross after each block', option('cutBytes'))]
      : []),
  ];
  if (missing.length > 0) throw new InputError('import latency tables', missing);
  return importCsv(files, {
    batchSizes: options.batch as readonly number[],
    cutBytes: cutBytes as TextFile,
    model: options.model,
  });
}

/** fromBlocks imports a tool's files of one block each, all measured on one class at one batch size. */
async function fromBlocks(
  files: readonly TextFile[],
  { cuts: cutBytes, ...options }: Sources,
  tool: {
    readonly of: string;
    readonly read: (files: readonly MeasuredFile[], options: MeasuredOptions) => Profile;
  },
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
  const told = new ToldFaults();
  told.addAll(missing);
  const bytes = attempt(told, () =>
    cutBytes === undefined ? files.map(() => 0) : readCutBytes(cutBytes, files.length),
  );
  // The files are read even where an option is missing, so that all faults are reported at once.
  const measured = { device: device ?? 'unknown', virtual, batch: batch[0] ?? 1 };
  const profile = attempt(told, () =>
    tool.read(
      files.map(({ path, text }, block) => ({ path, text, block, ...measured })),
      { model: options.model, cutBytes: bytes ?? files.map(() => 0) },
    ),
  );
  if (profile === undefined || told.count > 0) throw told.error(`import files of ${tool.of}`);
  return profile;
}

/** attempt gives what `read` gives, or adds its faults to `told`. */
function attempt<T>(told: ToldFaults, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    told.addAll(error.faults);
    return undefined;
  }
}

async function readText(path: string): Promise<TextFile> {
  const bytes = await readWhole(path, MOST_BYTES);
  return { path, text: decodedText(bytes, path), sha256: sha256Of(bytes) };
}
