import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServer, verifyLoad } from '../../src/api/index.js';
import { loadArtifact } from '../../src/artifacts/index.js';
import type { LoadDocument } from '../../src/formats/index.js';
import { OUTCOMES } from '../../src/metrics/index.js';
import { uniformAt } from '../../src/random/index.js';
import type { RunningServer } from '../../src/runtime/index.js';
import type { LogEntry } from '../../src/serving/index.js';
import { drawnLevels } from '../../src/workload/index.js';
import { inWholeRun, whole } from '../cases.js';
import { serveBundle, twoPartitions } from '../runtime/tiny-bundle.js';

const WEIGHTS: Readonly<Record<number, number>> = { 1: 10, 3: 2 };
const SHARES = [
  { priority: 1, share: 0.2 },
  { priority: 3, share: 0.3 },
  { priority: 0, share: 0.5 },
];
const SEED = 4;
const ASKED = { priorities: '1=0.2,3=0.3,0=0.5', rps: 80, durationS: whole(0.6, 1.5), seed: SEED } as const;

let server: RunningServer;
let bundle: string;
let close: () => Promise<void>;
let folder: string;
let load: LoadDocument;
const log: LogEntry[] = [];
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-load-priorities-'));
  const serving = { scheduler: 'room-first', priorities: WEIGHTS };
  // The SLO is so long that no request is late, however busy this machine is.
  const shape = { ...twoPartitions(2, 60_000, 1000), serving };
  ({ server, folder: bundle, close } = await serveBundle(shape, { onDecision: (entry) => log.push(entry) }));
  load = await loadServer(server.url, { ...ASKED, output: at('load.json') });
});
afterAll(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

/** drawn is what each request is to send, in the order of sending. */
function drawn(requests: number): number[] {
  const levelOf = drawnLevels(SHARES, (purpose) => uniformAt(SEED, purpose));
  return Array.from({ length: requests }, (_, order) => SHARES[levelOf(order)]!.priority);
}

const timesOf = (values: readonly number[]) =>
  Object.fromEntries(
    [...new Set(values)].map((value) => [value, values.filter((one) => one === value).length]),
  );

describe('a load with priorities on a server', () => {
  it('counts the outcomes of the priorities that were drawn, which together are those of all', () => {
    const { priorities = [] } = load;
    expect(priorities.map(({ priority, share }) => ({ priority, share }))).toEqual(SHARES);
    const sent = Object.fromEntries(priorities.map((one) => [one.priority, one.sent]));
    expect(sent).toEqual(timesOf(drawn(load.sent)));
    for (const outcome of ['sent', 'answered', ...OUTCOMES] as const)
      expect(priorities.reduce((sum, one) => sum + one[outcome], 0)).toBe(load[outcome]);
    expect(priorities.every(({ attainment, latencyMs }) => attainment === 1 && latencyMs!.p50 > 0)).toBe(
      true,
    );
  });

  it('sends them, so that the server weighs the requests by them and counts as the report does', async () => {
    const weights = log.filter(([word]) => word === 'arrived').map((entry) => Number(entry[5] ?? 1));
    // Requests may come in another order than they were sent in, over several connections.
    expect(timesOf(weights)).toEqual(timesOf(drawn(load.sent).map((priority) => WEIGHTS[priority] ?? 1)));
    const text = await server.metricsText();
    for (const { priority, inTime } of load.priorities!) {
      const line = text
        .split('\n')
        .find(
          (one) =>
            one.startsWith('inferplan_outcomes_by_priority_total{') && one.includes(`priority="${priority}"`),
        );
      expect(Number(line?.split(' ').at(-1))).toBe(inTime);
    }
  });

  it('are in a report that is as its schema says', async () => {
    expect((await loadArtifact(at('load.json'), ['load-report'])).value).toEqual(load);
  });

  it('are verified beside a simulation whose requests have the same priorities', async () => {
    const { priorities = [] } = await verifyLoad(at('load.json'), {
      plan: bundle,
      output: at('verification.json'),
    });
    expect(priorities.map(({ priority }) => priority)).toEqual([1, 3, 0]);
    for (const [i, { figures }] of priorities.entries()) {
      const { inTime } = load.priorities![i]!;
      expect(figures[0]).toEqual({ name: 'attainment', simulated: 1, live: 1, difference: 0 });
      const goodput = figures.find(({ name }) => name === 'goodputRps')!;
      expect(goodput.live).toBeCloseTo(inTime / load.elapsedS, 9);
      // All of the requests of the priority are in time.
      expect(goodput.simulated! * ASKED.durationS).toBeCloseTo(inTime, 6);
    }
    await loadArtifact(at('verification.json'), ['verification']);
  });

  inWholeRun(
    'change neither the times nor the inputs of requests, and are left out where none are asked for',
    async () => {
      const { priorities, ...asked } = ASKED;
      const plain = await loadServer(server.url, asked);
      expect(plain.sends).toEqual(load.sends);
      expect(plain).not.toHaveProperty('priorities');
      const before = log.length;
      const json = await loadServer(server.url, { ...ASKED, durationS: 0.4, tensors: 'json' });
      const weights = log
        .slice(before)
        .filter(([word]) => word === 'arrived')
        .map((entry) => Number(entry[5] ?? 1));
      expect(timesOf(weights)).toEqual(timesOf(drawn(json.sent).map((priority) => WEIGHTS[priority] ?? 1)));
    },
  );

  it('are refused with every fault, drawn or from a trace', async () => {
    await expect(loadServer(server.url, { priorities: '1=0.5', rps: 0, durationS: 1 })).rejects.toThrow(
      /not a rate above 0[\s\S]*whose shares add up to 0.5/,
    );
  });
});
