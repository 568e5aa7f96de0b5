import type {
  CauseParts,
  EngineFigures,
  LoadDocument,
  LoadServed,
  SimulatedRequests,
  VerifiedCauses,
} from '../../formats/index.js';

/** SimulatedSteps are the simulations between the plan's and the server, each with one cause more. */
export interface SimulatedSteps {
  readonly asPlanned: SimulatedRequests;
  /** With executions as they were measured. */
  readonly withExecutions: SimulatedRequests;
  /** With those, and deadlines that are earlier by the time of the front. */
  readonly withFront: SimulatedRequests;
}

/**
 * frontMsOf gives the mean time that a request spent outside the server's scheduling and executing: the latency that the
 * client saw, from the intended send, less the time from arrival at the server until the answer, and less what the simulation
 * has of it, which is the ingress of an engine.
 * @returns undefined where no request was answered
 */
export function frontMsOf(
  { latencyMs }: LoadDocument,
  served: readonly LoadServed[],
  engine?: EngineFigures,
): number | undefined {
  const answered = served.reduce((sum, one) => sum + one.answered, 0);
  if (latencyMs === undefined || answered === 0) return undefined;
  const requestMs = served.reduce((sum, one) => sum + (one.requestMs ?? 0) * one.answered, 0) / answered;
  return Math.max(0, latencyMs.mean - requestMs - (engine?.ingress.requestUs ?? 0) / 1e3);
}

/** causesOf divides the differences among their causes. Each part is what one more cause changes. */
export function causesOf(load: LoadDocument, frontMs: number, steps: SimulatedSteps): VerifiedCauses {
  const { asPlanned, withExecutions, withFront } = steps;
  const attainment = [asPlanned, withExecutions, withFront, load].map((one) => one.attainment ?? 0);
  // Latency outside of the server's scheduler adds to every request alike.
  const latency = (name: 'mean' | 'p95') => {
    const of = ({ latencyMs }: { readonly latencyMs?: { mean: number; p95: number } }) =>
      latencyMs?.[name] ?? 0;
    const executed = of(withExecutions);
    return partsOf([of(asPlanned), executed, executed + frontMs, of(load)]);
  };
  return {
    frontMs,
    ...(load.attainment === undefined ? {} : { attainment: partsOf(attainment) }),
    meanLatencyMs: latency('mean'),
    p95LatencyMs: latency('p95'),
  };
}

function partsOf([planned = 0, executed = 0, fronted = 0, live = 0]: readonly number[]): CauseParts {
  return { executions: executed - planned, front: fronted - executed, queueing: live - fronted };
}
