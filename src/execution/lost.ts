import type { Exit } from './child-process.js';
import { isAboutMemory } from './errors.js';
import { availableMemoryBytes, memoryText } from './memory.js';
import { plainWords } from './plain-words.js';

/** Failure says why requests to an executor fail. */
export interface Failure {
  readonly why: string;
  readonly outOfMemory: boolean;
}

/** End is what is known about a child's end besides its exit. */
export interface End {
  /** The last lines that the child wrote. */
  readonly words: string;
  /** killing says whether the executor has killed the child because it did not end by itself. */
  readonly killing: boolean;
  /** The memory guard's account, where a guard watched the child. */
  readonly memory: { readonly why: string | undefined; readonly bytes: number } | undefined;
}

/**
 * failureOfEnd says why requests fail after the end of an executor's child. Memory ran out where the memory guard says
 * so, where a watched child was killed by somebody else, and where the child's last words are about memory.
 */
export function failureOfEnd(pid: number, { code, signal }: Exit, { words, killing, memory }: End): Failure {
  if (memory?.why !== undefined) return { why: memory.why, outOfMemory: true };
  // An executor that is watched is killed by nobody but the system, or a person.
  if (memory !== undefined && signal === 'SIGKILL' && !killing)
    return { why: killedText(memory.bytes), outOfMemory: true };
  const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
  const ended = `its process ${pid} ended ${how}${words === '' ? '' : `\n${words}`}`;
  return outOfMemoryIfSo(ended, words);
}

function killedText(bytes: number): string {
  const took = bytes === 0 ? '' : ` when it had taken ${memoryText(bytes)}`;
  const free = memoryText(availableMemoryBytes());
  return `its process was killed${took}, as happens when a system runs out of memory; ${free} are free now`;
}

/** ONNX Runtime's arena names the piece of memory that it could not get. */
const REFUSED_PIECE = /requested buffer of size (\d+)/;

/** failureOfRefusal says why a request fails that the child answered with an error, and whether memory ran out. */
export function failureOfRefusal(said: string): Failure {
  const piece = REFUSED_PIECE.exec(said)?.[1];
  if (piece === undefined) return outOfMemoryIfSo(plainWords(said), said);
  const [asked, free] = [Number(piece), availableMemoryBytes()].map(memoryText);
  return {
    why: `memory ran out: one allocation of ${asked} failed, and ${free} are free`,
    outOfMemory: true,
  };
}

function outOfMemoryIfSo(why: string, words: string): Failure {
  const outOfMemory = isAboutMemory(words);
  return { why: outOfMemory ? `memory ran out: ${why}` : why, outOfMemory };
}
