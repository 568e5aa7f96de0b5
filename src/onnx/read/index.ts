/**
 * This folder reads an ONNX file: its graph, the order of its nodes, its constants and its external data, all checked.
 *
 * Bytes go in, and an OnnxModel comes out. Start with `read.ts`.
 */

export { holdsForAll, randomNodes } from './constants.js';
export { dataSizedTensors } from './data-sizes.js';
export { type ExternalCopy, ExternalPlan, externalLocations } from './external.js';
export { annotatedTensor, callKey, type RawGraph, type RawNode, readNode } from './node.js';
export { readModel } from './read.js';
export { textsNotUtf8 } from './texts.js';
export { type LightModel, type Weight, withoutWeights } from './weights.js';
