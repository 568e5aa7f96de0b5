import { largestOf } from '../../collections/index.js';
import { type Fault, fault } from '../../formats/index.js';
import type { EngineBundle } from './engine-target.js';

const LEAST_DRAIN_S = 10;

/** drainS is how long one of our own servers waits for its open requests (s), as `--drain-timeout`: at least the longest SLO. */
export function drainS({ graph }: Pick<EngineBundle, 'graph'>): number {
  return Math.max(LEAST_DRAIN_S, largestOf(graph.models.map(({ sloMs }) => Math.ceil(sloMs / 1e3))));
}

/**
 * runFaults finds what keeps an engine from starting our own server: classes of which nobody knows how it runs them, and tuners,
 * which move devices between servers.
 * @param units what the engine starts the servers in, such as `pods`
 */
export function runFaults({ plan, graph }: Pick<EngineBundle, 'plan' | 'graph'>, units: string): Fault[] {
  const unknown = graph.groups.flatMap(({ run, deviceClass }) => (run === undefined ? [deviceClass] : []));
  const faults = [...new Set(unknown)].map((name) =>
    fault(
      `the profiles do not say which provider runs class ${name}, and plan serve must know; profile it, or write for ray-serve or kuberay`,
      '/classes',
    ),
  );
  if (plan.serving?.tuner === undefined) return faults;
  const message = `the plan has a tuner, which moves devices between ${units}; solve it without one`;
  return [...faults, fault(message, '/serving/tuner')];
}
