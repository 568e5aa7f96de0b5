import { checkWritable, jsonText, writeWhole } from '../artifacts/index.js';
import type { LoadOptions, LoadReport } from '../loadgen/index.js';

/**
 * loadServer drives a server with an open-loop load and reports what came back.
 * @param options.output the file that the report is written to as JSON; when it is left out, nothing is
 *   written
 */
export async function loadServer(
  url: string,
  options: LoadOptions & { output?: string | undefined },
): Promise<LoadReport> {
  const { driveLoad } = await import('../loadgen/index.js');
  const { output, ...load } = options;
  if (output !== undefined) await checkWritable(output);
  const report = await driveLoad(url, load);
  if (output !== undefined) await writeWhole(output, jsonText(report));
  return report;
}
