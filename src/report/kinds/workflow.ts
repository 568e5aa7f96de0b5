import {
  counted,
  type DeviceTimeShares,
  type PlannedComponent,
  type SimulationReport,
  type WorkflowDevice,
  type WorkflowPlan,
} from '../../formats/index.js';
import { boundWords } from '../bound-words.js';
import { always, figureOrDash, usedWords } from '../compare-cells.js';
import { bytes, count, figure, milliseconds, orDash, percent, plain, type Table } from '../table.js';
import type { KindReport } from './kind-report.js';
import { stageDiffTable } from './pipeline.js';

/** WORKFLOWS says how plans of dynamic workflows are shown. */
export const WORKFLOWS: KindReport<'workflow-plan'> = {
  remarks: () => [],
  solved: ({ plan }) => [
    ...[...workflowHeadlines(plan), ''],
    ...[plannedWorkflowTable(plan), componentTable(plan), workflowDeviceTable(plan)],
  ],
  differences: [stageDiffTable],
  simulated: { lines: workflowLines, tables: [workflowLatencyTable, componentUseTable], windows: [] },
  compared: {
    merit: [{ head: 'p95 ms', wanted: always, cell: ({ p95Ms }) => figureOrDash(p95Ms) }],
    service: [],
    use: [],
    best: [{ words: 'least p95 ms', figureOf: ({ p95Ms }) => p95Ms, isLeast: true }],
  },
};

/** workflowHeadlines state what a plan serves on which devices, how its sample fares, and how near that is to the proved bound. */
export function workflowHeadlines(plan: WorkflowPlan): string[] {
  const { workflows, rps, sample, serving, subclusters, placement } = plan;
  const used: Record<string, { used: number }> = {};
  for (const { class: name } of placement) used[name] = { used: (used[name]?.used ?? 0) + 1 };
  const groups = subclusters === 1 ? '' : ` in ${subclusters} groups`;
  const dropped = sample.dropped === 0 ? '' : `, ${count(sample.dropped)} dropped`;
  return [
    `${counted(workflows.length, 'workflow')} at ${figure(rps)} requests/s on ${usedWords(used)}${groups}, by the scheduler ${serving.scheduler}`,
    `mean ${figure(sample.meanMs)} ms, p95 ${figure(sample.p95Ms)} ms over the ${count(sample.requests)} requests of the sample${dropped}; ${objectiveWords(plan)}`,
    `devices: ${timeWords(sample.deviceTime)}; ${counted(sample.loads, 'load')}, ${counted(sample.evictions, 'eviction')}${guessWords(sample)}`,
  ];
}

function objectiveWords({ objective }: WorkflowPlan): string {
  const { kind, value, bound, gap = null } = objective;
  const written = {
    latency: (one: number) => `${figure(one)} ms`,
    devices: (one: number) => counted(one, 'device'),
  }[kind];
  const least = { latency: 'the mean latency', devices: 'the devices' }[kind];
  return `least of ${least}: ${written(value)} (${boundWords({ value, bound, gap }, written)})`;
}

/** timeWords say what devices did of the time. */
function timeWords({ executing, loading, both, idle }: DeviceTimeShares): string {
  return `executing ${percent(executing)} of the time, loading ${percent(loading)}, both ${percent(both)}, idle ${percent(idle)}`;
}

function guessWords({ rightGuesses }: { readonly rightGuesses?: number }): string {
  return rightGuesses === undefined ? '' : `; ${percent(rightGuesses)} of next calls as expected`;
}

/** plannedWorkflowTable lists the workflows, with what the sample makes of each. */
export function plannedWorkflowTable({ workflows, sample }: WorkflowPlan): Table {
  const rows = workflows.map(({ name, share, sloMs }, w) => {
    const { requests = 0, attainment, meanMs, p50Ms, p95Ms, p99Ms } = sample.workflows[w] ?? {};
    return [
      ...[name, percent(share), orDash(sloMs, figure), count(requests)],
      ...[orDash(attainment, (one) => percent(one, 2)), orDash(meanMs, figure)],
      ...[p50Ms, p95Ms, p99Ms].map((one) => orDash(one, figure)),
    ];
  });
  return {
    columns: [
      ...['workflow', 'of the load', 'SLO ms', 'requests'],
      ...['in time', 'mean ms', 'p50 ms', 'p95 ms', 'p99 ms'],
    ],
    rows,
    spare: ['p50 ms', 'requests', 'of the load', 'p99 ms', 'SLO ms'],
  };
}

