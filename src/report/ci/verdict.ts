import type { Part } from '../table.js';

/** CiFault is something that a case tells, at a place of a file where there is one. */
export interface CiFault {
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
}

/** CiCase is one thing that was judged: a gate, a file, a row of a comparison. */
export interface CiCase {
  readonly name: string;
  /** `broken` is what could not be judged, as its input is bad; `skipped` is what has no verdict, such as a mix without a plan. */
  readonly outcome: 'held' | 'failed' | 'broken' | 'skipped';
  /** The finding, in a sentence. */
  readonly says: string;
  readonly faults?: readonly CiFault[];
}

/** CiReport is what a command tells a CI system: its verdicts, and what it shows to people besides. */
export interface CiReport {
  /** The command as it was given, such as `plan simulate plan.json`. */
  readonly title: string;
  readonly cases: readonly CiCase[];
  readonly parts: readonly Part[];
  /** The remarks and warnings on the result. */
  readonly notes: readonly string[];
}

/** detailsOf tells the faults of a case at their places, or what was found where it has none. */
export function detailsOf({ says, faults = [] }: CiCase): string {
  if (faults.length === 0) return says;
  const placed = faults.map(({ message, file, line }) =>
    file === undefined ? message : `${file}${line === undefined ? '' : `:${line}`}: ${message}`,
  );
  return placed.join('\n');
}

/** countOf counts the cases of one outcome. */
export function countOf(cases: readonly CiCase[], outcome: CiCase['outcome']): number {
  return cases.filter((one) => one.outcome === outcome).length;
}

/** isBad says whether a case makes the command fail. */
export function isBad({ outcome }: CiCase): boolean {
  return outcome === 'failed' || outcome === 'broken';
}
