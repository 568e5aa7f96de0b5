import type { Run } from '../formats/index.js';
import { streamOf } from '../random/index.js';
import { expectedRows, type RequestSource, RunsOfChain } from '../workload/index.js';

/** This many requests of a chain say what follows what. They are none of the sample's. */
const DRAWN_RUNS = 1000;
const TRAINING_SEED = 1;

/**
 * trainingRuns gives the requests from which a plan knows what follows what in a workflow: all recorded ones, or such
 * as are drawn from its chain.
 */
export function trainingRuns(source: RequestSource): readonly Run[] {
  if ('runs' in source) return source.runs;
  const chain = new RunsOfChain(source.chain, source.name);
  const stream = streamOf(TRAINING_SEED, `workflows/training/${source.name}`);
  return Array.from({ length: DRAWN_RUNS }, () => chain.draw(stream)).flatMap((drawn) =>
    'run' in drawn ? [drawn.run] : [],
  );
}

/**
 * meanRows is how many rows of each component a request takes in the mean. It has each component that some request
 * calls, and no other.
 */
export function meanRows(source: RequestSource): ReadonlyMap<string, number> {
  if ('chain' in source) return expectedRows(source.chain);
  const means = new Map<string, number>();
  for (const { tasks } of source.runs)
    for (const { component, rows } of tasks)
      means.set(component, (means.get(component) ?? 0) + rows / source.runs.length);
  return means;
}
