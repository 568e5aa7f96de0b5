import { describe, expect, it } from 'vitest';
import { workflowPlanFaults } from '../../../src/checks/index.js';
import type { WorkflowPlan } from '../../../src/formats/index.js';
import { madePlan } from '../../plans/workflow/made-workflows.js';

type Edit = (plan: WorkflowPlan) => void;

/** Each edit of a plan, and the faults that it makes: where, and a part of what is said. */
const EDITS: readonly [
  what: string,
  edit: Edit,
  faults: readonly (readonly [path: string, said: string])[],
][] = [
  [
    'a component with the name of another',
    (p) => p.components.push({ ...p.components[1]!, name: 'answer' }),
    [['/components/2/name', 'is answer, as another is']],
  ],
  [
    'functions of a load that is no trace',
    (p) => (p.functionsInTurn = true),
    [['/functionsInTurn', 'the load is no trace']],
  ],
  [
    'weights that take more than the memory',
    (p) => (p.components[0]!.weightBytes = 2 ** 32),
    [['/components/0/memoryBytes', 'its weights take 4294967296']],
  ],
  [
    'a class of a component that the cluster lacks',
    (p) => (p.components[0]!.classes[1]!.device = 'tiny'),
    [
      ['/components/0/classes/1/device', 'no class of the cluster'],
      ['/placement/2/class', 'runs no component'],
      ['/placement/2/static/0', 'does not run on small'],
    ],
  ],
  [
    'a class that stands twice',
    (p) => p.components[0]!.classes.push({ ...p.components[0]!.classes[0]! }),
    [['/components/0/classes/2/device', 'as another is']],
  ],
  [
    'fewer latencies than the largest batch',
    (p) => (p.components[0]!.classes[0]!.batch = 3),
    [['/components/0/classes/0/latencyUsByBatch', 'has 2 latencies, and its largest batch is 3']],
  ],
  [
    'more latencies than the largest batch',
    (p) => (p.components[0]!.classes[0]!.batch = 1),
    [['/components/0/classes/0/latencyUsByBatch', 'has 2 latencies, and its largest batch is 1']],
  ],
  [
    'no latency at the largest batch',
    (p) => (p.components[1]!.classes[0]!.latencyUsByBatch = [1, null]),
    [['/components/1/classes/0/latencyUsByBatch', 'no latency at its largest batch 2']],
  ],
  [
    'a component that fits no device',
    (p) => (p.components[1]!.memoryBytes = 5 * 2 ** 30),
    [
      ['/components/1', 'fits no device'],
      ['/placement/1/holds', 'take 5 GiB, and the device has 4'],
      ['/placement/1/static', 'take 5 GiB, and the device has 4'],
    ],
  ],
  [
    'a component that no device holds where none moves',
    (p) => {
      p.serving.scheduler = 'static';
      p.placement[1]!.static = [];
      delete p.sample.rightGuesses;
    },
    [['/components/1', 'is draw, which no device holds']],
  ],
  [
    'a device of an unknown class',
    (p) => (p.placement[2]!.class = 'tiny'),
    [['/placement/2/class', 'no class of the cluster']],
  ],
  [
    'a class without a memory',
    (p) => delete p.cluster.devices.small!.memoryGiB,
    [['/placement/2/class', 'memoryGiB the cluster lacks']],
  ],
  [
    'a class without a count',
    (p) => delete p.cluster.devices.small!.count,
    [['/cluster/devices/small', 'lacks "count"']],
  ],
  [
    'more devices than are free',
    (p) => (p.cluster.devices.big!.taken = 1),
    [['/placement', 'has 2 devices of big, and 1 are free']],
  ],
  [
    'a device that its server does not have',
    (p) => (p.placement[2]!.gpu = 1),
    [['/placement/2/gpu', 'is 1; a server of small has 1']],
  ],
  [
    'a device that holds a byte more than its memory',
    (p) => {
      p.components[0]!.memoryBytes = 3 * 2 ** 30 + 1;
      p.placement[2]!.static = ['answer'];
    },
    [['/placement/2/static', 'GiB, and the device has 3']],
  ],
  [
    'a device that stands twice',
    (p) => (p.placement[1]!.gpu = 0),
    [['/placement/1', 'is big-0/gpu0, as another is']],
  ],
  [
    'a server of two classes',
    (p) => {
      p.placement[2]!.server = 'big-0';
      p.placement[2]!.gpu = 2;
      p.cluster.devices.small!.perServer = 3;
    },
    [['/placement/2/class', 'big-0 has devices of big']],
  ],
  [
    'a device that holds an unknown component',
    (p) => (p.placement[0]!.holds = ['sing']),
    [['/placement/0/holds/0', 'no component']],
  ],
  [
    'a device that holds a component twice',
    (p) => {
      p.components[0]!.memoryBytes = 1;
      p.placement[0]!.holds = ['answer', 'answer'];
    },
    [['/placement/0/holds/1', 'as before']],
  ],
  [
    'a device that holds what its class does not run',
    (p) => (p.placement[2]!.static = ['draw']),
    [['/placement/2/static/0', 'does not run on small']],
  ],
  [
    'a device that holds more than its memory',
    (p) => (p.placement[0]!.holds = ['answer', 'draw']),
    [['/placement/0/holds', 'take 5 GiB, and the device has 4']],
  ],
  [
    'a device that holds more than its memory where none moves',
    (p) => (p.placement[0]!.static = ['answer', 'draw']),
    [['/placement/0/static', 'take 5 GiB']],
  ],
  [
    'a group beyond their number',
    (p) => (p.placement[0]!.subcluster = 1),
    [['/placement/0/subcluster', 'there are 1, from 0 on']],
  ],
  ['a group without devices', (p) => (p.subclusters = 2), [['/subclusters', 'no device is in group 1']]],
  [
    'a workflow with the name of another',
    (p) => (p.workflows[1]!.name = 'chat'),
    [['/workflows/1/name', 'as another is']],
  ],
  ['shares that do not sum to 1', (p) => (p.workflows[0]!.share = 0.5), [['/workflows', 'sum to 0.75']]],
  [
    'a workflow with runs and a chain',
    (p) => (p.workflows[0]!.runs = 'chat.jsonl'),
    [['/workflows/0', 'has runs and a chain']],
  ],
  [
    'a workflow with neither',
    (p) => delete p.workflows[0]!.chain,
    [['/workflows/0', 'neither runs nor a chain']],
  ],
  [
    'a history of three calls',
    (p) => (p.workflows[0]!.frequencies[3]!.after = ['answer', 'draw', 'draw']),
    [['/workflows/0/frequencies/3/after', 'has 3 calls']],
  ],
  [
    'a history of an unknown component',
    (p) => (p.workflows[0]!.frequencies[1]!.after = ['sing']),
    [['/workflows/0/frequencies/1/after/0', 'is sing']],
  ],
  [
    'an unknown component that was called',
    (p) => (p.workflows[0]!.frequencies[1]!.component = 'sing'),
    [['/workflows/0/frequencies/1/component', 'is sing']],
  ],
  [
    'a call without inputs or rows',
    (p) => {
      delete p.workflows[0]!.frequencies[1]!.inputs;
      delete p.workflows[0]!.frequencies[1]!.rows;
    },
    [
      ['/workflows/0/frequencies/1', 'lacks "inputs"'],
      ['/workflows/0/frequencies/1', 'lacks "rows"'],
    ],
  ],
  [
    'an input from before the first call',
    (p) => (p.workflows[0]!.frequencies[1]!.inputs = [2]),
    [['/workflows/0/frequencies/1/inputs/0', 'only 1 calls were made']],
  ],
  [
    'more rows than a batch has',
    (p) => (p.workflows[0]!.frequencies[0]!.rows = 2.5),
    [['/workflows/0/frequencies/0/rows', 'has 2 at most']],
  ],
  [
    'rows of an end',
    (p) => (p.workflows[0]!.frequencies[2]!.rows = 1),
    [['/workflows/0/frequencies/2/rows', 'the request ended']],
  ],
  [
    'a call that is counted twice',
    (p) => (p.workflows[1]!.frequencies[1]!.after = []),
    [['/workflows/1/frequencies/1', 'counts what another counts']],
  ],
  [
    'requests that begin and do not end',
    (p) => (p.workflows[0]!.frequencies[2]!.count = 29),
    [['/workflows/0/frequencies', '40 requests began and 39 ended']],
  ],
  ['a rate that is not that of the load', (p) => (p.rps = 21), [['/rps', 'the load has 20']]],
  [
    'requests that are not those of its workflows',
    (p) => (p.sample.requests = 53),
    [['/sample/requests', 'those of its workflows are 52']],
  ],
  ['fewer tasks than requests', (p) => (p.sample.tasks = 51), [['/sample/tasks', 'each of 52 requests']]],
  ['more drops than requests', (p) => (p.sample.dropped = 53), [['/sample/dropped', 'is 53 of 52']]],
  ['quantiles that fall', (p) => (p.sample.p95Ms = 91), [['/sample/p99Ms', 'less than p95Ms']]],
  [
    'a median above the 95th percentile',
    (p) => (p.sample.workflows[0]!.p50Ms = 86),
    [
      ['/sample/workflows/0/p95Ms', 'less than p50Ms'],
      ['/sample/workflows/0/meanMs', 'half of the latencies'],
    ],
  ],
  [
    'a mean that half of the latencies exceed',
    (p) => (p.sample.meanMs = 9),
    [['/sample/meanMs', 'half of the latencies are 20 or more']],
  ],
  [
    'another workflow in the sample',
    (p) => (p.sample.workflows[1]!.name = 'chat'),
    [['/sample/workflows/1/name', 'the plan has search here']],
  ],
  [
    'a workflow too few in the sample',
    (p) => {
      p.sample.workflows.pop();
      p.sample.requests = 40;
    },
    [['/sample/workflows', 'has 1 entries']],
  ],
  [
    'some of the latencies',
    (p) => delete p.sample.workflows[0]!.p50Ms,
    [['/sample/workflows/0', 'all of them or none']],
  ],
  [
    'an attainment without an SLO',
    (p) => (p.sample.workflows[1]!.attainment = 1),
    [['/sample/workflows/1/attainment', 'no requests with an SLO']],
  ],
  [
    'no attainment of an SLO',
    (p) => delete p.sample.workflows[0]!.attainment,
    [['/sample/workflows/0', 'lacks "attainment"']],
  ],
  [
    'an attainment of no whole requests',
    (p) => (p.sample.workflows[0]!.attainment = 0.99),
    [['/sample/workflows/0/attainment', 'no whole number of 40']],
  ],
  [
    'shares of time that do not sum to 1',
    (p) => (p.sample.deviceTime.idle = 0.5),
    [['/sample/deviceTime', 'sums to 0.875']],
  ],
  ['time of loads, and no loads', (p) => (p.sample.loads = 0), [['/sample/loads', 'devices loaded']]],
  [
    'guesses of a scheduler that expects nothing',
    (p) => (p.serving.scheduler = 'greedy'),
    [['/sample/rightGuesses', 'expects nothing']],
  ],
  [
    'a mean that is not that of its workflows',
    (p) => (p.sample.meanMs = 31),
    [
      ['/sample/meanMs', 'by the counts it is 30'],
      ['/objective/value', 'by the counts it is 31'],
    ],
  ],
  [
    'a bound of the mean above it',
    (p) => (p.bounds.meanMs = 31),
    [
      ['/bounds/meanMs', 'from 0 to 30'],
      ['/objective/bound', 'it is 31'],
    ],
  ],
  [
    'a value that is not that of the sample',
    (p) => (p.objective.value = 29),
    [['/objective/value', 'it is 30']],
  ],
  [
    'a bound that is not among the bounds',
    (p) => (p.objective.bound = 25),
    [['/objective/bound', 'it is 24']],
  ],
  [
    'a gap that is another',
    (p) => (p.objective.gap = 0.2),
    [
      ['/objective/bound', 'value and gap give 25'],
      ['/objective/gap', 'value and bound give 0.25'],
    ],
  ],
  ['no gap of a bound above 0', (p) => delete p.objective.gap, [['/objective/gap', 'is missing']]],
  ['an optimum with a gap', (p) => (p.status = 'optimal'), [['/status', 'is optimal, and the gap is 0.25']]],
];

