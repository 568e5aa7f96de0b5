import { itemAt, largestOf } from '../../../collections/index.js';
import type { LintRule, RuleFinding } from '../../lint/lint.js';
import {
  frontBatch,
  frontsOn,
  isPython,
  plannedGear,
  sharedMemoryOn,
  stageBatch,
  type TritonPlan,
  tritonPlanOf,
} from './bundle.js';
import { configPath, stagesOfRoute } from './names.js';
import { needsMps, serverPath } from './scripts.js';
import { isOnCpu, type Layout, leastPart } from './servers.js';

const MIB = 1024 * 1024;
/** Servers together carry at least this part of the planned rate, or a warning says so. */
const LEAST_CARRIED = 0.99;
const README = 'README.md';

/** warns makes a warning from what the plan is. */
function warns(name: string, tell: (triton: TritonPlan) => Iterable<RuleFinding>): LintRule {
  return { name, breaks: 'warning', check: (bundle) => tell(tritonPlanOf(bundle)) };
}

/** warnsOfClasses makes a warning about each class of devices that is found. */
function warnsOfClasses(name: string, tell: (layout: Layout) => string | undefined): LintRule {
  return warns(name, function* ({ layouts }) {
    const told = new Set<string>();
    for (const layout of layouts) {
      const message = told.has(layout.deviceClass) ? undefined : tell(layout);
      if (message === undefined) continue;
      told.add(layout.deviceClass);
      yield { file: serverPath(layout, 'start.sh'), message };
    }
  });
}

const ON_CPU = warnsOfClasses('cpu-class', (layout) => {
  if (!isOnCpu(layout)) return undefined;
  const { deviceClass, run } = layout;
  const what = run?.emulated
    ? `an emulated class, ${run.slowdown} times slower than measured, which Triton does not slow down`
    : 'a class of processor cores';
  return `${deviceClass} is ${what}: its instances are KIND_CPU`;
});

const UNKNOWN_PROVIDER = warnsOfClasses('provider', ({ deviceClass, run }) =>
  run === undefined
    ? `the profiles do not say how ${deviceClass} runs models; KIND_GPU is written`
    : undefined,
);

const SHARED_GPU = warnsOfClasses('gpu-fractions', (layout) => {
  if (!needsMps(layout)) return undefined;
  const most = largestOf(layout.seats.values());
  return `${layout.deviceClass} is divided into up to ${most} virtual GPUs: they are instances of one process, between which MPS does not divide a GPU, so that latencies vary more than those that were profiled`;
});

const SINGLE_ROWS = warns('single-rows', function* ({ graph, names }) {
  for (const [i, stage] of graph.stages.entries())
    if (stage.batch > 1 && stageBatch(stage) === 0)
      yield {
        file: configPath(itemAt(names.stages, i)),
        message: `a tensor's rows are not its axis 0, so that Triton executes ${names.stages[i]} row by row; the plan has batches of up to ${stage.batch}`,
      };
});

const ROWS_OF_REQUESTS = warns('request-rows', function* (triton) {
  const { graph, names } = triton;
  for (const [m, model] of graph.models.entries()) {
    const most = frontBatch(graph, model);
    if (most < model.maxRows)
      yield {
        file: configPath(itemAt(names.fronts, m)),
        message: `a request to ${names.fronts[m]} has at most ${Math.max(1, most)} rows, and the plan allows ${model.maxRows}`,
      };
  }
});

const CLIENT_NAMES = warns('client-names', function* ({ graph, names }) {
  for (const [m, { name }] of graph.models.entries())
    if (names.fronts[m] !== name)
      yield {
        file: configPath(itemAt(names.fronts, m)),
        message: `clients call ${JSON.stringify(name)} by the name ${names.fronts[m]}, which a folder can have`,
      };
});

const GEARS = warns('gears', function* ({ graph, names }) {
  const kept = plannedGear(graph);
  const all = graph.gears?.gears ?? [];
  if (kept === undefined || all.length < 2) return;
  yield {
    file: configPath(itemAt(names.fronts, 0)),
    message: `the plan has ${all.length} gears, and Triton keeps one, ${kept.index}, which is for up to ${kept.gear.toRps} requests per second: at lower rates it answers by the cascade of that gear`,
  };
});

const MEMORY = warns('python-memory', function* (triton) {
  for (const layout of triton.layouts) {
    const memory = sharedMemoryOn(triton, layout);
    if (memory === undefined) continue;
    const models = triton.graph.models.filter((model) => isPython(triton, model)).map(({ name }) => name);
    yield {
      file: serverPath(layout, 'start.sh'),
      message: `${models.join(', ')} takes ${memory.processes} processes of Python on ${layout.servers[0]}, one for each request in flight, and ${(memory.processes * memory.bytesEach) / MIB} MiB of shared memory`,
    };
  }
});

const BALANCE = warns('server-balance', function* ({ graph, layouts }) {
  for (const { name, routes, plannedRps } of graph.models) {
    const carried = layouts.map((layout) =>
      routes.reduce(
        (sum, { entry, share }) => sum + share * leastPart(layout, stagesOfRoute(graph, entry)),
        0,
      ),
    );
    const all = carried.reduce((sum, part, i) => sum + part * itemAt(layouts, i).servers.length, 0);
    if (all < LEAST_CARRIED)
      yield {
        file: README,
        message: `the servers have unequal parts of the stages of ${name}, and none calls another: together they carry ${(all * plannedRps).toPrecision(3)} of ${plannedRps.toPrecision(3)} requests per second`,
      };
  }
});

const SHARED_STAGES = warns('shared-queues', function* ({ graph, layouts, names }) {
  for (const layout of layouts) {
    if (!layout.isShared) continue;
    const models = [...layout.held.keys()].map((stage) => itemAt(graph.stages, stage) && names.stages[stage]);
    yield {
      file: serverPath(layout, 'start.sh'),
      message: `${models.join(', ')} share the devices of ${layout.servers[0]}: which of them is next is the choice of Triton's rate limiter, and not the earliest deadline`,
    };
  }
});

const TIMEOUTS = warns('timeout-cost', function* (triton) {
  const [layout] = triton.layouts;
  if (layout === undefined || frontsOn(triton, layout).length === 0) return;
  yield {
    file: serverPath(layout, 'start.sh'),
    message:
      'some versions of Triton lose throughput slowly where queues have timeouts (issue 8870 of its server): watch it over hours',
  };
});

const SCHEDULER = warns('scheduler', function* ({ plan }) {
  const { scheduler = 'stage-local', tuner } = plan.serving ?? {};
  if (scheduler !== 'triton')
    yield {
      file: README,
      message: `the plan is made for the scheduler ${scheduler}; Triton has one queue for each model, first come, first served, and no deadlines beside the timeouts of queues: plan simulate --scheduler triton says what that gives`,
    };
  if (tuner !== undefined)
    yield {
      file: README,
      message:
        'the plan has a tuner, which does not run on Triton: the instances stay, and standby devices are left out',
    };
});

/** WARNINGS are the rules for what Triton does otherwise than the plan, and for what may go wrong. */
export const WARNINGS: readonly LintRule[] = [
  ...[
    ON_CPU,
    UNKNOWN_PROVIDER,
    SHARED_GPU,
    SINGLE_ROWS,
    ROWS_OF_REQUESTS,
    CLIENT_NAMES,
    GEARS,
    MEMORY,
    BALANCE,
  ],
  ...[SHARED_STAGES, TIMEOUTS, SCHEDULER],
];
