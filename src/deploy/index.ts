/**
 * This room writes a plan and its models to disk as a bundle, with one file of code per target in `targets/`.
 *
 * It takes a plan, the profiles it was made from, and the models' graphs. It gives a folder that appears
 * whole or not at all. It solves nothing and runs nothing. Start reading at `targets/targets.ts`.
 */

export { lintEngineBundle } from './lint-bundle.js';
export type { DeployedModel } from './model-file.js';
export { partsOf } from './parts.js';
export { type StageToWrite, writeStages } from './stages.js';
export { lintFault } from './targets/engine-target.js';
export type { WrittenBundle } from './targets/target.js';
export { targetNamed } from './targets/targets.js';
