import type { Sample, TailObjective } from './problem.js';

/** attainmentsOf gives, for each objective, the share of the requests that it is about within its SLO; 1 of none. */
export function attainmentsOf(
  latencyNs: Float64Array,
  objectives: readonly TailObjective[],
  applications: Sample['applications'],
): number[] {
  return objectives.map(({ sloNs, application }) =>
    application === undefined || applications === undefined
      ? shareWithin(latencyNs, sloNs)
      : ownShareWithin(latencyNs, sloNs, { applications, application }),
  );
}

function shareWithin(latencyNs: Float64Array, sloNs: number): number {
  let within = 0;
  for (let r = 0; r < latencyNs.length; r++) if ((latencyNs[r] as number) <= sloNs) within++;
  return latencyNs.length === 0 ? 1 : within / latencyNs.length;
}

function ownShareWithin(
  latencyNs: Float64Array,
  sloNs: number,
  { applications, application }: { readonly applications: Uint8Array; readonly application: number },
): number {
  let [within, own] = [0, 0];
  for (let r = 0; r < latencyNs.length; r++) {
    if (applications[r] !== application) continue;
    own++;
    if ((latencyNs[r] as number) <= sloNs) within++;
  }
  return own === 0 ? 1 : within / own;
}

/** ownLatencies gives the latencies of the requests of an application, in the order of arrival; all where it is undefined. */
export function ownLatencies(
  latencyNs: Float64Array,
  { applications }: Pick<Sample, 'applications'>,
  application: number | undefined,
): Float64Array {
  if (application === undefined || applications === undefined) return latencyNs;
  return latencyNs.filter((_, r) => applications[r] === application);
}
