/**
 * This folder begins a spec or a cluster: from profiles it proposes classes, counts and SLOs, and from the nodes of Kubernetes
 * or Ray it counts classes (`found/`). It writes them as YAML whose comments explain every field.
 */
export type { BegunKind } from './begun.js';
export { type ExampleFiles, type ExampleName, writeExample } from './example.js';
export { type InitOptions, type InitSpec, initSpec } from './init.js';
export { type InitCluster, type InitClusterOptions, initCluster } from './init-cluster.js';
export type { ProposedModel, SloReason, WholeSlo } from './proposal.js';
