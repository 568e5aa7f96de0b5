import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { sha256Of } from '../../src/formats/index.js';

/** MOST_CPU_MS and MOST_BYTES are the most CPU time and memory that a case may take, beyond what its input needs. */
const MOST_CPU_MS = 1000;
const MOST_BYTES = 256 * 1024 * 1024;
/** A search starts threads with modules of their own. */
const MOST_SEARCH_MS = 2000;
/** A byte of input may take this many bytes in memory, as text, tokens, values and tables. */
const BYTES_FOR_A_BYTE = 40;

/** Picture is the contents of a folder: for each file its kind, bytes and time of change. */
type Picture = ReadonlyMap<string, string>;

/** pictureOf looks at every file of a folder without following links. */
export function pictureOf(folder: string): Picture {
  const picture = new Map<string, string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const { mode, mtimeNs, ino } = lstatSync(path, { bigint: true });
    const name = relative(folder, path);
    if (entry.isFile()) picture.set(name, `${mode} ${ino} ${mtimeNs} ${digestOf(path)}`);
    else picture.set(name, entry.isSymbolicLink() ? `link to ${readlinkSync(path)}` : `${mode} ${ino}`);
  }
  return picture;
}

function digestOf(path: string): string {
  try {
    return sha256Of(readFileSync(path));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unreadable';
  }
}

/** changesOf names the differences in a folder, apart from the outputs that were asked for. */
export function changesOf(before: Picture, after: Picture, outputs: readonly string[] = []): string[] {
  const isOutput = (name: string) =>
    outputs.some((output) => name === output || name.startsWith(`${output}/`));
  const changes: string[] = [];
  for (const [name, was] of before) {
    const is = after.get(name);
    if (is === undefined) changes.push(`the input ${name} is gone`);
    else if (is !== was) changes.push(`the input ${name} has changed: ${was} is now ${is}`);
  }
  for (const name of after.keys())
    if (!before.has(name) && !isOutput(name)) changes.push(`the file ${name} was left behind`);
  return changes;
}

/** Cost measures the CPU time and the memory of a case. */
export class Cost {
  private readonly cpu = process.cpuUsage();
  private readonly peakBytes = peakBytes();

  /**
   * faults names the limits that a case exceeded.
   * @param searches the number of commands in it that started a thread to solve or simulate
   */
  faults(inputBytes: number, searches = 0): string[] {
    const { user, system } = process.cpuUsage(this.cpu);
    const ms = (user + system) / 1e3;
    const bytes = peakBytes() - this.peakBytes;
    const most = MOST_BYTES + BYTES_FOR_A_BYTE * inputBytes;
    return [
      ...(ms > MOST_CPU_MS + MOST_SEARCH_MS * searches ? [`took ${ms.toFixed(0)} ms of CPU`] : []),
      ...(bytes > most ? [`took ${(bytes / 2 ** 20).toFixed(0)} MiB more memory`] : []),
    ];
  }
}

function peakBytes(): number {
  return process.resourceUsage().maxRSS * 1024;
}
