import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServer } from '../../src/api/index.js';
import type { PipelinePlan, TensorSpec } from '../../src/formats/index.js';
import { applicationsOf } from '../../src/plans/index.js';
import { type RunningServer, startServer } from '../../src/runtime/index.js';
import type { LogEntry } from '../../src/serving/index.js';
import { arrivalsOf, prepareSimulation } from '../../src/simulation/index.js';
import { weighedRequests } from '../../src/simulation/run.js';
import { whole } from '../cases.js';
import { edge, figured, pipelineOf } from '../pipeline-plans.js';
import { writePipelineBundle } from './pipeline-bundle.js';
import { echo } from './tiny-bundle.js';

const APPLICATIONS = [
  { name: 'urgent', sloMs: 20_000, share: 0.4, weight: 3 },
  { name: 'plain', sloMs: 20_000, share: 0.6 },
];

/** echoOf is one stage that gives on what it gets. */
function echoOf(
  applications: PipelinePlan['applications'],
  priorities?: Record<string, number>,
): PipelinePlan {
  const row = (name: string): TensorSpec => ({ name, dtype: 'float32', shape: [1, 1], batchAxis: 0 });
  const plan = pipelineOf(
    [
      { name: 'first', next: [edge('second')], batch: 4, latencyUs: 200 },
      { name: 'second', batch: 4 },
    ],
    [['first'], ['second']],
    { name: 'chain', sloMs: 20_000, rps: 100, ...(applications && { applications }) },
  );
  const [first, second] = plan.stages;
  first!.inputs = [{ ...row('x'), from: ['request.x'] }];
  first!.outputs = second!.outputs = [row('y')];
  second!.inputs = [{ ...row('x'), from: ['first.y'] }];
  plan.serving = { scheduler: 'room-first', ...(priorities && { priorities }) };
  return figured(plan);
}

describe.each([
  ['applications and priorities', APPLICATIONS, { 1: 10, 2: 2 }, [1, 2, 3, 6, 10, 30]],
  ['applications alone', APPLICATIONS, undefined, [1, 3]],
  ['priorities alone', undefined, { 1: 10, 2: 2 }, [1, 2, 10]],
  ['neither', undefined, undefined, [1]],
] as const)('a plan whose requests are weighed by %s', (_, applications, priorities, weights) => {
  let server: RunningServer;
  let bundle: Awaited<ReturnType<typeof writePipelineBundle>>;
  let folder: string;
  const log: LogEntry[] = [];

  beforeAll(async () => {
    const { bytes } = echo('float32').file(0, 1);
    const plan = echoOf(applications && [...applications], priorities);
    bundle = await writePipelineBundle(plan, { files: () => bytes });
    folder = await mkdtemp(join(tmpdir(), 'inferplan-weights-'));
    server = await startServer(bundle.folder, { port: 0, onDecision: (entry) => log.push(entry) });
  });
  afterAll(async () => {
    await server.close();
    await bundle.remove();
    await rm(folder, { recursive: true, force: true });
  });

  it('gives the core the same weights live as in simulation, of the same requests', async () => {
    const trace = join(folder, 'trace.csv');
    const times = Array.from({ length: 120 }, (_, i) => (i * whole(0.001, 0.008)).toFixed(3));
    await writeFile(trace, `arrival_s\n${times.join('\n')}\n`);
    const asked = { traces: [trace], seed: 3, priorities: '1=0.3,2=0.3,0=0.4' };
    await loadServer(server.url, asked);
    const live = log
      .filter(([word]) => word === 'arrived')
      .map((entry) => ({ model: Number(entry[2]), weight: Number(entry[5] ?? 1) }));
    const { setup } = await prepareSimulation(bundle.folder, asked);
    const { weight } = weighedRequests(setup, 0);
    const arrivals = arrivalsOf(setup.workload, applicationsOf(setup.plan), setup.seed);
    const simulated: typeof live = [];
    for (let order = 0; arrivals.next(); order++)
      simulated.push({ model: arrivals.model, weight: weight?.(order, arrivals.model) ?? 1 });
    expect(simulated).toHaveLength(120);
    // Requests may come in another order than they were sent in, over several connections.
    const sorted = (of: typeof live) => of.map(({ model, weight }) => `${model} ${weight}`).sort();
    expect(sorted(live)).toEqual(sorted(simulated));
    expect([...new Set(live.map(({ weight }) => weight))].sort((a, b) => a - b)).toEqual(weights);
  });
});
