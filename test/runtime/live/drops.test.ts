import { afterEach, describe, expect, it } from 'vitest';
import type { PipelinePlan, TensorSpec } from '../../../src/formats/index.js';
import { planTopologyOf } from '../../../src/plans/index.js';
import { type RunningServer, startServer } from '../../../src/runtime/index.js';
import { Drops } from '../../../src/runtime/live/drops.js';
import { describeInWholeRun, inWholeRun } from '../../cases.js';
import { gearPlan } from '../../gear-plans.js';
import { edge, figured, pipelineOf } from '../../pipeline-plans.js';
import { planOf } from '../../serving/plans.js';
import { writePipelineBundle } from '../pipeline-bundle.js';
import { echo, inputOf, serveBundle, twoPartitions, WIDTH } from '../tiny-bundle.js';

const ENTRY = -1;

/** dropsOf gives the drops of a plan, with all devices up that it has in use. */
function dropsOf(plan: Parameters<typeof planTopologyOf>[0]): Drops {
  const topology = planTopologyOf(plan);
  const drops = new Drops(topology);
  for (const [device, { standby }] of topology.devices.entries())
    if (standby !== true) drops.device(device, true);
  return drops;
}

/** A chain of two stages at 10 requests/s; the second has two devices. */
const chain = (more: Partial<PipelinePlan> = {}) =>
  pipelineOf(
    [{ name: 'detect', next: [edge('match')] }, { name: 'match' }],
    [['detect'], ['match'], ['match']],
    {
      throughputRps: 10,
      ...more,
    },
  );

describe('Drops.ending()', () => {
  it('names the stage of a pipeline, the model of a cascade, and the partition of a pooled plan', () => {
    const part = { batch: 1, latencyUs: () => 1000 };
    const pooled = planOf([
      { sloMs: 100, pipelines: [1, 2].map(() => ({ throughputRps: 1, parts: [part, part] })) },
    ]);
    const cascade = gearPlan({
      latencyUs: [[1000], [2000]],
      held: [[0], [1]],
      gears: [{ toRps: 10, steps: [{ model: 0, threshold: 0.5 }, { model: 1 }] }],
    });
    const stageOf = (plan: Parameters<typeof planTopologyOf>[0], pool: number) => {
      const { place, stage } = dropsOf(plan).ending(0, 'deadline', pool);
      return [place, stage];
    };
    expect(stageOf(chain(), 1)).toEqual(['match', 'match']);
    expect(stageOf(cascade, 1)).toEqual(['m1', 'm1']);
    expect(stageOf(pooled, 3)).toEqual(['pipeline1/partition1', 'pipeline1/partition1']);
    expect(stageOf(pooled, ENTRY)).toEqual(['entry', undefined]);
  });

  it('says in how many seconds the open rows will have been served, rounded up, and at least 1', () => {
    const drops = dropsOf(chain());
    const waits: number[] = [];
    for (const rows of [1, 9, 1, 189, -189]) {
      if (rows > 0) drops.took(0, rows);
      else drops.gave(0, -rows);
      waits.push(drops.ending(0, 'deadline', 0).retryAfterS);
    }
    expect(waits).toEqual([1, 1, 2, 20, 2]);
  });

  it('expects a pipeline to serve less while devices are down, by the stage that lacks the largest share', () => {
    const drops = dropsOf(chain());
    drops.took(0, 100);
    drops.device(1, false);
    expect(drops.ending(0, 'deadline', 0).retryAfterS).toBe(20);
    drops.device(1, true);
    expect(drops.ending(0, 'deadline', 0).retryAfterS).toBe(10);
  });

  it('waits for an executor to be started again where no device of a stage is up', () => {
    const drops = dropsOf(chain());
    drops.device(0, false);
    drops.took(0, 1);
    expect(drops.ending(0, 'device-down', 0).retryAfterS).toBe(5);
    drops.took(0, 99);
    expect(drops.ending(0, 'device-down', 0).retryAfterS).toBe(10);
  });

  it('counts standby devices once they are up, and adds the rates of several pipelines', () => {
    const plan = chain();
    plan.placement.push(
      ...(['detect', 'match', 'match'] as const).map((name, i) => {
        return { ...plan.placement[0]!, server: `standby-${i}`, stages: [name], standby: true as const };
      }),
    );
    const drops = dropsOf(plan);
    drops.took(0, 100);
    expect(drops.ending(0, 'deadline', 0).retryAfterS).toBe(10);
    for (const device of [3, 4, 5]) drops.device(device, true);
    expect(drops.ending(0, 'deadline', 0).retryAfterS).toBe(5);
    const part = { batch: 1, latencyUs: () => 1000 };
    const pipelines = [10, 30].map((throughputRps) => ({ throughputRps, parts: [part] }));
    const pooled = dropsOf(planOf([{ sloMs: 100, pipelines }]));
    pooled.took(0, 100);
    expect(pooled.ending(0, 'deadline', 0).retryAfterS).toBe(3);
    pooled.device(1, false);
    expect(pooled.ending(0, 'deadline', 0).retryAfterS).toBe(10);
  });
});

