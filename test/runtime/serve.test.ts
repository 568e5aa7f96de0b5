import { afterEach, describe, expect, it } from 'vitest';
import { loadArtifact } from '../../src/artifacts/index.js';
import { hostThreads } from '../../src/execution/index.js';
import { driveLoad } from '../../src/loadgen/index.js';
import { topologyOf } from '../../src/plans/index.js';
import { streamsOf } from '../../src/random/index.js';
import type { RunningServer, ServeEvent, ServeOptions } from '../../src/runtime/index.js';
import { liveScheduler } from '../../src/runtime/scheduler.js';
import {
  Decision,
  type LogEntry,
  makeCore,
  ReservationCore,
  replay,
  StageLocalCore,
} from '../../src/serving/index.js';
import { cases, inWholeRun, whole } from '../cases.js';
import { type BundleShape, inputOf, isRight, serveBundle, twoPartitions } from './tiny-bundle.js';

const inputs = Array.from({ length: 16 }, (_, i) => ({ x: inputOf(i) }));
const check = ({ inputs, outputs }: { inputs: object; outputs: object }) =>
  isRight(inputs as never, outputs as never);

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(
  shape: BundleShape,
  options: ServeOptions = {},
): Promise<{ server: RunningServer; folder: string }> {
  const { server, folder, close } = await serveBundle(shape, options);
  closers.push(close);
  return { server, folder };
}

/**
 * serveAndLose serves two partitions with an SLO that is long enough for a restart. Once the server is busy, the
 * executor of the second partition is killed as it receives a full batch.
 * @returns `lost`: the tasks of that batch, once this has happened
 */
async function serveAndLose(batch: number, scheduler: 'reservation' | 'stage-local' | 'reactive') {
  const log: LogEntry[] = [];
  const events: ServeEvent[] = [];
  const lost: number[] = [];
  let batches = 0;
  const shape = twoPartitions(batch, scheduler === 'reactive' ? 2000 : 60_000, 2000, 20);
  const { server, folder } = await serve(shape, {
    scheduler,
    onLog: (event) => events.push(event),
    onDecision: (entry) => {
      log.push(entry);
      const tasks = tasksOf(entry);
      if (tasks.length !== batch || entry[3] !== 1 || ++batches !== 20) return;
      lost.push(...tasks);
      process.kill(server.executorPids()[1]!, 'SIGKILL');
    },
  });
  return { server, folder, log, events, lost };
}

/** tasksOf lists the tasks of the batch that a log entry executes. */
function tasksOf(entry: LogEntry): number[] {
  const [word, kind, , , , , ...tasks] = entry;
  return word === 'said' && kind === Decision.execute ? tasks : [];
}

/** executedWith lists the executed batches that hold a task. */
const executedWith = (task: number, log: readonly LogEntry[]): number[][] =>
  log.map(tasksOf).filter((tasks) => tasks.includes(task));

const metric = (text: string, name: string, labels = ''): number =>
  text
    .split('\n')
    .filter((line) => line.startsWith(name) && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);

