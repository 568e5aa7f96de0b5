/** STDOUT is the name of an output that goes to stdout. */
export const STDOUT = '-';

/** STDIN is the name of a spec that comes from stdin. */
export const STDIN = '-';

/** fileOf gives the file to write an artifact to. It is undefined where the artifact is not wanted, or is printed. */
export function fileOf(output: string | undefined): string | undefined {
  return output === STDOUT ? undefined : output;
}
