import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { simulatePlan, sweepPlan, validateFiles } from '../../../src/api/index.js';
import type { NoPlan, PooledPlan, PooledSpec, Profile } from '../../../src/formats/index.js';
import { compareSpec, solveSpec } from '../../../src/specs/index.js';
import { inWholeRun, WHOLE } from '../../cases.js';
import { plan as command } from '../../cli/plan.js';
import { writeRandomSpec, writeSpec } from '../specs.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-hold-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function solved(path: string, output: string): Promise<PooledPlan> {
  const answer = await solveSpec(path, { hold: 0.95, output });
  if (answer.outcome !== 'plan') throw new Error(answer.outcome);
  return answer.plan;
}

describe('solveSpec() with a share to hold', { timeout: 120_000 }, () => {
  inWholeRun(
    'has no plan for rates that no plan serves, also where the share alone could be served',
    async () => {
      const profile: Profile = {
        kind: 'profile',
        version: '1.0',
        model: { name: 'm' },
        blocks: [{ cutBytes: 0, nodes: ['a'] }],
        devices: { gpu: { blockLatencyUs: { 1: { 1: [10_000] } } } },
      };
      const outcome = async (rps: number, options: { hold?: number }) => {
        const spec: PooledSpec = {
          kind: 'pooled',
          cluster: { devices: { gpu: { count: 1, hourlyCost: 1 } } },
          models: [{ profile: 'one.json', sloMs: 100, rps }],
          planner: { objective: 'cost' },
        };
        return (await solveSpec(await writeSpec(folder, 'over.json', spec, [profile]), options)).outcome;
      };
      if (WHOLE) expect(await outcome(60, { hold: 0.9 })).toBe('plan');
      expect(await outcome(105, {})).toBe('infeasible');
      expect(await outcome(105, { hold: 0.9 })).toBe('infeasible');
    },
  );

  inWholeRun(
    'writes a plan of a lowered price that validates, whose runs give the shares that it says',
    async () => {
      const shape = { models: 2, mostGpus: 12 };
      const { path } = await writeRandomSpec(folder, 8, shape, { objective: 'cost' });
      // Under another scheduler, the search for this spec confirms a plan with other seeds.
      const spec = { ...JSON.parse(await readFile(path, 'utf8')), serving: { scheduler: 'stage-local' } };
      await writeFile(path, JSON.stringify(spec));
      const output = join(folder, 'lowered.json');
      const answer = await solveSpec(path, { hold: 0.9, output });
      if (answer.outcome !== 'plan') throw new Error(answer.outcome);
      const { runs, models } = answer.plan.hold as NonNullable<PooledPlan['hold']>;
      const { seeds } = runs;
      expect(seeds[0], 'the first plan that was confirmed is kept').toBeGreaterThan(1000);
      expect(await validateFiles([output])).toMatchObject([{ ok: true }]);
      const again = await simulatePlan(output, { seed: seeds[0], runs: seeds.length });
      const shares = again.report.runs?.models.map(({ attainment }) => attainment);
      expect(shares).toEqual(models.map(({ simulated }) => simulated));
    },
  );

  inWholeRun(
    'writes a plan that holds its rates under other seeds, that validates, and that comes again',
    async () => {
      const { path, problem } = await writeRandomSpec(folder, 4);
      const output = join(folder, 'held.json');
      const plan = await solved(path, output);
      const [model] = plan.models;
      const { heldRps = 0, throughputRps = 0, name } = model ?? {};
      expect(heldRps).toBeGreaterThan(0);
      expect(heldRps).toBeLessThan(throughputRps * 1.1);
      expect(plan.hold).toMatchObject({
        value: heldRps / (model?.weight ?? 1),
        models: [{ name, attainment: 0.95 }],
      });
      expect(plan.hold?.bound).toBeGreaterThanOrEqual(plan.hold?.value as number);
      expect(plan.hold?.models[0]?.simulated?.low).toBeGreaterThanOrEqual(0.95);

      const duration = plan.hold?.runs.durationS as number;
      // Without a load the plan is simulated at the rate that it promises.
      const { report } = await simulatePlan(output, { duration, runs: 4, seed: 5000 });
      expect(report.workload.models).toMatchObject([{ name, rps: heldRps }]);
      expect(report.runs?.overall.attainment?.high).toBeGreaterThanOrEqual(0.95);
      // The runs that confirmed the promise are simulated again by their seeds alone.
      const { seeds = [] } = plan.hold?.runs ?? {};
      const again = await simulatePlan(output, { seed: seeds[0], runs: seeds.length });
      expect(again.report.runs?.models[0]?.attainment).toEqual(plan.hold?.models[0]?.simulated);
      const sweep = await sweepPlan(output, { sweep: 'load=0.1..0.2:2', arrivals: 'uniform' });
      expect(sweep.workload).toMatchObject({ arrivals: 'uniform', durationS: 30 });
      const twice = await simulatePlan(output, { rps: [`${name}=${2 * throughputRps}`], duration });
      expect(twice.report.overall.attainment).toBeLessThan(0.95);

      const [validated] = await validateFiles([output]);
      expect(validated).toMatchObject({ ok: true });
      if (!WHOLE) return;
      const bytes = await readFile(output, 'utf8');
      await solved(path, output);
      expect(await readFile(output, 'utf8')).toBe(bytes);

      const counts = Object.entries(problem.cluster.devices).map(
        ([device, { count }]) => `${device}=${count}`,
      );
      const mix = counts.join(',');
      const { document } = await compareSpec(path, { hold: 0.95, mixes: [mix] });
      expect(document.rows).toMatchObject([{ heldRps, hold: { value: plan.hold?.value } }]);
    },
  );

  it('refuses what cannot be searched, and shares that are none', async () => {
    const { path } = await writeRandomSpec(folder, 4);
    const both = await command(['solve', path, '--hold', '0.9', '--explain', '--baseline', 'dart-r']);
    expect(both.code).toBe(2);
    expect(both.stderr).toContain('--explain');
    const never = await command(['solve', path, '--hold', '1']);
    expect([never.code, never.stderr]).toEqual([2, expect.stringContaining('not a share between 0 and 1')]);
    const near = await command(['solve', path, '--hold', '0.9999999']);
    expect([near.code, near.stderr]).toEqual([
      2,
      expect.stringMatching(/are sure of 0\.9999\d+; ask for no more/),
    ]);
    const compared = compareSpec(path, { hold: 0.9999999, mixes: ['C0=1'] });
    await expect(compared).rejects.toThrow('too near 1');
    const margins = await command(['compare', path, '--hold', '0.9', '--sweep', 'margin=0..0.2:2']);
    expect([margins.code, margins.stderr]).toEqual([2, expect.stringContaining('sweeps margins')]);
  });

  inWholeRun(
    'names the rates that are held, and no limit, where no plan holds those that were asked for',
    async () => {
      const { problem } = await writeRandomSpec(folder, 4, {}, { objective: 'cost', sloMargin: 0 });
      const profiles = problem.models.map(({ profile }) => profile);
      const written = (rps: number | undefined, planner: PooledSpec['planner']) =>
        writeSpec(
          folder,
          'high.json',
          {
            kind: 'pooled',
            cluster: problem.cluster,
            models: problem.models.map(({ spec: { rps: _, ...model } }) => ({
              ...model,
              profile: 'high-profile.json',
              ...(rps === undefined ? {} : { rps }),
            })),
            ...(planner === undefined ? {} : { planner }),
          },
          profiles,
        );
      const most = await solveSpec(await written(undefined, { sloMargin: 0 }));
      if (most.outcome !== 'plan') throw new Error(most.outcome);
      const rps = most.plan.models[0]?.throughputRps as number;
      const answer = await solveSpec(await written(rps, { objective: 'cost', sloMargin: 0 }), { hold: 0.99 });
      if (answer.outcome !== 'no-plan-in-time') throw new Error(answer.outcome);
      const { document } = answer;
      expect(document).not.toHaveProperty('limit');
      const [reason] = document.reasons;
      const { heldRps = 0, heldShare } = reason ?? {};
      expect(document.reasons).toMatchObject([{ code: 'not-held', rps, attainment: 0.99 }]);
      expect(heldRps).toBeGreaterThan(0.3 * rps);
      expect(heldRps).toBeLessThan(rps);
      expect(heldShare).toBeCloseTo(heldRps / rps, 12);
      expect((document as NoPlan).notHeld?.heldShare).toBeCloseTo(heldRps / rps, 12);
    },
  );

  it('says that the limit was reached where no plan could be confirmed in time', async () => {
    const { path, problem } = await writeRandomSpec(folder, 4);
    const mix = Object.entries(problem.cluster.devices).map(([device, { count }]) => `${device}=${count}`);
    const answer = await solveSpec(path, { hold: 0.95, timeLimit: 1e-6 });
    expect(answer).toMatchObject({ outcome: 'no-plan-in-time', document: { limit: 'time' } });
    const { document } = await compareSpec(path, { hold: 0.95, timeLimit: 1e-6, mixes: [mix.join(',')] });
    expect(document.rows).toMatchObject([{ status: 'no-plan-in-time', reasons: [expect.any(String)] }]);
    const { code, stderr } = await command(['solve', path, '--hold', '0.95', '--time-limit', '0.000001']);
    const said = 'was over before a plan was confirmed; give more, or solve without --hold';
    expect([code, stderr]).toEqual([5, expect.stringContaining(said)]);
  });

  inWholeRun('says at a terminal what the plan holds, and takes the share from the spec', async () => {
    const { path } = await writeRandomSpec(
      folder,
      4,
      {},
      { hold: { attainment: 0.9, arrivals: 'gamma', cv: 2 } },
    );
    const { code, stdout } = await command(['solve', path]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^m0 holds [\d.]+ requests\/s with 90.00 % in time \(9\d.\d\d % at least\); planned with/m,
    );
    expect(stdout).toMatch(
      /^[\d.]+ requests\/s per unit of weight held with 90.00 % in time on .*; [\d.]+ requests\/s per unit of weight \(bound [\d.]+, gap [\d.]+ %\) planned$/m,
    );
    expect(stdout).toMatch(/^\d+ plans simulated; confirmed by 8 runs .* gamma arrivals/m);
  });
});
