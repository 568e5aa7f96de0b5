import { largestOf, lastOf, smallestOf } from '../collections/index.js';
import { allowedLate, type StageDemand } from './floors.js';
import type { PlanningProblem, TailObjective } from './problem.js';

/** As many replicas as nobody has: so many are needed where a class has too few servers to send what a stage sends. */
const TOO_MANY = 1e12;
const ROUNDING = 1e-9;

/**
 * isLinked says whether batches may wait for a link in some configuration of a problem: whether any transfer takes time.
 * Then what is served at a stage depends on where others are placed, which the Estimator does not know.
 */
export function isLinked({ graph, stages, transferNs }: PlanningProblem): boolean {
  if (transferNs === undefined) return false;
  return graph.edges.some((edges, from) =>
    edges.some((edge) =>
      (stages[from]?.candidates ?? []).some(({ device: fromDevice, batches }) =>
        (stages[edge.to]?.candidates ?? []).some(
          ({ device: toDevice }) =>
            transferNs({ from, edge, fromDevice, toDevice, rows: lastOf(batches) }) > 0,
        ),
      ),
    ),
  );
}

/** Sender is a stage on one of its candidates, with the time that a row takes on each of its edges. */
interface Sender {
  readonly stage: number;
  readonly device: string;
  readonly rowsNs: readonly number[];
}

/**
 * senderOf says how long a row of a stage takes on each of its edges, on a class: to the classes that are given, or to
 * those which are fastest to send to.
 */
export function senderOf(
  { graph, stages, transferNs, stretch = 1 }: PlanningProblem,
  { stage, candidate }: { readonly stage: number; readonly candidate: number },
  chosen?: ArrayLike<number>,
): Sender {
  const { device, batches } = stages[stage]!.candidates[candidate]!;
  const rows = lastOf(batches);
  const rowsNs = (graph.edges[stage] ?? []).map((edge) => {
    const receivers = stages[edge.to]?.candidates ?? [];
    const own = chosen === undefined ? receivers : [receivers[chosen[edge.to] as number]];
    const times = own.map((one) => {
      const move = { from: stage, edge, fromDevice: device, toDevice: one?.device as string, rows };
      return (transferNs?.(move) ?? 0) / rows / stretch;
    });
    return smallestOf(times);
  });
  return { stage, device, rowsNs };
}

/** sentNs is the time for which the requests that are in time must be on uplinks together, of all rows of a stage. */
export function sentNs({ rowsNs }: Sender, { sent }: StageDemand, late: number): number {
  return rowsNs.reduce((sum, rowNs, k) => sum + Math.max(0, (sent[k] as number) - late) * rowNs, 0);
}

/** windowNs is the time in which requests that are in time are served: from the first arrival to the last deadline. */
export function windowNs(atNs: Float64Array, { sloNs }: TailObjective): number {
  return (atNs.at(-1) ?? 0) - (atNs[0] ?? 0) + sloNs;
}

/**
 * leastSenders is a number of servers below which no plan meets an objective: what a stage sends of the requests that
 * are in time must pass the uplinks of its servers between the first arrival and the last deadline, of all requests and of
 * any that arrive in a row. A replica is on one server, so that it needs as many of them too.
 */
export function leastSenders(
  { rowsNs }: Sender,
  demand: StageDemand,
  {
    atNs,
    objective,
    isAlways,
  }: {
    /** The arrivals of the requests that the objective is about. */
    readonly atNs: Float64Array;
    readonly objective: TailObjective;
    /** For each edge, whether all requests that visit the stage take it. */
    readonly isAlways: readonly boolean[];
  },
): number {
  const alwaysNs = rowsNs.reduce((sum, rowNs, k) => (isAlways[k] ? sum + rowNs : sum), 0);
  const late = allowedLate(objective, atNs.length);
  const allNs = sentNs({ stage: 0, device: '', rowsNs }, demand, late);
  const shares = demand.bursts.map(({ requests, spanNs }) => {
    const slackNs = spanNs + objective.sloNs - demand.headNs;
    return slackNs > 0 ? (Math.max(0, requests - late) * alwaysNs) / slackNs : 0;
  });
  const most = Math.max(allNs / windowNs(atNs, objective), largestOf(shares));
  return Math.max(1, Math.ceil(most * (1 - ROUNDING)));
}

/** sendingUp is the number of servers that have time to send what a stage sends at the mean rate of the load, at least 1. */
export function sendingUp({ graph, load }: PlanningProblem, { stage, rowsNs }: Sender): number {
  if (load === undefined) return 1;
  const visitNs = rowsNs.reduce((sum, ns, k) => sum + ns * (graph.edges[stage]?.[k]?.probability ?? 1), 0);
  return Math.max(1, Math.ceil((load.rps * (load.visits[stage] as number) * visitNs) / 1e9 - ROUNDING));
}

/**
 * sendingReplicas is the number of replicas that a stage needs on a class to send from a given number of servers: more than there
 * can be where the class has fewer. Where waiting is allowed for, it has so many times as many, as far as there are servers.
 */
export function sendingReplicas(
  { servers = {}, stretch = 1 }: PlanningProblem,
  device: string,
  least: number,
): number {
  const there = servers[device] ?? Number.POSITIVE_INFINITY;
  return least > there ? TOO_MANY : Math.min(there, Math.ceil(least * stretch));
}
