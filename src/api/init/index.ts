/**
 * This folder begins a spec: from profiles it proposes classes, counts and SLOs, and writes them as YAML whose comments
 * explain every field.
 */
export { type InitOptions, type InitSpec, initSpec } from './init.js';
