/**
 * Cuts: where a graph can be cut (`cuts.ts`) and the partition between two cuts as an ONNX file (`extract.ts`), bytes copied.
 */
export { type Cut, cutFault, cutsOf } from './cuts.js';
export { mayBranch } from './ends.js';
export { type Extracted, type ExtractOptions, extractPartition, withGraph } from './extract.js';
export { exposeTensors, nameNodes } from './rewrite.js';