describeInWholeRun('a request that a server drops', () => {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  /** Nothing is given up before its deadline, and then at once. Batches go by what was planned. */
  const policy = ['drop=expired', 'late=drop', 'correction=none'];

  interface Reply {
    readonly status: number;
    readonly retryAfter: string | null;
    readonly type: string | null;
    readonly json: unknown;
  }

  async function post(server: RunningServer, model: string, body: object): Promise<Reply> {
    const url = `${server.url}/v2/models/${model}/infer`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
    const { headers, status } = response;
    const [retryAfter, type] = [headers.get('retry-after'), headers.get('content-type')];
    return { status, retryAfter, type, json: await response.json() };
  }

  /**
   * Two stages that give on what they get; the first takes some tens of milliseconds for it. The second is planned for
   * half a request a second.
   */
  async function servedChain(): Promise<RunningServer> {
    const plan = pipelineOf(
      [
        { name: 'slow', next: [edge('match')], batch: 4, latencyUs: 10, device: 'slow' },
        { name: 'match', batch: 4, latencyUs: 2e6 },
      ],
      [['slow'], ['match']],
      { sloMs: 10_000, cluster: { devices: { slow: {}, cpu: {} } } },
    );
    plan.placement[0]!.class = 'slow';
    plan.classes = { slow: { used: 1 }, cpu: { used: 1 } };
    const row = (name: string): TensorSpec => ({ name, dtype: 'float32', shape: [1, 1], batchAxis: 0 });
    const [first, second] = plan.stages;
    first!.inputs = [{ ...row('x'), from: ['request.x'] }];
    first!.outputs = second!.outputs = [row('y')];
    second!.inputs = [{ ...row('x'), from: ['slow.y'] }];
    const { bytes } = echo('float32').file(0, 1);
    const bundle = await writePipelineBundle(figured(plan), {
      files: () => bytes,
      change: (manifest) => {
        manifest.devices.slow = { provider: 'cpu', threads: 1, slowdown: 4000 };
      },
    });
    closers.push(bundle.remove);
    const server = await startServer(bundle.folder, { port: 0, policy });
    closers.push(() => server.close());
    return server;
  }

  /** sendChain sends a request of four rows with a deadline of its own. */
  const sendChain = (server: RunningServer, timeoutUs: number) =>
    post(server, 'app', {
      parameters: { timeout: timeoutUs },
      inputs: [{ name: 'x', shape: [4, 1], datatype: 'FP32', data: [1, 2, 3, 4] }],
    });

  inWholeRun(
    'names its stage, and lets clients come back when the rows that are open have been served',
    async () => {
      const server = await servedChain();
      expect(await sendChain(server, 1)).toEqual({
        status: 503,
        retryAfter: '8',
        type: 'application/json',
        json: {
          error: 'Dropped at slow: it could not be answered by its deadline',
          reason: 'deadline',
          place: 'slow',
          stage: 'slow',
        },
      });
      // The deadline is to pass while the first stage runs, which a busy machine may begin too late.
      const ask = async (tries: number): Promise<Reply> => {
        const reply = await sendChain(server, 6000);
        const atFirst = (reply.json as { stage?: string }).stage === 'slow';
        return atFirst && tries > 1 ? ask(tries - 1) : reply;
      };
      expect(await ask(20)).toMatchObject({
        status: 503,
        retryAfter: '8',
        json: { reason: 'deadline', place: 'match', stage: 'match' },
      });
      expect(await sendChain(server, 0)).toMatchObject({ status: 200, retryAfter: null });
      expect(await server.metricsText()).toContain(
        'inferplan_drops_total{model="app",reason="deadline",place="match"} 1',
      );
    },
  );

  it('names its pipeline and partition where the plan is pooled', async () => {
    const { server, close } = await serveBundle(twoPartitions(4, 10_000), { policy });
    closers.push(close);
    const data = [...inputOf(1).data];
    const inputs = [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data }];
    expect(await post(server, 'tiny', { parameters: { timeout: 1 }, inputs })).toEqual({
      status: 503,
      retryAfter: '1',
      type: 'application/json',
      json: {
        error: 'Dropped at pipeline0/partition0: it could not be answered by its deadline',
        reason: 'deadline',
        place: 'pipeline0/partition0',
        stage: 'pipeline0/partition0',
      },
    });
  });
});
