import { smallestOf } from '../collections/index.js';
import { type Fault, fault, type PipelineApplication, type PipelineSpec } from '../formats/index.js';

/** Shares that are written in decimals sum to 1 no more exactly than this. */
const ROUNDING = 1e-6;

/** The fields of a spec about whom it serves. */
type Served = Pick<PipelineSpec, 'name' | 'sloMs' | 'applications'>;

/** DEFAULT_NAME is what clients call a pipeline whose spec says no name. */
export const DEFAULT_NAME = 'pipeline';

/** servedApplications lists what clients call: the applications of a spec, or the pipeline itself with all requests. */
export function servedApplications({
  name = DEFAULT_NAME,
  sloMs = 0,
  applications = [{ name, sloMs, share: 1 }],
}: Served): readonly PipelineApplication[] {
  return applications;
}

/** leastSloMs is the SLO of a spec, or the least of its applications' SLOs. */
export function leastSloMs(spec: Served): number {
  return smallestOf(servedApplications(spec).map(({ sloMs }) => sloMs));
}

/** applicationFaults reports every fault of the SLO and of the applications of a spec. */
export function applicationFaults({ sloMs, applications, objectives }: PipelineSpec): Fault[] {
  if (applications === undefined)
    return sloMs === undefined ? [fault('is needed, or applications with an SLO each', '/sloMs')] : [];
  const sum = applications.reduce((all, { share }) => all + share, 0);
  const names = applications.map(({ name }) => name);
  return [
    ...(sloMs === undefined
      ? []
      : [fault('stands beside applications, each of which has its own; leave one of them out', '/sloMs')]),
    ...(objectives === undefined
      ? []
      : [
          fault(
            'stand beside applications, each of which has its own SLO; leave one of them out',
            '/objectives',
          ),
        ]),
    ...names.flatMap((name, k) =>
      names.indexOf(name) === k
        ? []
        : [
            fault(
              `is ${name}, as another application is; clients call them by name`,
              `/applications/${k}/name`,
            ),
          ],
    ),
    ...(Math.abs(sum - 1) <= ROUNDING
      ? []
      : [
          fault(
            `have shares that sum to ${Number(sum.toPrecision(8))}; all of the load is 1`,
            '/applications',
          ),
        ]),
  ];
}
