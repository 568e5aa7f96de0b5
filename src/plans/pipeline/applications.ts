import type { PipelinePlan } from '../../formats/index.js';
import type { TimedApplication } from '../plan-of.js';

/** The fields of a plan about what clients call, and at which rates. */
type Served = Pick<PipelinePlan, 'name' | 'sloMs' | 'applications' | 'throughputRps' | 'rps'>;

/**
 * plannedApplications lists what clients of a pipeline plan call: its applications, each with its share of the load, or the
 * pipeline itself with all of it. All of them come as one load.
 */
export function plannedApplications({
  name,
  sloMs,
  applications,
  throughputRps,
  rps,
}: Served): TimedApplication[] {
  const rated = (share: number) => ({
    throughputRps: share * throughputRps,
    ...(rps === undefined ? {} : { heldRps: share * rps }),
  });
  if (applications === undefined) return [{ name, sloMs, weight: 1, ...rated(1) }];
  return applications.map((one) => ({
    name: one.name,
    sloMs: one.sloMs,
    weight: one.share,
    loadOf: name,
    ...(one.weight === undefined ? {} : { dropWeight: one.weight }),
    ...rated(one.share),
  }));
}
