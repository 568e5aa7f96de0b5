/** The name of an output that is stdout. */
export const STDOUT = '-';

/** The file an artifact is to be written to: none where it is not wanted, or is printed. */
export function fileOf(output: string | undefined): string | undefined {
  return output === STDOUT ? undefined : output;
}
