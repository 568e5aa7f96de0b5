import type { Bundle } from '../formats/index.js';
import type { DeployedModel } from './model-file.js';
import type { ProgramToWrite } from './program-files.js';

/**
 * ModelsToWrite holds an entry per model of a pooled plan, per component of a workflow plan, or per stage of another
 * plan, in the plan's order.
 */
export interface ModelsToWrite {
  readonly models: readonly DeployedModel[];
  /** The programs of a workflow plan, in the order of its workflows. */
  readonly programs?: readonly ProgramToWrite[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * WrittenParts holds the manifest's entries for what was written, and the size in bytes of the files of each partition,
 * stage or component.
 */
export interface WrittenParts
  extends Pick<Bundle, 'models' | 'partitions' | 'stages' | 'components' | 'programs'> {
  readonly sizes: number[];
}
