/**
 * An ONNX file read: its graph, the order of its nodes, its constants and external data, checked.
 *
 * In go bytes, out comes a Model. Start with `read.ts`.
 */

export { randomNodes } from './constants.js';
export { type ExternalCopy, ExternalPlan, externalLocations } from './external.js';
export { annotatedTensor, callKey } from './node.js';
export { readModel } from './read.js';
