import { NS_PER_MS } from '../formats/index.js';
import { leastLatencyNs, leastTimes } from './bounds.js';
import type { ResolvedWorkflows } from './resolve.js';
import { trainingRuns } from './training.js';

/** leastMeanMs is the mean latency that requests of a workflow need under every plan, over those that it is known by. */
export function leastMeanMs({ workflows, components, cluster }: ResolvedWorkflows, name: string): number {
  const least = leastTimes(components, cluster);
  const runs = workflows.flatMap((one) => (one.name === name ? trainingRuns(one.source) : []));
  return runs.reduce((sum, run) => sum + leastLatencyNs(run, least), 0) / runs.length / NS_PER_MS;
}
