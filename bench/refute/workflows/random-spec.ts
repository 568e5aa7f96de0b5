import type { OpenCluster, Profile, Run, WorkflowChain, WorkflowSpec } from '../../../src/formats/index.js';
import type { Dice } from '../../seeded/dice.js';

/** RandomWorkflows is a spec of workflows with the profile of each of its components, and the recorded runs of one. */
export interface RandomWorkflows {
  readonly spec: Omit<WorkflowSpec, 'cluster'> & { readonly cluster: OpenCluster };
  readonly profiles: readonly Profile[];
  readonly runs: readonly Run[];
}

const GIB = 1024 ** 3;
const BATCHES = [1, 2, 4];
const NAMES = ['a', 'b', 'c'];
const STEPS = ['x', 'y', 'z'];

/**
 * randomWorkflows draws one or two workflows over three components that may not all fit into a device, on one or two
 * classes of which the second may run some of them only, with a load of a second or two, and SLOs that may be tight or
 * absent.
 */
export function randomWorkflows(dice: Dice): RandomWorkflows {
  const classes = ['one', 'two'].slice(0, 1 + dice.below(2));
  const profiles = NAMES.map((name) => profileOf(dice, name, classes));
  const names = ['w', 'v'].slice(0, 1 + dice.below(2));
  const isRecorded = dice.chance(0.4);
  const slos = names.map(() => (dice.chance(0.7) ? 40 + dice.below(400) : undefined));
  const workflows = names.map((name, w) => {
    const sloMs = slos[w];
    const source = isRecorded && w === 0 ? { runs: 'w.jsonl' } : { chain: chainOf(dice) };
    return { name, ...source, ...(sloMs === undefined ? {} : { sloMs }) };
  });
  const hasSlo = slos.some((sloMs) => sloMs !== undefined);
  const objective = hasSlo && dice.chance(0.5) ? { objective: 'devices' as const } : {};
  const cluster = clusterOf(dice, classes);
  const devices = Object.values(cluster.devices).reduce((sum, { count = 0 }) => sum + count, 0);
  return {
    spec: {
      kind: 'workflow',
      cluster,
      workflows,
      components: NAMES.map((name) => ({
        name,
        profile: `${name}.json`,
        ...(dice.chance(0.2) ? { maxBatch: 4 } : {}),
      })),
      load: { arrivals: 'poisson', rps: 5 + dice.below(30), duration: dice.pick(['1s', '2s']) },
      planner: {
        method: dice.pick(['dyorc', 'dyorc', 'greedy', 'round-robin', 'static', 'ray-like'] as const),
        ...objective,
        ...(hasSlo ? { attainment: dice.pick([0.5, 0.9, 1]) } : {}),
        ...(devices > 1 && dice.chance(0.25) ? { subclusters: 2 } : {}),
      },
    },
    profiles,
    runs: isRecorded ? Array.from({ length: 1 + dice.below(4) }, () => runOf(dice)) : [],
  };
}

function clusterOf(dice: Dice, classes: readonly string[]): OpenCluster {
  const devices = classes.map((name, k) => [
    name,
    {
      count: 1 + dice.below(3),
      perServer: dice.pick([1, 2]),
      memoryGiB: 4 + dice.below(9),
      hourlyCost: [2, 1][k] as number,
      loadGBps: 5 + dice.below(50),
      ...(dice.chance(0.3) ? { linkGbps: 1 + dice.below(20) } : {}),
    },
  ]);
  return {
    devices: Object.fromEntries(devices),
    ...(dice.chance(0.7) ? { networkGbps: 1 + dice.below(40) } : {}),
  };
}

function profileOf(dice: Dice, name: string, classes: readonly string[]): Profile {
  const own = classes.filter((_, k) => k === 0 || dice.chance(0.7));
  const devices = own.map((device) => {
    const [fixedUs, rowUs] = [2000 + dice.below(15_000), dice.below(6000)];
    const byBatch = BATCHES.map((batch) => [String(batch), [fixedUs + rowUs * batch]]);
    return [device, { blockLatencyUs: { 1: Object.fromEntries(byBatch) } }];
  });
  return {
    kind: 'profile',
    version: '1.0',
    model: { name },
    blocks: [{ cutBytes: 0, weightBytes: (1 + dice.below(3)) * GIB }],
    devices: Object.fromEntries(devices),
  } as Profile;
}

/** chainOf draws a chain of up to three steps, of which one may lead back, and the last leads to the end. */
function chainOf(dice: Dice): WorkflowChain {
  const steps = STEPS.slice(0, 1 + dice.below(3));
  return {
    requestBytes: dice.below(2_000_000),
    start: 'x',
    steps: steps.map((name, s) => ({
      name,
      calls: Array.from({ length: 1 + dice.below(2) }, () => ({
        component: dice.pick(NAMES),
        inputs: ['request', ...steps].filter(() => dice.chance(0.5)),
        outputBytes: dice.below(2_000_000),
        ...(dice.chance(0.3) ? { rows: 1 + dice.below(4) } : {}),
        ...(dice.chance(0.2) ? { thinkMs: dice.below(20) } : {}),
      })),
      next: dice.chance(0.5)
        ? (steps[s + 1] ?? 'end')
        : [
            { to: dice.pick(steps.slice(0, s + 1)), chance: 0.3 },
            { to: steps[s + 1] ?? 'end', chance: 0.7 },
          ],
    })),
  };
}

/** runOf draws a recorded run of up to four tasks. */
function runOf(dice: Dice): Run {
  const tasks = Array.from({ length: 1 + dice.below(4) }, (_, t) => {
    const before = Array.from({ length: t }, (__, other) => other);
    const after = before.filter(() => dice.chance(0.4));
    return {
      component: dice.pick(NAMES),
      inputs: ['request' as const, ...before].filter(() => dice.chance(0.5)),
      after,
      outputBytes: dice.below(2_000_000),
      rows: 1 + dice.below(2),
    };
  });
  return { kind: 'run', version: '1.0', application: 'w', requestBytes: dice.below(2_000_000), tasks };
}
