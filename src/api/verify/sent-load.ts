import { largestOf } from '../../collections/index.js';
import {
  type Fault,
  fault,
  gapTimes,
  type LoadDocument,
  type Loaded,
  NS_PER_S,
  shown,
  type ToldFaults,
} from '../../formats/index.js';
import type { Application } from '../../plans/index.js';
import type { SimulationSettings, TraceWorkload } from '../../simulation/index.js';
import { prioritySharesText } from '../../workload/index.js';

/** VerifiedPlan is the plan that a load is compared with, and what clients call of it. */
export interface VerifiedPlan {
  readonly path: string;
  readonly sha256: string;
  readonly applications: readonly Pick<Application, 'name' | 'sloMs' | 'weight'>[];
}

/**
 * sentLoad gives the requests of a load as a load to simulate, each at the time when it was to be sent. The simulated
 * load lasts as long as requests were sent, so that its rates are over the same time as those of the report.
 * @param told where every reason is added why the report cannot be compared with a simulation of the plan
 * @returns undefined after a fault
 */
export function sentLoad(
  { value: report, path }: Loaded<'load-report'>,
  plan: VerifiedPlan,
  told: ToldFaults,
): TraceWorkload | undefined {
  const faults = [...planFaults(report, plan), ...requestFaults(report), ...sloFaults(report, plan)];
  told.addAll(faults.map(({ message }) => fault(message, path)));
  if (faults.length > 0) return undefined;
  const before = told.count;
  const sources = (report.sends ?? []).flatMap(({ model, gapsNs }, i) => {
    const timesNs = gapTimes(gapsNs);
    const index = plan.applications.findIndex(({ name }) => name === model);
    if (timesNs === undefined)
      told.add(fault('does not list whole nanoseconds', `${path}#/sends/${i}/gapsNs`));
    else if (index < 0)
      told.add(fault(`is ${shown(model)}, which the plan lacks`, `${path}#/sends/${i}/model`));
    else if (timesNs.length > 0)
      return [{ model: index, trace: { kind: 'arrivals' as const, format: 'load-report', timesNs } }];
    return [];
  });
  const listed = sources.reduce((sum, { trace }) => sum + trace.timesNs.length, 0);
  if (told.count === before && listed !== report.sent)
    told.add(fault(`lists ${listed} requests, and ${report.sent} were sent`, `${path}#/sends`));
  if (told.count > before) return undefined;
  const lastNs = largestOf(sources.map(({ trace }) => trace.timesNs.at(-1) ?? 0));
  const durationNs = Math.max(Math.round(sendingS(report) * NS_PER_S), lastNs + 1);
  const weights = plan.applications.map(({ weight }) => weight);
  return { kind: 'trace', process: 'poisson', durationNs, whole: false, sources, weights };
}

/** sentPriorities gives the priorities that requests of a load sent, as they were drawn by its seed; nothing where none did. */
export function sentPriorities({
  priorities,
  seed,
}: LoadDocument): Pick<SimulationSettings, 'priorities' | 'seed'> {
  return priorities === undefined ? {} : { priorities: prioritySharesText(priorities), seed };
}

/** sendingS gives the seconds during which requests were sent. Only a load that was interrupted ended before its time. */
function sendingS({ durationS, elapsedS }: LoadDocument): number {
  return Math.min(durationS, elapsedS);
}

function planFaults({ planSha256 }: LoadDocument, { path, sha256 }: VerifiedPlan): Fault[] {
  if (planSha256 === undefined)
    return [fault('its server did not tell which plan it serves; serve a bundle with plan serve')];
  if (planSha256 === sha256) return [];
  const [served, given] = [planSha256, sha256].map((digest) => `${digest.slice(0, 12)}…`);
  return [fault(`its server served another plan: the digest of that is ${served}, that of ${path} ${given}`)];
}

function requestFaults({ sends, sent, rows }: LoadDocument): Fault[] {
  const faults: Fault[] = [];
  if (sends === undefined)
    faults.push(
      fault('does not say when requests were sent; drive the load again with at most a million requests'),
    );
  if (sent === 0) faults.push(fault('no request was sent'));
  if (rows !== 1)
    faults.push(fault(`its requests had ${rows} rows; only requests of one row are simulated: send those`));
  return faults;
}

/** sloFaults finds models whose answers were judged by another SLO than the plan's. */
function sloFaults({ model, models, sloMs }: LoadDocument, plan: VerifiedPlan): Fault[] {
  const judged = models ?? [{ name: model, sloMs }];
  return judged.flatMap(({ name, sloMs: by }) => {
    const planned = plan.applications.find((one) => one.name === name)?.sloMs;
    if (by === undefined || planned === undefined || Math.abs(by - planned) <= 1e-6 * planned) return [];
    const said = `judged ${name} by an SLO of ${by} ms; the plan's is ${planned} ms`;
    return [fault(`${said}: drive the load with that`)];
  });
}
