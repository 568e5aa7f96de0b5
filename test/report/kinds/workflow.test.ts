import { describe, expect, it } from 'vitest';
import type { SimulatedRequests, SimulationReport } from '../../../src/formats/index.js';
import { simulationParts, solvedParts } from '../../../src/report/index.js';
import {
  componentUseTable,
  workflowLatencyTable,
  workflowLines,
} from '../../../src/report/kinds/workflow.js';
import { splitTable } from '../../../src/report/simulate.js';
import type { Part, Table } from '../../../src/report/table.js';
import { madePlan } from '../../plans/workflow/made-workflows.js';

const solved = (plan = madePlan()) => solvedParts({ plan, document: { solver: { ms: 1, phases: {} } } });

const tables = (parts: readonly Part[]) => parts.filter((part): part is Table => typeof part === 'object');

describe('A workflow plan is shown', () => {
  it('by what it serves on which devices, how its sample fares, and how near that is to the bound', () => {
    expect(solved().slice(0, 3)).toEqual([
      '2 workflows at 20.0 requests/s on 2 big + 1 small, by the scheduler dyorc',
      'mean 30.0 ms, p95 80.0 ms over the 52 requests of the sample; least of the mean latency: 30.0 ms (bound 24.0 ms, gap 25.00 %)',
      'devices: executing 25.0 % of the time, loading 6.3 %, both 6.3 %, idle 62.5 %; 1 load, 0 evictions; 75.0 % of next calls as expected',
    ]);
  });

  it('with its groups, drops, and devices where these were made fewest', () => {
    const plan = madePlan();
    plan.subclusters = 2;
    plan.sample.dropped = 3;
    plan.objective = { kind: 'devices', value: 3, bound: 1, gap: 2 };
    const [first, second] = solved(plan);
    expect(first).toContain('1 small in 2 groups,');
    expect(second).toContain(', 3 dropped; least of the devices: 3 devices (bound 1 device, gap 200.00 %)');
  });

  it('by its workflows, components and devices', () => {
    const [workflows, components, devices] = tables(solved()) as [Table, Table, Table];
    expect(workflows.rows).toEqual([
      ['chat', '75.0 %', '200', '40', '100.00 %', '33.0', '22.0', '85.0', '90.0'],
      ['search', '25.0 %', '—', '12', '—', '20.0', '20.0', '30.0', '40.0'],
    ]);
    expect(components.rows).toEqual([
      ['answer', '2.15 GB', 'big', '2', '12.0', '500', '1'],
      ['', '', 'small', '1', '30.0', '500', '0'],
      ['draw', '3.22 GB', 'big', '2', '40.0', '750', '1'],
    ]);
    expect(devices.columns).toEqual(['devices', 'class', 'hold', 'hold where none moves']);
    expect(devices.rows).toEqual([
      ['1', 'big', 'answer', 'answer'],
      ['1', 'big', 'draw', 'draw'],
      ['1', 'small', 'nothing', 'answer'],
    ]);
  });

  it('with like devices in one row', () => {
    const plan = madePlan();
    plan.placement = plan.placement.map(({ static: _, ...device }) => ({ ...device, holds: ['answer'] }));
    const [, , devices] = tables(solved(plan));
    expect(devices).toMatchObject({
      columns: ['devices', 'class', 'hold'],
      rows: [
        ['2', 'big', 'answer'],
        ['1', 'small', 'answer'],
      ],
    });
  });
});

const LATENCY = { count: 10, mean: 20, p50: 15, p90: 30, p95: 35, p99: 40, max: 50 };
const REQUESTS: SimulatedRequests = {
  arrived: 10,
  inTime: 10,
  late: 0,
  dropped: 0,
  failed: 0,
  attainment: 1,
  dropRate: 0,
  offeredRps: 1,
  throughputRps: 1,
  goodputRps: 1,
  latencyMs: LATENCY,
};

function reportOf(workflows: Partial<NonNullable<SimulationReport['workflows']>>): SimulationReport {
  return {
    kind: 'simulation-report',
    version: '1.5',
    seed: 0,
    complete: true,
    percentileError: 0,
    workload: { arrivals: 'poisson', durationS: 10, models: [{ name: 'chat', rps: 1, loadFactor: 1 }] },
    scheduler: { name: 'dyorc', policy: {} },
    execution: { slow: 1, jitter: 'none' },
    overall: REQUESTS,
    models: [{ name: 'chat', plannedRps: 1, requests: REQUESTS }],
    drops: [],
    classes: {},
    pools: [
      {
        model: 'answer',
        pipeline: 0,
        partition: 0,
        stage: 'answer',
        class: 'big',
        virtual: 1,
        virtualGpus: 1,
        batch: 1,
        batches: 20,
        requests: 20,
        meanBatch: 1,
        sizes: [20],
        utilisation: 0.5,
        loads: 2,
        evictions: 1,
      },
    ],
    workflows: {
      tasks: 20,
      fetches: 1,
      loads: 2,
      evictions: 1,
      overS: 12,
      subclusters: 1,
      deviceTime: { executing: 0.5, loading: 0.1, both: 0, idle: 0.4 },
      ...workflows,
    },
  };
}

describe('A simulation of workflows is shown', () => {
  it('by what it took', () => {
    expect(workflowLines(reportOf({ rightGuesses: 0.8, schedules: 1234, subclusters: 2 }))).toEqual([
      '20 tasks, 1 fetch, 2 loads, 1 eviction, in 2 groups of devices; 80.0 % of next calls as expected; 1 234 schedules looked at',
      'over 12 s devices were executing 50.0 % of the time, loading 10.0 %, both 0.0 %, idle 40.0 %',
    ]);
    expect(workflowLines(reportOf({ fetches: 2 }))[0]).toBe('20 tasks, 2 fetches, 2 loads, 1 eviction');
  });

  it('by latencies, without where the time of requests went, and by components', () => {
    const report = reportOf({});
    expect(splitTable(report).rows).toEqual([]);
    expect(workflowLatencyTable(report).rows).toEqual([
      ['chat', '20.0', '15.0', '30.0', '35.0', '40.0', '50.0'],
    ]);
    expect(componentUseTable(report).rows).toEqual([['answer', 'big', '20', '2', '1']]);
    // A workflow that is never late has no SLO to be shown.
    const [outcomes] = tables(simulationParts(report));
    expect(outcomes?.rows[0]?.at(-1)).toBe('—');
  });

  it('by nothing of workflows where it is of another plan', () => {
    const { workflows: _, ...report } = reportOf({});
    expect(workflowLines(report)).toEqual([]);
    expect([workflowLatencyTable(report).rows, componentUseTable(report).rows]).toEqual([[], []]);
  });
});
