import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadServer, simulatePlan, verifyLoad } from '../../../src/api/index.js';
import {
  gapTimes,
  type LoadDocument,
  type PooledPlan,
  sha256Of,
  type Verification,
} from '../../../src/formats/index.js';
import { noOutcomes, type OutcomeCounts, outcomeRates } from '../../../src/metrics/index.js';
import { inWholeRun } from '../../cases.js';
import { gearPlan } from '../../gear-plans.js';
import { serveBundle, twoPartitions } from '../../runtime/tiny-bundle.js';

/** Each of the two partitions is planned to take 20 ms, and takes less than one. */
const PLANNED_US = 20_000;
/** The SLO is so long that no request is late, however busy this machine is. */
const SLO_MS = 60_000;
const NOTE = 'tiny: its figures of cpu (20× slower) were measured on an emulated device';

let folder: string;
let bundle: string;
let close: () => Promise<void>;
let load: LoadDocument;
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-verify-'));
  const served = await serveBundle({ ...twoPartitions(2, SLO_MS, PLANNED_US), notes: [NOTE] });
  ({ folder: bundle, close } = served);
  load = await loadServer(served.server.url, { rps: 40, durationS: 1.5, seed: 3, output: at('load.json') });
});
afterAll(async () => {
  await close();
  await rm(folder, { recursive: true, force: true });
});

async function changed(name: string, change: (report: LoadDocument) => object): Promise<string> {
  await writeFile(at(name), JSON.stringify({ ...load, ...change(load) }));
  return at(name);
}

/** Latencies that were measured are of other outcomes than those that are made up. */
const UNTIMED = { latencyMs: undefined, latencyHistogram: undefined };

/** counted is a report of these outcomes: with the sums and rates that follow from them, and without latencies. */
function counted(report: LoadDocument, outcomes: Partial<OutcomeCounts>): object {
  const { inTime, late, dropped, failed, cancelled } = { ...noOutcomes(), ...outcomes };
  const counts = { inTime, late, dropped, failed, cancelled };
  const answered = inTime + late;
  const rates = outcomeRates(counts, report.elapsedS);
  const share = rates.attainment === undefined ? {} : { attainment: rates.attainment };
  return { ...counts, answered, ...UNTIMED, ...rates, overall: share };
}

/** fast is what the server told, with executions of one millisecond, however busy this machine was. */
const fast = ({ served }: LoadDocument) =>
  served!.map(({ executions, ...rest }) => ({
    ...rest,
    executions: executions.map((one) => ({ ...one, medianUs: 1000, p95Us: 1000 })),
  }));

const figure = ({ figures }: Verification, name: string) => figures.find((one) => one.name === name)!;

