import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServer, verifyLoad } from '../../src/api/index.js';
import type { PipelinePlan, TensorSpec } from '../../src/formats/index.js';
import { planTopologyOf } from '../../src/plans/index.js';
import { openBundle } from '../../src/runtime/bundle/opened-bundle.js';
import { type RunningServer, startServer } from '../../src/runtime/index.js';
import { Drops } from '../../src/runtime/live/drops.js';
import { edge, figured, pipelineOf } from '../pipeline-plans.js';
import { writePipelineBundle } from './pipeline-bundle.js';
import { echo } from './tiny-bundle.js';

/** Nothing can be answered within the SLO of `never`, and everything within that of `patient`. */
const TWO = [
  { name: 'never', sloMs: 0.001, share: 0.25 },
  { name: 'patient', sloMs: 20_000, share: 0.75 },
];

/** chainOf is a chain of two stages that give on what they get. */
function chainOf(): PipelinePlan {
  const row = (name: string): TensorSpec => ({ name, dtype: 'float32', shape: [1, 1], batchAxis: 0 });
  const plan = pipelineOf(
    [
      { name: 'first', next: [edge('second')], batch: 4, latencyUs: 200 },
      { name: 'second', batch: 4 },
    ],
    [['first'], ['second']],
    { name: 'chain', sloMs: 0.001, rps: 100, applications: TWO },
  );
  const [first, second] = plan.stages;
  first!.inputs = [{ ...row('x'), from: ['request.x'] }];
  first!.outputs = second!.outputs = [row('y')];
  second!.inputs = [{ ...row('x'), from: ['first.y'] }];
  return figured(plan);
}

describe('a server of a pipeline with applications', () => {
  let server: RunningServer;
  let bundle: Awaited<ReturnType<typeof writePipelineBundle>>;
  let folder: string;

  beforeAll(async () => {
    const { bytes } = echo('float32').file(0, 1);
    bundle = await writePipelineBundle(chainOf(), { files: () => bytes });
    folder = await mkdtemp(join(tmpdir(), 'inferplan-applications-live-'));
    const policy = ['late=drop', 'drop=hopeless'];
    server = await startServer(bundle.folder, { port: 0, policy });
  });
  afterAll(async () => {
    await server.close();
    await bundle.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const get = async (path: string) => fetch(server.url + path);
  const infer = async (model: string) =>
    fetch(`${server.url}/v2/models/${model}/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs: [{ name: 'x', shape: [2, 1], datatype: 'FP32', data: [4, 5] }] }),
    });

  it('has a model for each, with its own SLO, share and metrics, and none for the pipeline', async () => {
    for (const { name, sloMs, share } of TWO) {
      expect((await get(`/v2/models/${name}/ready`)).status).toBe(200);
      const { properties, inputs } = (await (await get(`/v2/models/${name}`)).json()) as {
        properties: Record<string, string>;
        inputs: { name: string }[];
      };
      expect(inputs.map((one) => one.name)).toEqual(['x']);
      expect(Number(properties.slo_ms)).toBeCloseTo(sloMs, 9);
      expect([Number(properties.planned_rps), Number(properties.weight)]).toEqual([100 * share, share]);
    }
    expect((await get('/v2/models/chain')).status).toBe(404);
  });

  it('judges each request by the SLO of its application, over the same devices', async () => {
    const answered = await infer('patient');
    expect(answered.status).toBe(200);
    expect(await answered.json()).toMatchObject({ model_name: 'patient', outputs: [{ data: [4, 5] }] });
    const dropped = await infer('never');
    expect(dropped.status).toBe(503);
    expect(await dropped.json()).toMatchObject({ reason: 'deadline', stage: 'first' });
    const metrics = await server.metricsText();
    expect(metrics).toContain('inferplan_drops_total{model="never",reason="deadline",place="first"} 1');
    for (const one of [
      'nv_inference_request_success{model="patient",version="1"} 1',
      'nv_inference_count{model="patient",version="1"} 2',
      'nv_inference_exec_count{model="patient",version="1"} 1',
    ])
      expect(metrics).toContain(one);
    expect(metrics).not.toContain('nv_inference_count{model="never",version="1"} 2');
    expect(metrics).toMatch(
      /inferplan_batch_size_count\{model="chain",pipeline="0",partition="0",stage="first"/,
    );
  });

  it('is loaded with a trace by the shares, and verified by application', async () => {
    const trace = join(folder, 'trace.csv');
    const times = Array.from({ length: 80 }, (_, i) => (i * 0.02).toFixed(3));
    await writeFile(trace, `arrival_s\n${times.join('\n')}\n`);
    const output = join(folder, 'load.json');
    const report = await loadServer(server.url, { traces: [trace], seed: 3, output });
    const [never, patient] = report.models ?? [];
    expect([never?.name, patient?.name]).toEqual(['never', 'patient']);
    expect((never?.sent ?? 0) + (patient?.sent ?? 0)).toBe(80);
    // Four standard deviations of a share of 0.25.
    expect(Math.abs((never?.sent ?? 0) - 20)).toBeLessThan(16);
    expect([never?.dropped, patient?.inTime]).toEqual([never?.sent, patient?.sent]);
    const verification = await verifyLoad(output, { plan: bundle.folder });
    expect(verification.models.map(({ name }) => name)).toEqual(['never', 'patient']);
    const attainment = verification.models.map(
      ({ figures }) => figures.find(({ name }) => name === 'attainment')?.simulated,
    );
    expect(attainment).toEqual([0, 1]);
    expect(verification.executions.some(({ liveBatches }) => liveBatches > 0)).toBe(true);
  });
});

describe('a bundle of a pipeline with applications', () => {
  it('is refused where its manifest lacks one, or has the pipeline as a model', async () => {
    const { folder, remove } = await writePipelineBundle(chainOf(), {
      change: (manifest) => {
        manifest.models[0]!.name = 'chain';
      },
    });
    await expect(openBundle(folder)).rejects.toThrow(/"chain", which the plan does not serve/);
    await expect(openBundle(folder)).rejects.toThrow(/has no model "never", which the plan serves/);
    await remove();
  });
});

describe('Drops of applications that share stages', () => {
  it('let each come back when the rows of all have been served', () => {
    const topology = planTopologyOf(chainOf());
    const drops = new Drops(topology);
    for (const device of topology.devices.keys()) drops.device(device, true);
    drops.took(0, 3000);
    drops.took(1, 5000);
    for (const model of [0, 1]) expect(drops.ending(model, 'deadline', 0)).toMatchObject({ retryAfterS: 8 });
    drops.gave(0, 3000);
    for (const model of [0, 1]) expect(drops.ending(model, 'deadline', 0)).toMatchObject({ retryAfterS: 5 });
  });
});