/** until waits until a metric of the server has at least this value. */
async function until(server: RunningServer, name: string, least: number): Promise<void> {
  while (metric(await server.metricsText(), name) < least)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

/** expectAllAccounted expects that every request sent is counted once, by the client and by the server. */
async function expectAllAccounted(report: Awaited<ReturnType<typeof driveLoad>>, server: RunningServer) {
  const { sent, inTime, late, dropped, failed, cancelled } = report;
  expect(inTime + late + dropped + failed + cancelled).toBe(sent);
  expect(metric(await server.metricsText(), 'inferplan_outcomes_total')).toBe(sent);
  expect(metric(await server.metricsText(), 'nv_inference_pending_request_count')).toBe(0);
}

describe('startServer() under driveLoad()', () => {
  inWholeRun(
    "answers everything at a modest rate over two partitions, with the model's own answers",
    async () => {
      const { server } = await serve(twoPartitions(4, 3000));
      const report = await driveLoad(server.url, {
        rps: 150,
        durationS: whole(0.4, cases(0.7, 2)),
        seed: 1,
        inputs,
        check,
      });
      expect(report.failures).toEqual({});
      expect(report.answered).toBe(report.sent);
      expect(report.model).toBe('tiny');
      await expectAllAccounted(report, server);
      const text = await server.metricsText();
      expect(metric(text, 'nv_inference_request_success{')).toBe(report.sent);
      expect(metric(text, 'nv_inference_count{')).toBe(report.sent);
      expect(metric(text, 'inferplan_batch_size_sum', 'partition="0"')).toBe(report.sent);
    },
  );

  inWholeRun('serves requests of many rows, in JSON and with uniform arrivals', async () => {
    const { server } = await serve(twoPartitions(4, 3000));
    const many = Array.from({ length: 5 }, (_, i) => ({ x: inputOf(i, 3) }));
    const options = {
      rps: 50,
      durationS: 1,
      arrivals: 'uniform',
      rows: 3,
      tensors: 'json',
      inputs: many,
      check,
    } as const;
    const report = await driveLoad(server.url, options);
    expect(report).toMatchObject({ sent: 50, answered: 50, failed: 0, failures: {} });
    expect(metric(await server.metricsText(), 'nv_inference_count{')).toBe(150);
  });

  inWholeRun('says before it is ready that its devices leave no room for it on this host', async () => {
    const { server, events } = await serveCrowd(hostThreads());
    const told = events.find((event) => event.kind === 'crowded')!;
    expect(told.why).toContain(`keep ${hostThreads()} of this host's ${hostThreads()} CPU cores busy`);
    expect(events.indexOf(told)).toBeLessThan(events.findIndex(({ kind }) => kind === 'ready'));
    await server.close();
    // A device that waits for most of its time leaves room.
    const roomy = await serveCrowd(1, 4);
    expect(roomy.events.map(({ kind }) => kind)).not.toContain('crowded');
  });

  async function serveCrowd(threads: number, slowdown = 1) {
    const events: ServeEvent[] = [];
    const shape: BundleShape = {
      pipelines: [
        { shape: { throughputRps: 100, parts: [{ batch: 1, latencyUs: () => 9000 }] }, blocks: [2] },
      ],
      devices: { cpu: { provider: 'cpu', threads, slowdown } },
      sloMs: 3000,
    };
    const { server } = await serve(shape, { onLog: (event) => events.push(event) });
    return { server, events };
  }

  inWholeRun(
    'reports what it has executed since an earlier answer, and refuses what is no such answer',
    async () => {
      const { server } = await serve(twoPartitions(1, 3000));
      const told = async (since: string) => {
        const response = await fetch(`${server.url}/v2/models/tiny/executions?since=${since}`);
        return { status: response.status, body: (await response.json()) as Executions };
      };
      await driveLoad(server.url, { rps: 30, durationS: whole(0.3, 0.5), inputs });
      const { sequence, executions } = (await told('0')).body;
      const { sent } = await driveLoad(server.url, { rps: 30, durationS: whole(0.3, 0.5), seed: 8, inputs });
      const later = (await told(String(sequence))).body;
      expect(later.requests.answered).toBe(executions[0]!.executed + sent);
      expect(later.executions).toMatchObject([
        { pipeline: 0, partition: 0, device_class: 'cpu', virtual: 1, batch_size: 1, measured: sent },
        { pipeline: 0, partition: 1, device_class: 'cpu', virtual: 1, batch_size: 1, measured: sent },
      ]);
      expect(later.executions[0]!.p50_us).toBeGreaterThan(0);
      expect((await told('x')).status).toBe(400);
    },
  );

  interface Executions {
    sequence: number;
    requests: { answered: number };
    executions: { executed: number; p50_us: number }[];
  }

  inWholeRun('serves several pipelines of one model and spreads the load over them', async () => {
    const whole = { batch: 2, latencyUs: () => 400 };
    const shape: BundleShape = {
      pipelines: [
        { shape: { throughputRps: 100, parts: [{ ...whole, device: 'cpu' }] }, blocks: [2] },
        { shape: { throughputRps: 100, parts: [{ ...whole, device: 'slow' }] }, blocks: [2] },
      ],
      devices: { cpu: { provider: 'cpu', threads: 1 }, slow: { provider: 'cpu', threads: 1, slowdown: 3 } },
      sloMs: 3000,
    };
    const { server } = await serve(shape, { policy: ['choice=proportional'] });
    const report = await driveLoad(server.url, { rps: 100, durationS: 1, inputs, check });
    expect(report.answered).toBe(report.sent);
    const text = await server.metricsText();
    for (const pipeline of [0, 1]) {
      const served = metric(text, 'inferplan_batch_size_sum', `pipeline="${pipeline}"`);
      expect(Math.abs(served - report.sent / 2)).toBeLessThanOrEqual(1);
    }
  });

  // A busy machine may take so much longer that requests are dropped, so this is tried again.
  it('answers the late requests of a short burst, rather than drop them, while few of the last requests missed their SLO', {
    retry: 3,
  }, async () => {
    // Eight requests come at once to devices that take one at a time. Some wait longer than the SLO, but none
    // five times as long.
    const { server } = await serve(twoPartitions(1, 150, 1000, 130));
    const burst = { rps: 1e5, durationS: 8e-5, arrivals: 'uniform' } as const;
    const report = await driveLoad(server.url, { ...burst, inputs, check });
    expect(report).toMatchObject({ sent: 8, answered: 8, dropped: 0, failures: {} });
    expect(report.late).toBeGreaterThan(0);
  });

  inWholeRun(
    'drops requests, rather than queue them for ever, when far more arrive than it can serve',
    async () => {
      const { server } = await serve(twoPartitions(2, 400, 10_000, 800));
      const report = await driveLoad(server.url, { rps: 1500, durationS: cases(1, 2), inputs, check });
      expect(report.failures).toEqual({});
      expect(report.dropped).toBeGreaterThan(0.2 * report.sent);
      expect(report.answered).toBeGreaterThan(0);
      await expectAllAccounted(report, server);
      const drops = (reason: string) => metric(text, 'inferplan_drops_total', `reason="${reason}"`);
      const text = await server.metricsText();
      expect(drops('deadline') + drops('overload')).toBe(report.dropped);
      expect(drops('overload')).toBeGreaterThan(0);
    },
  );

  inWholeRun('logs the events and decisions of its core, and a fresh core decides the same', async () => {
    const log: LogEntry[] = [];
    const { server, folder } = await serve(twoPartitions(), { onDecision: (entry) => log.push(entry) });
    await driveLoad(server.url, { rps: 200, durationS: 0.5, inputs });
    const { value: plan } = await loadArtifact(`${folder}/plan.json`, ['pooled-plan']);
    const topology = topologyOf(plan, { transfers: 'none' });
    const slackNs = 3e6;
    const answer = replay(log, (decisions) => new StageLocalCore(topology, decisions, { slackNs }));
    expect(log.filter(([word]) => word === 'arrived').length).toBeGreaterThan(50);
    expect(answer).toEqual({ same: true, entries: log.length });
  });

  inWholeRun(
    'serves by reservation too, retries the tasks of a lost batch alone, and writes a log that replays',
    async () => {
      const { server, folder, log, lost } = await serveAndLose(4, 'reservation');
      const load = { rps: 150, durationS: 2, arrivals: 'uniform', seed: 1, inputs, check } as const;
      const report = await driveLoad(server.url, load);
      await expectAllAccounted(report, server);
      expect(report).toMatchObject({ sent: 300, answered: 300, failures: {} });
      expect(lost).toHaveLength(4);
      const down = log.findIndex(([word]) => word === 'deviceDown');
      for (const task of lost) expect(executedWith(task, log.slice(down))[0]).toEqual([task]);
      const many = Array.from({ length: 5 }, (_, i) => ({ x: inputOf(i, 3) }));
      const more = { rps: 20, durationS: 1, arrivals: 'uniform', rows: 3, inputs: many, check } as const;
      const after = await driveLoad(server.url, more);
      expect(after).toMatchObject({ sent: 20, answered: 20 });
      const { value: plan } = await loadArtifact(`${folder}/plan.json`, ['pooled-plan']);
      const topology = topologyOf(plan, { transfers: 'none' });
      const answer = replay(log, (decisions) => new ReservationCore(topology, decisions));
      expect(log.filter(([word]) => word === 'deviceDown')).toHaveLength(1);
      expect(answer).toEqual({ same: true, entries: log.length });
    },
  );

  inWholeRun('restarts a killed executor, tries its tasks again, and loses nothing', async () => {
    const { server, log, lost, events } = await serveAndLose(2, 'stage-local');
    const report = await driveLoad(server.url, { rps: 200, durationS: cases(1.5, 3), inputs, check });
    await expectAllAccounted(report, server);
    expect(report).toMatchObject({ answered: report.sent, failures: {} });
    expect(lost).toHaveLength(2);
    const down = log.findIndex(([word]) => word === 'deviceDown');
    for (const task of lost) expect(executedWith(task, log.slice(down)).length).toBeGreaterThan(0);
    expect(events.some(({ kind }) => kind === 'deviceDown')).toBe(true);
    const text = await server.metricsText();
    expect(metric(text, 'inferplan_device_restarts_total')).toBe(1);
    expect(metric(text, 'inferplan_device_up')).toBe(2);
    const after = await driveLoad(server.url, { rps: 50, durationS: 0.5, inputs, check });
    expect(after.answered).toBe(after.sent);
  });

  inWholeRun(
    'runs handed-over batches in order, so that the log replays to the same decisions, also after a device was killed',
    async () => {
      const { server, folder, log, lost } = await serveAndLose(2, 'reactive');
      const load = { rps: 200, durationS: 0.5, arrivals: 'uniform', seed: 1, inputs, check } as const;
      const report = await driveLoad(server.url, load);
      await expectAllAccounted(report, server);
      // Requests that arrive while the device is down are dropped, because this scheduler keeps nothing for a device that
      // is down.
      expect(report).toMatchObject({ sent: 100, failed: 0, failures: {} });
      expect(report.answered).toBeGreaterThan(0);
      await until(server, 'inferplan_device_up', 2);
      expect(await driveLoad(server.url, load)).toMatchObject({ sent: 100, answered: 100, failures: {} });
      expect(lost).toHaveLength(2);
      // More batches were handed over than had begun.
      let waiting = 0;
      let most = 0;
      for (const entry of log) {
        if (tasksOf(entry).length > 0) waiting += 1;
        if (entry[0] === 'started') waiting -= 1;
        most = Math.max(most, waiting);
      }
      expect(most).toBeGreaterThan(0);
      const { value: plan } = await loadArtifact(`${folder}/plan.json`, ['pooled-plan']);
      const topology = topologyOf(plan, { transfers: 'none' });
      const answer = replay(log, (decisions) =>
        makeCore(liveScheduler({ scheduler: 'reactive' }, { plan, topology }), topology, {
          decisions,
          streams: streamsOf(1, 'core'),
        }),
      );
      expect(answer).toEqual({ same: true, entries: log.length });
    },
  );

  it('closes in the middle of a load, answers the requests that it has, and refuses others', async () => {
    const { server } = await serve(twoPartitions(4, 1000));
    const load = driveLoad(server.url, { rps: 300, durationS: 1, inputs, check });
    await until(server, 'nv_inference_request_success', 20);
    const pids = server.executorPids();
    await server.close();
    await server.closed;
    const { sent, inTime, late, dropped, failed, answered, failures } = await load;
    expect(inTime + late + dropped + failed).toBe(sent);
    expect(answered).toBeGreaterThanOrEqual(20);
    expect(Object.keys(failures).filter((why) => !/ECONN|SOCKET|closed|status 503/i.test(why))).toEqual([]);
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  inWholeRun('stops when aborted, and counts open requests as cancelled', async () => {
    const { server } = await serve(twoPartitions(4, 5000, 1e6, 2000), {
      policy: ['formation=last-moment', 'formation.leaves=transfer', 'formation.stepNs=1'],
      drainTimeoutMs: 100,
    });
    const signal = AbortSignal.timeout(300);
    const report = await driveLoad(server.url, { rps: 100, durationS: 20, inputs, signal });
    expect(report.elapsedS).toBeLessThan(5);
    expect(report.inTime + report.late + report.dropped + report.failed + report.cancelled).toBe(report.sent);
  });
});
