/**
 * This folder begins a spec: from profiles it proposes classes, counts and SLOs, and writes them as YAML whose comments
 * explain every field.
 */
export { type ExampleFiles, type ExampleName, writeExample } from './example.js';
export { type InitOptions, type InitSpec, initSpec } from './init.js';
export type { ProposedModel, SloReason, WholeSlo } from './proposal.js';
