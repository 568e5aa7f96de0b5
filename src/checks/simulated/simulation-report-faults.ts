import { itemAt } from '../../collections/index.js';
import {
  type Fault,
  fault,
  type RunsFigures,
  type SimulatedRequests,
  type SimulationReport,
  writtenStageName,
} from '../../formats/index.js';
import { addedUp, givenFaults } from '../figures.js';
import { type FoundFigure, gateFaults } from '../gate-faults.js';
import { cascadeFaults, simulatedPriorityFaults } from './cascade-faults.js';
import { isStaged, simulatedDeviceFaults } from './device-faults.js';
import { overRunsFaults } from './interval-faults.js';
import { arrivedFaults, executionFaults, workloadFaults } from './load-faults.js';
import { requestFaults, togetherFaults } from './request-faults.js';
import { simulatedWindowFaults } from './window-faults.js';
import { servedWorkflowFaults } from './workflow-faults.js';

/** Percentiles are exact, or the middles of buckets of which an octave has 256. */
const PERCENTILE_ERRORS = [0, 1 / 512];
const CONFIDENCE = 0.95;

/**
 * simulationReportFaults finds where a report of a simulated run contradicts itself: in its load, its counts, shares, rates and
 * latencies, of all requests, by model, window and priority; in its drops, batches, devices, links and prices; in what it
 * says of a cascade; and in its figures over several runs. Its cost grows with the report.
 */
export function simulationReportFaults(report: SimulationReport): Fault[] {
  const { workload, percentileError, complete, overall, pools } = report;
  const first = [
    ...workloadFaults(workload),
    ...executionFaults(report.execution),
    ...(PERCENTILE_ERRORS.includes(percentileError)
      ? []
      : [
          fault(`is ${percentileError}; it is one of ${PERCENTILE_ERRORS.join(' and ')}`, '/percentileError'),
        ]),
    ...nameFaults(report),
  ];
  if (first.length > 0) return first;
  const spanS = complete ? workload.durationS : spanOf(overall);
  if (spanS !== undefined && spanS > workload.durationS * (1 + 1e-9))
    return [
      fault(`gives a run of ${spanS} s, and it was to last ${workload.durationS} s`, '/overall/offeredRps'),
    ];
  const of = {
    spanS,
    off: 2 * percentileError,
    isGraph: isStaged(pools),
    isSplit: report.workflows === undefined,
  };
  const ofRequests = [
    ...requestFaults(overall, { ...of, at: '/overall' }),
    ...report.models.flatMap(({ requests, sloMs }, m) =>
      requestFaults(requests, {
        ...of,
        at: `/models/${m}/requests`,
        ...(sloMs === undefined ? {} : { sloMs }),
      }),
    ),
  ];
  if (ofRequests.length > 0) return ofRequests;
  return [
    ...togetherFaults(
      overall,
      report.models.map(({ requests }) => requests),
      percentileError,
    ),
    ...loadFaults(report, spanS),
    ...dropFaults(report),
    ...simulatedDeviceFaults(report, spanS),
    ...simulatedWindowFaults(report, spanS),
    ...cascadeFaults(report),
    ...servedWorkflowFaults(report),
    ...simulatedPriorityFaults(report, spanS),
    ...runsFaults(report),
    ...gateFaults(report, ({ model }) => judgedOf(model, report)),
  ];
}

/** judgedOf gives the share in time that a gate judges: of several runs their mean and the lower end of its interval. */
function judgedOf(model: string | undefined, { overall, models, runs }: SimulationReport): FoundFigure {
  const named = <T extends { readonly name: string }>(of: readonly T[]) =>
    of.find(({ name }) => name === model);
  if (runs === undefined)
    return { value: (model === undefined ? overall : named(models)?.requests)?.attainment };
  const { mean, low } = (model === undefined ? runs.overall : named(runs.models))?.attainment ?? {};
  return { value: mean, low };
}

/** spanOf says how far an interrupted run came; undefined where no request arrived. */
function spanOf({ arrived, offeredRps }: SimulatedRequests): number | undefined {
  return arrived > 0 && offeredRps > 0 ? arrived / offeredRps : undefined;
}