/** componentTable lists the components by class, with what they need there. */
export function componentTable({ components, placement }: WorkflowPlan): Table {
  const rows = components.flatMap((component) => {
    const { name, memoryBytes, classes } = component;
    return classes.map(({ device, batch, latencyUsByBatch, loadUs }, k) => [
      ...(k === 0 ? [name, bytes(memoryBytes)] : ['', '']),
      ...[device, String(batch), orDash(latencyUsByBatch[batch - 1], milliseconds)],
      milliseconds(loadUs),
      String(heldOn(device, component, placement)),
    ]);
  });
  return {
    columns: ['component', 'memory', 'on', 'batch', 'batch ms', 'load ms', 'held by'],
    rows,
    spare: ['load ms', 'batch ms', 'batch'],
  };
}

function heldOn(device: string, { name }: PlannedComponent, placement: readonly WorkflowDevice[]): number {
  return placement.filter((one) => one.class === device && one.holds.includes(name)).length;
}

/** workflowDeviceTable lists the devices by what they hold at the start, and what they hold where components never move. */
export function workflowDeviceTable({ placement }: WorkflowPlan): Table {
  const hasStatic = placement.some((device) => device.static !== undefined);
  const alike = new Map<string, { count: number; cells: string[] }>();
  for (const { class: name, holds, static: stays = holds } of placement) {
    const cells = [heldWords(holds), ...(hasStatic ? [heldWords(stays)] : [])];
    const key = JSON.stringify([name, cells]);
    const known = alike.get(key) ?? { count: 0, cells: [name, ...cells] };
    known.count += 1;
    alike.set(key, known);
  }
  return {
    columns: ['devices', 'class', 'hold', ...(hasStatic ? ['hold where none moves'] : [])],
    rows: [...alike.values()].map(({ count: many, cells }) => [String(many), ...cells]),
    spare: ['hold where none moves'],
  };
}

function heldWords(held: readonly string[]): string {
  return held.length === 0 ? 'nothing' : held.join(', ');
}

/** workflowLines say what it took to serve workflows. */
export function workflowLines({ workflows }: SimulationReport): string[] {
  if (workflows === undefined) return [];
  const { tasks, fetches, loads, evictions, deviceTime, overS, subclusters, rightGuesses, schedules } =
    workflows;
  const groups = subclusters === 1 ? '' : `, in ${subclusters} groups of devices`;
  const searched = schedules === undefined ? '' : `; ${count(schedules)} schedules looked at`;
  return [
    `${counted(tasks, 'task')}, ${count(fetches)} ${fetches === 1 ? 'fetch' : 'fetches'}, ${counted(loads, 'load')}, ${counted(evictions, 'eviction')}${groups}${guessWords(rightGuesses === undefined ? {} : { rightGuesses })}${searched}`,
    `over ${plain(overS, 6)} s devices were ${timeWords(deviceTime)}`,
  ];
}

/** workflowLatencyTable has the mean latency of answered requests and its quantiles, by workflow and for all of several. */
export function workflowLatencyTable({ workflows, models, overall }: SimulationReport): Table {
  const all = models.length > 1 ? [{ name: 'all', requests: overall }] : [];
  const rows = workflows === undefined ? [] : [...models, ...all];
  return {
    columns: ['workflow', 'mean ms', 'p50 ms', 'p90 ms', 'p95 ms', 'p99 ms', 'max ms'],
    rows: rows.map(({ name, requests: { latencyMs } }) => [
      name,
      ...[
        latencyMs?.mean,
        latencyMs?.p50,
        latencyMs?.p90,
        latencyMs?.p95,
        latencyMs?.p99,
        latencyMs?.max,
      ].map((one) => orDash(one, figure)),
    ]),
    spare: ['p90 ms', 'max ms', 'p50 ms', 'p99 ms'],
  };
}

/** componentUseTable has one row per component and class of workflows: how often it was loaded, and what was executed of it. */
export function componentUseTable({ workflows, pools }: SimulationReport): Table {
  const rows = workflows === undefined ? [] : pools;
  return {
    columns: ['component', 'class', 'rows', 'loads', 'evictions'],
    rows: rows.map(({ stage = '', class: name, requests, loads = 0, evictions = 0 }) => [
      ...[stage, name, count(requests), count(loads), count(evictions)],
    ]),
    spare: ['rows', 'class'],
  };
}