describe('verifyLoad()', () => {
  inWholeRun('simulates the requests that were sent, with the plan that was served', async () => {
    const verification = await verifyLoad(at('load.json'), { plan: bundle, output: at('verification.json') });
    expect(verification.requests).toBe(load.sent);
    expect(figure(verification, 'attainment')).toMatchObject({ simulated: 1, live: load.attainment });
    // Two partitions of 20 ms each are simulated, which the server runs in far less.
    expect(figure(verification, 'p50LatencyMs').simulated).toBeGreaterThanOrEqual(40);
    expect(figure(verification, 'p50LatencyMs').live).toBe(load.latencyMs!.p50);
    const { difference, live, simulated } = figure(verification, 'meanLatencyMs');
    expect(difference).toBeCloseTo(live! - simulated!, 9);
    expect(JSON.parse(await readFile(at('verification.json'), 'utf8'))).toMatchObject({
      kind: 'verification',
      inputs: [
        { role: 'load-report', path: 'load.json' },
        { role: 'plan', sha256: load.planSha256 },
      ],
    });
  });

  inWholeRun(
    'says what the plan was not checked against, and refuses such a plan where that is asked for',
    async () => {
      const { checked, unchecked } = await verifyLoad(at('load.json'), { plan: bundle });
      expect({ checked, unchecked }).toEqual({ checked: [], unchecked: ['spec', 'profiles'] });
      await expect(verifyLoad(at('load.json'), { plan: bundle, strict: true })).rejects.toThrow(
        '`strict`, as it is not checked against its spec, profiles',
      );
    },
  );

  it('gives the rates of an interrupted load over the time until it was interrupted', async () => {
    const path = await changed('cut.json', (report) => ({
      ...counted(report, { inTime: report.inTime - 1, cancelled: 1 }),
      complete: false,
      durationS: 30,
    }));
    const verification = await verifyLoad(path, { plan: bundle });
    // The simulated rates may be over 40 ms more, in which the last request is answered.
    const { simulated } = figure(verification, 'throughputRps');
    expect(simulated! * load.elapsedS).toBeGreaterThan(0.9 * load.sent);
    expect(simulated! * load.elapsedS).toBeLessThanOrEqual(1.01 * load.sent);
  });

  it('notes that a load was interrupted, which reports before version 1.5 show by their time alone', async () => {
    const notes = async (change: object) =>
      (await verifyLoad(await changed('cut.json', () => change), { plan: bundle })).notes.join();
    expect(load.complete).toBe(true);
    expect(await notes({})).not.toContain('interrupted');
    expect(await notes({ complete: false })).toContain(
      `the load was interrupted after ${load.elapsedS.toFixed(1)} s; it was to send for 1.5 s`,
    );
    expect(await notes({ complete: undefined })).not.toContain('interrupted');
    expect(await notes({ complete: undefined, durationS: 30 })).toContain('it was to send for 30 s');
  });

  it('compares the batches that the server executed with those that were simulated', async () => {
    const { executions, figures } = await verifyLoad(at('load.json'), { plan: bundle });
    const live = load.served![0]!.executions;
    expect(figures.find(({ name }) => name === 'batches')!.live).toBe(
      live.reduce((sum, { executed }) => sum + executed, 0),
    );
    for (const partition of [0, 1]) {
      const own = executions.filter((one) => one.partition === partition);
      const rows = (of: 'liveBatches' | 'simulatedBatches') =>
        own.reduce((sum, one) => sum + one.batch * one[of], 0);
      expect(rows('liveBatches')).toBe(load.answered);
      expect(rows('simulatedBatches')).toBe(load.sent);
    }
    const alone = executions.find(
      ({ partition, measuredUs }) => partition === 0 && measuredUs !== undefined,
    )!;
    expect(alone.plannedUs).toBe(PLANNED_US);
    expect(alone.factor).toBeCloseTo(alone.measuredUs! / PLANNED_US, 9);
  });

  it('divides the differences into parts that add up to them', async () => {
    const path = await changed('fast.json', (report) => ({ served: fast(report) }));
    const verification = await verifyLoad(path, { plan: bundle });
    for (const name of ['attainment', 'meanLatencyMs', 'p95LatencyMs'] as const) {
      const { executions, front, queueing } = verification.causes![name]!;
      expect(executions + front + queueing).toBeCloseTo(figure(verification, name).difference!, 6);
    }
    // The server is faster than planned by its executions.
    expect(verification.causes!.meanLatencyMs.executions).toBeLessThan(-10);
    const { requestMs } = load.served![0]!;
    expect(verification.causes!.frontMs).toBeCloseTo(load.latencyMs!.mean - requestMs!, 6);
  });

  it('counts as late by the front what it leaves no time for', async () => {
    // The front takes all of the SLO but a fifth of a millisecond.
    const slow = await changed('slow.json', (report) => {
      const ms = report.served![0]!.requestMs! + SLO_MS - 0.2;
      const latencyMs = { count: report.answered, mean: ms, p50: ms, p90: ms, p95: ms, p99: ms, max: ms };
      const elapsedS = ms / 1e3 + 1;
      const times = { elapsedS, ...outcomeRates(report, elapsedS), sloMs: undefined };
      // Before version 1.6, reports without an SLO had a share in time.
      return { version: '1.5', served: fast(report), ...UNTIMED, latencyMs, ...times };
    });
    const { causes } = await verifyLoad(slow, { plan: bundle });
    expect(causes!.frontMs).toBeCloseTo(SLO_MS - 0.2, 6);
    expect(causes!.attainment).toMatchObject({ executions: 0, front: -1 });
  });

  it('says whether the attainments are as near as was asked', async () => {
    // A tenth of the requests is late.
    const late = Math.round(load.sent / 10);
    const worse = await changed('worse.json', (report) =>
      counted(report, { inTime: load.sent - late, late }),
    );
    const within = async (share: number) => (await verifyLoad(worse, { plan: bundle, within: share })).within;
    expect(await within(0.05)).toEqual({ allowed: 0.05, held: false });
    expect(await within(0.11)).toEqual({ allowed: 0.11, held: true });
  });

  it('compares figures alone where the server did not report what it measured', async () => {
    const mute = await changed('mute.json', () => ({ served: undefined }));
    const { causes, figures, notes } = await verifyLoad(mute, { plan: bundle });
    expect(causes).toBeUndefined();
    expect(figures.find(({ name }) => name === 'batches')!.live).toBeUndefined();
    expect(notes.join()).toContain('nothing is said of the causes');
  });

  it('simulates by the scheduler that the server ran, and says where it is not that of the plan', async () => {
    expect(load.serving).toMatchObject({ scheduler: 'stage-local', policy: { slackNs: 3e6 } });
    const asPlanned = await verifyLoad(at('load.json'), { plan: bundle });
    expect(asPlanned.notes.join()).not.toContain('scheduler');
    // All requests come at once, and more of them wait than can be in time by a shorter SLO.
    const plan = JSON.parse(await readFile(join(bundle, 'plan.json'), 'utf8')) as PooledPlan;
    const text = JSON.stringify({ ...plan, models: plan.models.map((model) => ({ ...model, sloMs: 400 })) });
    await writeFile(at('tight.json'), text);
    const gapsNs = [1e9, ...new Array<number>(load.sent - 1).fill(0)].join(' ');
    const burst = {
      ...UNTIMED,
      sends: [{ model: 'tiny', gapsNs }],
      sloMs: 400,
      planSha256: sha256Of(Buffer.from(text)),
    };
    const verified = async (serving?: object) =>
      verifyLoad(await changed('burst.json', () => ({ ...burst, ...(serving && { serving }) })), {
        plan: at('tight.json'),
      });
    const dropping = await verified();
    const fifo = await verified({ scheduler: 'fifo', policy: { slackNs: 0 } });
    const again = await verified(load.serving);
    expect(again.figures).toEqual(dropping.figures);
    expect(figure(fifo, 'dropRate').simulated).not.toBe(figure(dropping, 'dropRate').simulated);
    expect(fifo.notes).toContainEqual(
      'the server ran the scheduler fifo and the plan names stage-local, and it is simulated as it was served',
    );
    const patient = { scheduler: 'stage-local', policy: { drop: 'never' } };
    const other = await verifyLoad(await changed('other.json', () => ({ serving: patient })), {
      plan: bundle,
    });
    expect(other.notes.join()).toContain('stage-local with another drop than the plan says');
  });

  it('replaces no file that the plan was made from, and names the kind of a plan that it does not take', async () => {
    const plan = JSON.parse(await readFile(join(bundle, 'plan.json'), 'utf8')) as PooledPlan;
    const spec = { role: 'spec', path: 'spec.yaml', sha256: '0'.repeat(64) };
    const text = JSON.stringify({ ...plan, inputs: [spec] });
    await writeFile(at('own.json'), text);
    await writeFile(at('spec.yaml'), 'kind: pooled');
    const path = await changed('own-load.json', () => ({ planSha256: sha256Of(Buffer.from(text)) }));
    const replaced = verifyLoad(path, { plan: at('own.json'), output: at('spec.yaml') });
    await expect(replaced).rejects.toThrow('the spec of the plan');
    expect(await readFile(at('spec.yaml'), 'utf8')).toBe('kind: pooled');
    const simulated = simulatePlan(at('own.json'), { output: at('spec.yaml'), duration: 0.1 });
    await expect(simulated).rejects.toThrow('the spec of the plan');
    await writeFile(
      at('gears.json'),
      JSON.stringify(
        gearPlan({ latencyUs: [[1000]], held: [[0]], gears: [{ toRps: 10, steps: [{ model: 0 }] }] }),
      ),
    );
    await expect(verifyLoad(path, { plan: at('gears.json') })).rejects.toThrow(
      'its server served another plan',
    );
  });

  it('simulates what an engine takes of itself, and counts that once', async () => {
    const path = await changed('ray.json', (report) => ({
      serving: { scheduler: 'ray-serve', policy: {} },
      served: report.served!.map((one) => ({ ...one, requestMs: report.latencyMs!.mean / 2 })),
    }));
    const frontMs = load.latencyMs!.mean / 2;
    const ingress = { replicas: 40, requestUs: 1e3 * (frontMs / 4) };
    const engine = { kind: 'engine-profile', version: '1.0', target: 'ray-serve', ingress, hopUs: 5000 };
    await writeFile(at('engine.json'), JSON.stringify(engine));
    const without = await verifyLoad(path, { plan: bundle });
    const output = at('engine-verification.json');
    const withEngine = await verifyLoad(path, { plan: bundle, engine: at('engine.json'), output });
    const latencyOf = (one: Verification) => figure(one, 'p50LatencyMs').simulated!;
    // From the ingress to the first stage, to the second and back are four hops.
    expect(latencyOf(withEngine) - latencyOf(without)).toBeGreaterThanOrEqual(20);
    expect(without.causes!.frontMs).toBeCloseTo(frontMs, 6);
    expect(withEngine.causes!.frontMs).toBeCloseTo(0.75 * frontMs, 6);
    expect(withEngine.inputs?.map(({ role, path: named }) => [role, named])).toContainEqual([
      'engine-profile',
      'engine.json',
    ]);
    await expect(
      verifyLoad(path, { plan: bundle, engine: at('engine.json'), output: at('engine.json') }),
    ).rejects.toThrow('the engine profile');
    await expect(verifyLoad(at('load.json'), { plan: bundle, engine: at('engine.json') })).rejects.toThrow(
      'ray-serve',
    );
  });

  it('refuses a scheduler or a choice that is not known here', async () => {
    const unknown = await changed('unknown.json', () => ({ serving: { scheduler: 'best' } }));
    await expect(verifyLoad(unknown, { plan: bundle })).rejects.toThrow(
      /unknown.json#\/serving\/scheduler.*"best"/,
    );
    const choice = { serving: { scheduler: 'fifo', policy: { drop: 'x' } } };
    const wrong = await changed('choice.json', () => choice);
    await expect(verifyLoad(wrong, { plan: bundle })).rejects.toThrow(/serving\/policy\/drop.*there is no x/);
  });

  it('has the notes of the plan once, such as those on emulated figures, as the load report has them', async () => {
    expect(load.notes).toEqual([NOTE]);
    const { notes } = await verifyLoad(at('load.json'), { plan: bundle });
    expect(notes.filter((note) => note === NOTE)).toHaveLength(1);
    // They are those of the plan itself, also where the report has none.
    const silent = await changed('silent.json', () => ({ notes: undefined }));
    expect((await verifyLoad(silent, { plan: bundle })).notes).toEqual(notes);
  });

  it('notes that others used the server', async () => {
    const shared = await changed('shared.json', ({ served, answered }) => ({
      served: served!.map((one) => ({ ...one, answered: answered + 5 })),
    }));
    expect((await verifyLoad(shared, { plan: bundle })).notes.join()).toContain('others used the server');
  });

  it('refuses a report of another plan, without arrivals, of several rows or with another SLO, all at once', async () => {
    const other = await changed('other.json', () => ({
      planSha256: 'f'.repeat(64),
      sends: undefined,
      rows: 2,
      sloMs: 55,
    }));
    const told = await verifyLoad(other, { plan: bundle }).catch((error: Error) => error.message);
    expect(told).toContain(`Cannot verify ${other}`);
    expect(told).toContain('its server served another plan: the digest of that is ffffffffffff…');
    expect(told).toContain('does not say when requests were sent; drive the load again');
    expect(told).toContain('its requests had 2 rows');
    expect(told).toContain('judged tiny by an SLO of 55 ms');
  });

  it('refuses a report whose figures do not follow from its counts, beside its other faults', async () => {
    const edited = await changed('edited.json', ({ sent }) => ({
      planSha256: 'f'.repeat(64),
      attainment: 0.2,
      sent: sent + 1,
    }));
    const told = await verifyLoad(edited, { plan: bundle }).catch((error: Error) => error.message);
    expect(told).toContain('its server served another plan');
    expect(told).toContain(`edited.json#/attainment: is 0.2, and by the counts it is ${load.attainment}`);
    expect(told).toContain(`edited.json#/sent: is ${load.sent + 1}`);
  });

  it('refuses a report of a server that does not report its plan, and one that sent nothing', async () => {
    const unknown = await changed('unknown.json', () => ({ planSha256: undefined, sent: 0, sends: [] }));
    await expect(verifyLoad(unknown, { plan: bundle })).rejects.toThrow(
      /did not tell which plan it serves[\s\S]*no request was sent/,
    );
  });

  it('refuses times that are no times, and models that the plan lacks', async () => {
    const broken = await changed('broken.json', () => ({
      sends: [
        { model: 'tiny', gapsNs: '1 x' },
        { model: 'huge', gapsNs: '1' },
      ],
    }));
    await expect(verifyLoad(broken, { plan: bundle })).rejects.toThrow(
      /gapsNs[\s\S]*does not list whole nanoseconds[\s\S]*"huge", which the plan lacks/,
    );
  });

  it('refuses to replace the load report, and to correct a profile that is not there', async () => {
    await expect(verifyLoad(at('load.json'), { plan: bundle, output: at('load.json') })).rejects.toThrow(
      'an input that would be replaced',
    );
    await expect(
      verifyLoad(at('load.json'), { plan: bundle, correct: [at('corrected.json')] }),
    ).rejects.toThrow('the profile of tiny that the plan was made from is not there');
  });
});

describe('loadServer()', () => {
  it('reports when every request was to be sent, and which plan was served', () => {
    const [sends, ...others] = load.sends!;
    expect(others).toEqual([]);
    const times = gapTimes(sends!.gapsNs)!;
    expect(times).toHaveLength(load.sent);
    expect(times.every((time, i) => i === 0 || time >= times[i - 1]!)).toBe(true);
    expect(times.at(-1)).toBeLessThan(1.5e9);
    expect(load.planSha256).toMatch(/^[0-9a-f]{64}$/);
    expect(load.served![0]).toMatchObject({ model: 'tiny', answered: load.answered });
  });
});
