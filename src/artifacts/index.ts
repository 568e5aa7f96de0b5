/**
 * This room owns the files: they are found, read, validated, saved and digested here, and nowhere else.
 *
 * Paths and text go in, and validated values come out, or every fault of the file at once. Values go in, and
 * files come out, written whole or not at all. The values and their types are described in `formats`; other
 * rooms know what they mean.
 */
export { validatorsCode } from './compile-schema.js';
export { csvLines, readCsvTable } from './csv-table.js';
export {
  attempted,
  checkReadable,
  everyInput,
  oneErrorOf,
  placed,
  withOwnFaults,
} from './every-input.js';
export { placesOf } from './fault-places.js';
export { hashed, sha256OfFile } from './file-digest.js';
export { FilesRead } from './files-read.js';
export { checkFolder, makeFolderWhole, type OthersIn } from './folder.js';
export { readForeign } from './foreign.js';
export { externalInputs, inputFile, pathFrom, profileInputs, relativePath } from './input-paths.js';
export { withTemporaryFolder } from './leftovers.js';
export { loadArtifact, parseArtifact } from './load.js';
export { loadSpec, specBytes, specInputs } from './load-spec.js';
export { manifestIn, ofBundleAdvice } from './manifest-in.js';
export {
  type InputPath,
  type OutputPath,
  outputFiles,
  refuseReplacing,
  replacingFaults,
} from './outputs.js';
export { yamlErrorText, yamlRefusal } from './parse-yaml.js';
export { partFault } from './part-files.js';
export { choiceFaults, choiceParts } from './policy-choices.js';
export { policyFiles, readPolicies } from './policy-files.js';
export { checkPlainFile, readInPieces, readWhole, unreadable } from './read-file.js';
export { asOneRun, heard, inSteps, pause } from './run-files.js';
export { eachRun, type LoadedRuns, loadRuns, type RunsFile } from './runs.js';
export {
  appendText,
  artifactText,
  checkWritable,
  emittedHead,
  jsonText,
  StreamedFile,
  saveArtifact,
  thisTool,
  writeWhole,
} from './save.js';
export { SchemaError } from './schema-error.js';
export { schemaModeline } from './schema-modeline.js';
export { schemaSource } from './schema-text.js';
export { schemaText } from './schemas.js';
export type { Rests } from './stand-ins.js';
export { isStdin, isYamlPath, specName } from './stdin.js';
export { decodedText, refuseForeign } from './text.js';
export { unpacked } from './unpacked.js';
