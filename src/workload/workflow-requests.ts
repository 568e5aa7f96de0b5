import type { Run, WorkflowChain } from '../formats/index.js';
import { type DrawnRun, RunsOfChain } from './workflow-runs.js';

/** RequestSource is where the requests of a workflow come from: recorded ones, of which there must be some, or a chain. */
export type RequestSource =
  | { readonly name: string; readonly runs: readonly Run[] }
  | { readonly name: string; readonly chain: WorkflowChain };

/** NumberAt gives the number of [0, 1) at a place and column, whatever was asked before: `uniformAt` of src/random makes one. */
export type NumberAt = (place: number, column: number) => number;

/** RunOfRequest gives what the program of a request does. `order` is how many requests came before it, of all workflows. */
export type RunOfRequest = (order: number, workflow: number) => DrawnRun;

/**
 * runsOfRequests says what each request of workflows does: it replays a recorded run of its workflow, each
 * with the same chance, or one that is drawn from its chain. The draws for a request depend on its order
 * alone, and not on other requests.
 */
export function runsOfRequests(sources: readonly RequestSource[], numberAt: NumberAt): RunOfRequest {
  const drawn = sources.map(sourceOf);
  return (order, workflow) => {
    let column = 0;
    return (drawn[workflow] as Draw)(() => numberAt(order, column++));
  };
}

type Draw = (uniform: () => number) => DrawnRun;

function sourceOf(source: RequestSource): Draw {
  if ('runs' in source) {
    const { runs } = source;
    return (uniform) => ({ run: runs[Math.floor(uniform() * runs.length)] as Run });
  }
  const chain = new RunsOfChain(source.chain, source.name);
  return (uniform) => chain.draw({ uniform });
}
