import type { Configuration, Estimate, PlanningProblem, Sample } from '../../src/inferline/problem.js';

/** A plain estimate says too from when to when a replica of each stage executed each batch. */
export interface PlainEstimate extends Estimate {
  readonly spansNs: readonly (readonly (readonly [startNs: number, doneNs: number])[])[];
}

/**
 * plainEstimator serves a sample stage by stage: a replica that falls free takes what waits in order of arrival, up to
 * its batch. It is slow and short, and serves as an oracle. Tasks that come at one time come in the order of requests.
 */
export function plainEstimator(
  problem: PlanningProblem,
  { atNs, verdicts, applications }: Sample,
): { estimate(configuration: Configuration): PlainEstimate } {
  const { graph, stages, objectives, transferNs } = problem;
  const estimate = ({ candidate, batch, replicas }: Configuration) => {
    const comes = graph.names.map(() => new Map<number, number>());
    for (const entry of graph.entries) comes[entry] = new Map(atNs.entries());
    const latencyNs = new Float64Array(atNs.length);
    const spansNs = graph.names.map((): [number, number][] => []);
    for (const i of graph.order) {
      const choice = stages[i]?.candidates[candidate[i] as number];
      const tasks = [...(comes[i] as Map<number, number>)].sort((a, b) => a[1] - b[1] || a[0] - b[0]);
      const free = new Array<number>(Math.min(replicas[i] as number, tasks.length)).fill(0);
      for (let next = 0; next < tasks.length; ) {
        const replica = free.reduce((best, at, k) => (at < (free[best] as number) ? k : best), 0);
        const start = Math.max(free[replica] as number, tasks[next]?.[1] as number);
        let end = next;
        while (
          end < tasks.length &&
          end - next < (batch[i] as number) &&
          (tasks[end]?.[1] as number) <= start
        )
          end++;
        const done = start + (choice?.latencyNs[end - next - 1] as number);
        free[replica] = done;
        spansNs[i]?.push([start, done]);
        const served = tasks.slice(next, end).map(([request]) => request);
        for (const request of served)
          latencyNs[request] = Math.max(latencyNs[request] as number, done - (atNs[request] as number));
        for (const edge of graph.edges[i] ?? []) {
          const { bit } = edge;
          const sent = served.filter(
            (r) => bit === undefined || (((verdicts[i]?.[r] ?? 0) >> bit) & 1) === 1,
          );
          const toDevice = stages[edge.to]?.candidates[candidate[edge.to] as number]?.device as string;
          const move = { from: i, edge, fromDevice: choice?.device as string, toDevice, rows: sent.length };
          const at = done + (sent.length > 0 ? (transferNs?.(move) ?? 0) : 0);
          for (const r of sent) comes[edge.to]?.set(r, Math.max(comes[edge.to]?.get(r) ?? 0, at));
        }
        next = end;
      }
    }
    const attainments = objectives.map(({ sloNs, application }) => {
      const own = [...latencyNs].filter(
        (_, r) => application === undefined || applications?.[r] === application,
      );
      return own.length === 0 ? 1 : own.filter((ns) => ns <= sloNs).length / own.length;
    });
    return { attainments, latencyNs, spansNs };
  };
  return { estimate };
}