describe('workflowPlanFaults()', () => {
  it('finds nothing in a plan without contradictions', () => {
    expect(workflowPlanFaults(madePlan())).toEqual([]);
  });

  for (const [what, edit, faults] of EDITS)
    it(`finds ${what}`, () => {
      const plan = madePlan();
      edit(plan);
      expect(workflowPlanFaults(plan)).toEqual(
        faults.map(([path, said]) => ({ path, message: expect.stringContaining(said) })),
      );
    });

  it('finds nothing where what a device holds takes its whole memory', () => {
    const plan = madePlan();
    plan.components[0]!.memoryBytes = 3 * 2 ** 30;
    expect(workflowPlanFaults(plan)).toEqual([]);
  });

  it('asks no gap of a mean that reaches its bound where requests were dropped, nor a bound of devices where some have no SLO', () => {
    const dropping = madePlan();
    Object.assign(dropping.sample, { meanMs: 20, dropped: 30 });
    Object.assign(dropping, { objective: { kind: 'latency', value: 20, bound: 20 } });
    expect(workflowPlanFaults(dropping)).toEqual([]);
    const counted = { ...madePlan(), bounds: { meanMs: 24, devices: 2 } };
    Object.assign(counted, { objective: { kind: 'devices', value: 3, bound: 1, gap: 2 } });
    expect(workflowPlanFaults(counted)).toEqual([]);
    counted.workflows[1]!.sloMs = 500;
    counted.sample.workflows[1]!.attainment = 1;
    expect(workflowPlanFaults(counted).map(({ path }) => path)).toEqual(['/objective/bound']);
  });

  it('reports the faults of all parts at once', () => {
    const plan = madePlan();
    plan.components.push({ ...plan.components[0]! });
    plan.placement[1]!.gpu = 0;
    plan.workflows[0]!.share = 0.5;
    const paths = workflowPlanFaults(plan).map(({ path }) => path);
    for (const path of ['/components/2/name', '/placement/1', '/workflows']) expect(paths).toContain(path);
  });

  it('judges plans of fewest devices by their number, their bound and the SLOs that they hold', () => {
    const fewest = (): WorkflowPlan => ({
      ...madePlan(),
      objective: { kind: 'devices', value: 3, bound: 1, gap: 2 },
    });
    expect(workflowPlanFaults(fewest())).toEqual([]);
    const more = fewest();
    more.objective.value = 2;
    expect(workflowPlanFaults(more)).toEqual([
      { path: '/objective/value', message: 'is 2, and by the counts it is 3' },
    ]);
    const late = fewest();
    late.sample.workflows[0]!.attainment = 0.975;
    expect(workflowPlanFaults(late)).toEqual([
      { path: '/sample/workflows/0/attainment', message: 'is 0.975, and the devices are to hold 0.99' },
    ]);
  });

  it('says nothing of means and their bound where requests were dropped', () => {
    const plan = madePlan();
    plan.sample.dropped = 1;
    plan.sample.meanMs = 23;
    plan.objective = { kind: 'latency', value: 23, bound: 23, gap: 0 };
    plan.bounds.meanMs = 23;
    plan.status = 'optimal';
    expect(workflowPlanFaults(plan)).toEqual([]);
  });
});
