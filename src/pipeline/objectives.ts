import {
  type Fault,
  type FurtherObjective,
  fault,
  NS_PER_MS,
  type PipelineSpec,
  pipelineMethodOf,
} from '../formats/index.js';

const DEFAULT_ATTAINMENT = 0.99;

type Asked = Pick<PipelineSpec, 'sloMs' | 'attainment' | 'objectives' | 'applications'>;

/** AskedObjective is what the requests of the sample must meet. */
export interface AskedObjective extends FurtherObjective {
  /** The application whose requests it is about, counted from 0, and its name; absent where it is about all. */
  readonly application?: number;
  readonly name?: string;
}

/**
 * objectivesOf lists what the sample of a spec must meet: first the SLO by which requests are judged when a plan serves, or
 * those of all applications, each of which its own requests must meet.
 */
export function objectivesOf({
  sloMs = 0,
  attainment = DEFAULT_ATTAINMENT,
  objectives = [],
  applications,
}: Asked): AskedObjective[] {
  if (applications === undefined) return [{ sloMs, attainment }, ...objectives];
  return applications.map((one, application) => ({
    sloMs: one.sloMs,
    attainment,
    application,
    name: one.name,
  }));
}

/** shareWithin counts the requests that are answered within an SLO, as a share of all. */
export function shareWithin(latencyNs: Float64Array, sloMs: number): number {
  return countWithin(latencyNs, sloMs) / latencyNs.length;
}

/** countWithin counts the requests that are answered within an SLO. */
export function countWithin(latencyNs: Float64Array, sloMs: number): number {
  const sloNs = Math.round(sloMs * NS_PER_MS);
  let inTime = 0;
  for (const ns of latencyNs) if (ns <= sloNs) inTime++;
  return inTime;
}

/** objectiveFaults reports where objectives stand that nothing looks at. */
export function objectiveFaults({ objectives, planner }: PipelineSpec): Fault[] {
  if (objectives === undefined) return [];
  const method = pipelineMethodOf({ planner });
  switch (method) {
    case 'inferline':
    case 'exact':
      return [];
    case 'given':
    case 'coarse-mean':
    case 'coarse-peak': {
      const why = `${method} looks at sloMs alone, and at no request of the sample`;
      return [fault(`are for planner.method inferline or exact: ${why}`, '/objectives')];
    }
  }
}

/** objectiveNotes names the objectives that ask for nothing more than another one does. */
export function objectiveNotes(asked: Asked): string[] {
  if (asked.applications !== undefined) return [];
  const all = objectivesOf(asked);
  return all.flatMap((one, k) => {
    const other = all.find((by, j) => j !== k && follows(one, by) && (j < k || !follows(by, one)));
    return other === undefined
      ? []
      : [`${inWords(one)} follow from ${inWords(other)}, and ask for nothing more`];
  });
}

function follows(one: FurtherObjective, from: FurtherObjective): boolean {
  return from.sloMs <= one.sloMs && from.attainment >= one.attainment;
}

function inWords({ sloMs, attainment }: FurtherObjective): string {
  return `${Number((100 * attainment).toFixed(4))} % within ${sloMs} ms`;
}
