/**
 * This room finds what a model costs on a device. It measures layers and blocks, merges the profiles of several
 * machines, and imports figures that other tools measured.
 *
 * An ONNX file and devices go in, or tables of other tools; a profile comes out. Everything that is timed here runs
 * through the same executor, session options and stacking as what is served. The room plans nothing and prints nothing.
 */
export { bindAsProfiled, boundFields } from './bind-model.js';
export type { NodeSpan } from './block-files.js';
export { blocksAt } from './blocks.js';
export { boundaryChange, type Chain, checkExtractFolder, extractChain } from './chain.js';
export { heldCells } from './held-cells.js';
export { type CsvOptions, type CsvTable, importCsv, readCutBytes } from './import-csv.js';
export { formatOfFiles, type ImportFormat } from './import-format.js';
export { importOrtProfile } from './import-ort.js';
export { importTrtexec } from './import-trtexec.js';
export type { MeasuredFile, MeasuredOptions } from './imported.js';
export { type LayerTimes, sessionLayerTimes } from './layer-times.js';
export { type MeasuredProfile, mergeProfiles } from './merge.js';
export { missingCuts } from './missing-cuts.js';
export { prepareModel } from './prepare-model.js';
export { profileModel } from './profile-model.js';
export { randomNote } from './random-values.js';
export { copyPieces, externalFaults } from './source.js';
export { timeLayersByClass } from './time-layers.js';
export { type TimedSpans, type TimeSpansOptions, timeSpans } from './time-spans.js';
export type {
  Batching,
  Cells,
  Limits,
  PreparedModel,
  PrepareOptions,
  ProfileOptions,
  ProgressEvent,
  TensorFinding,
} from './types.js';