function nameFaults({ models, workload, runs }: SimulationReport): Fault[] {
  const named = models.map(({ name }) => name).join(', ');
  const lists = { '/workload/models': workload.models, '/runs/models': runs?.models };
  return Object.entries(lists).flatMap(([at, list]) => {
    const names = list?.map(({ name }) => name).join(', ');
    return names === undefined || names === named
      ? []
      : [fault(`has ${names}, and the report is of ${named}`, at)];
  });
}

/** loadFaults compares the rates that were asked for with those of the plan, and with the requests that came. */
function loadFaults({ workload, models }: SimulationReport, spanS: number | undefined): Fault[] {
  return models.flatMap(({ plannedRps, sloMs, attainment, requests }, m) => {
    const { arrived } = requests;
    const { rps, loadFactor } = itemAt(workload.models, m);
    const at = `/workload/models/${m}`;
    return [
      ...((sloMs ?? 1) > 0 ? [] : [fault(`is ${sloMs}; an SLO is some time`, `/models/${m}/sloMs`)]),
      ...(attainment === undefined || attainment === requests.attainment
        ? []
        : [
            fault(
              `is ${attainment}, and that of its requests ${requests.attainment}`,
              `/models/${m}/attainment`,
            ),
          ]),
      ...givenFaults(loadFactor, plannedRps === 0 ? 0 : rps / plannedRps, `${at}/loadFactor`),
      // Rates of phases are means over the whole run.
      ...(spanS === undefined || (workload.phases !== undefined && spanS < workload.durationS)
        ? []
        : arrivedFaults(workload, { arrived, rps, spanS, at: `${at}/rps` })),
    ];
  });
}

function dropFaults({ drops, models, pools }: SimulationReport): Fault[] {
  const places = new Set(['entry', ...pools.map((pool) => writtenStageName(pool))]);
  const keys = drops.map(({ model, reason, place }) => JSON.stringify([model, reason, place]));
  return [
    ...drops.flatMap(({ model, place, count }, i) => [
      ...(count > 0 ? [] : [fault(`is ${count}; places without drops are left out`, `/drops/${i}/count`)]),
      ...(places.has(place)
        ? []
        : [fault(`is ${JSON.stringify(place)}, which is no place of the plan`, `/drops/${i}/place`)]),
      ...(models.some(({ name }) => name === model)
        ? []
        : [fault(`is ${JSON.stringify(model)}, which is no model`, `/drops/${i}/model`)]),
      ...(keys.indexOf(itemAt(keys, i)) === i ? [] : [fault('is counted twice', `/drops/${i}`)]),
    ]),
    ...models.flatMap(({ name, requests: { dropped } }) => {
      const all = addedUp(drops.filter(({ model }) => model === name).map(({ count }) => count));
      return all === dropped
        ? []
        : [fault(`have ${all} requests of ${name}, of which ${dropped} were dropped`, '/drops')];
    }),
  ];
}

function runsFaults({ runs, overall, models, complete }: SimulationReport): Fault[] {
  if (runs === undefined) return [];
  const { count, confidence } = runs;
  const figures = (of: RunsFigures, requests: SimulatedRequests, at: string): Fault[] => {
    const first = complete ? requests : undefined;
    return [
      ...overRunsFaults(of.attainment, first?.attainment, {
        at: `${at}/attainment`,
        runs: count,
        isShare: true,
        least: 0,
        most: 1,
      }),
      ...overRunsFaults(of.goodputRps, first?.goodputRps, { at: `${at}/goodputRps`, runs: count }),
      ...overRunsFaults(of.p99Ms, first?.latencyMs?.p99, { at: `${at}/p99Ms`, runs: count }),
    ];
  };
  return [
    ...(Number.isInteger(count) && count >= 2
      ? []
      : [fault(`is ${count}; one run has no spread`, '/runs/count')]),
    ...(confidence === CONFIDENCE
      ? []
      : [fault(`is ${confidence}; intervals are of ${CONFIDENCE}`, '/runs/confidence')]),
    ...(count >= 2
      ? [
          ...figures(runs.overall, overall, '/runs/overall'),
          ...runs.models.flatMap((one, m) =>
            figures(one, models[m]?.requests as SimulatedRequests, `/runs/models/${m}`),
          ),
        ]
      : []),
  ];
}
