import { firstLine } from '../../execution/index.js';

/**
 * toldOf gives the part of an error that is for people: one line, without a stack and without the output of a process
 * that ended.
 */
export function toldOf(error: unknown): string {
  return firstLine(error instanceof Error ? error.message : String(error));
}
