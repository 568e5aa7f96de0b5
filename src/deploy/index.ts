/**
 * A plan and its models → a bundle on disk; one file per target.
 *
 * In go a plan, the profiles it was made from and their graphs; out comes a folder that is there whole or not at all.
 * It solves nothing and runs nothing.
 */
export {
  type DeployedModel,
  type LocalBundle,
  refuseLayers,
  type WrittenBundle,
  writeLocalBundle,
} from './local.js';
