import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { madeRates, TRACE_VARIATIONS, type TraceName } from '../../../bench/pard/made-traces.js';
import {
  APPLICATIONS,
  applicationPlan,
  countTrace,
  type EyePlace,
  pardWorkload,
  servedWorkload,
  sizedSpec,
} from '../../../bench/pard/workloads.js';
import { loadArtifact } from '../../../src/artifacts/index.js';
import { atOnce } from '../../../src/collections/index.js';
import { streamOf } from '../../../src/random/index.js';
import { arrivalsOf } from '../../../src/simulation/index.js';
import { runSimulation } from '../../../src/simulation/run.js';
import { requestsInTrace, reshapedTrace, type Trace, traceText } from '../../../src/workload/index.js';
import { describeInWholeRun, fewOf, inWholeRun, whole } from '../../cases.js';

const EXAMPLES = join(import.meta.dirname, '../../../examples/pipelines');

describe('the applications of examples/pipelines', () => {
  it.each(APPLICATIONS)(
    'have the batches, workers and standby devices that the rules give: %s',
    async (name) => {
      const { value } = await loadArtifact(join(EXAMPLES, `${name}.yaml`), ['pipeline']);
      expect(await sizedSpec(name)).toEqual(value);
    },
  );

  it.each(fewOf(APPLICATIONS, 1))('are served by PARD, and scaled by the request rate: %s', async (name) => {
    const { serving } = await applicationPlan(name);
    expect(serving).toEqual({ scheduler: 'pard', tuner: { kind: 'by-rate' } });
  });

  inWholeRun('have the stages and SLOs of the paper', async () => {
    const told = [];
    for (const name of APPLICATIONS) {
      const { stages, sloMs } = await applicationPlan(name);
      const edges = stages.flatMap(({ name: from, next }) => next.map(({ to }) => `${from}>${to}`));
      told.push(`${name} ${sloMs}: ${edges.join(' ')}`);
    }
    expect(told).toEqual([
      'tm 400: object>face face>text',
      'lv 500: person>face face>expression expression>eye eye>pose',
      'ga 600: object>kill kill>alive alive>health health>icon',
      'da 420: person>pose person>face pose>expression face>expression expression>eye',
      'da-branch 420: person>pose person>face pose>expression face>expression expression>eye',
    ]);
    const { stages, exclusive } = await applicationPlan('da-branch');
    expect(stages.map(({ scaleFactor }) => scaleFactor)).toEqual([1, 0.5, 0.5, 1, 1]);
    expect(exclusive).toEqual([['pose', 'face']]);
  });

  it.each(whole([1], [0.7, 1, 1.3]))(
    'fill the cluster, keep the SLO twice over and the rate, at %f of the latencies',
    async (factor) => {
      for (const name of APPLICATIONS) {
        const plan = await applicationPlan(name, { latencyFactor: factor });
        const { used, standby = 0 } = plan.classes['2080ti'] as { used: number; standby?: number };
        expect(used + standby).toBe(64);
        if (factor === 1) expect(used).toBe(16);
        expect(2 * plan.longestPath.latencyUs).toBeLessThanOrEqual(1000 * plan.sloMs * (1 + 1e-9));
        expect(plan.rps).toBe((await applicationPlan(name)).rps);
        for (const { maxProvisioningRatio = 2 } of plan.stages)
          expect(maxProvisioningRatio).toBeLessThanOrEqual(0.8 + 1e-9);
        const stated = await loadArtifact(join(EXAMPLES, 'profiles/pose-recognition.json'), ['profile']);
        const pose = plan.stages.find(({ name: stage }) => stage === 'pose');
        const us = stated.value.devices['2080ti']?.blockLatencyUs['1']?.['3']?.[0] as number;
        if (pose !== undefined) expect(pose.latencyUsByBatch[2]).toBeCloseTo(factor * us, 3);
      }
    },
  );

  it.each(Object.keys(TRACE_VARIATIONS) as TraceName[])(
    'have a trace beside them that is made: %s',
    (trace) => {
      const made = countTrace(madeRates(trace, 600, 0), 100);
      const trace600 = atOnce(reshapedTrace(made, { rps: 100 }, streamOf(0, 'nothing is drawn')));
      expect(readFileSync(join(EXAMPLES, 'traces', `${trace}.csv`), 'utf8')).toBe(
        [...traceText(trace600)].join(''),
      );
    },
  );
});

describeInWholeRun('applicationPlan()', () => {
  it('chooses batches and workers again for another SLO or utilisation, at the same rate', async () => {
    const plan = await applicationPlan('lv');
    const tight = await applicationPlan('lv', { sloMs: 300 });
    expect([tight.sloMs, tight.rps]).toEqual([300, plan.rps]);
    expect(2 * tight.longestPath.latencyUs).toBeLessThanOrEqual(300e3);
    const usedOf = ({ classes }: typeof plan) => classes['2080ti']?.used as number;
    expect(usedOf(tight)).toBeGreaterThan(usedOf(plan));
    const full = await applicationPlan('lv', { utilisation: 1 });
    expect(full.stages.map(({ batch }) => batch)).toEqual(plan.stages.map(({ batch }) => batch));
    expect(usedOf(full)).toBeLessThan(usedOf(plan));
    expect(full.serving.tuner).toEqual({ kind: 'by-rate', utilisation: 1 });
    expect(full.serving.scheduler).toBe(plan.serving.scheduler);
  });

  it('has eye tracking of the DAGs elsewhere, or not at all', async () => {
    const edgesOf = async (name: 'da' | 'da-branch' | 'lv', eye: EyePlace) => {
      const { stages } = await applicationPlan(name, { eye });
      return stages.flatMap(({ name: from, next }) => next.map(({ to }) => `${from}>${to}`)).join(' ');
    };
    expect(await edgesOf('da', 'left-out')).toBe('person>pose person>face pose>expression face>expression');
    expect(await edgesOf('da-branch', 'before-expression')).toBe(
      'person>pose person>face pose>expression face>eye eye>expression',
    );
    expect(await edgesOf('lv', 'left-out')).toBe(await edgesOf('lv', 'after-expression'));
  });
});

describe('pardWorkload()', () => {
  it('has arrivals at a multiple of the planned rate', async () => {
    const asked = { application: 'ga', trace: 'wiki', durationS: 60 } as const;
    const countsOf = async (rateFactor: number) => {
      const { workload, plan } = await pardWorkload({ ...asked, rateFactor });
      return [plan.rps, requestsInTrace(workload.sources[0]?.trace as Trace)];
    };
    const [rps, requests] = (await countsOf(1)) as [number, number];
    expect(requests).toBeCloseTo(60 * rps, 6);
    expect(await countsOf(1.5)).toEqual([rps, expect.closeTo(1.5 * requests, 6)]);
  });

  it('has arrivals with the mean rate of its plan, which follow the rates of its seed', async () => {
    const { plan, workload, seed } = await pardWorkload({
      application: 'tm',
      trace: 'tweet',
      durationS: 120,
      seed: 4,
    });
    const arrivals = arrivalsOf(workload, [{ name: plan.name, weight: 1 } as never], seed);
    const counts = new Float64Array(120);
    while (arrivals.next()) counts[Math.floor(arrivals.atNs / 1e9)]! += 1;
    const total = counts.reduce((sum, count) => sum + count, 0);
    const expected = 120 * (plan.rps as number);
    expect(Math.abs(total - expected)).toBeLessThan(5 * Math.sqrt(expected));
    const rates = madeRates('tweet', 120, 4);
    // Poisson counts of each second are within six deviations of what is expected.
    for (const [s, count] of counts.entries()) {
      const mean = (rates[s] as number) * (plan.rps as number);
      expect(Math.abs(count - mean)).toBeLessThan(6 * Math.sqrt(mean) + 6);
    }
  });

  it('solves a plan once', async () => {
    const first = await pardWorkload({ application: 'da', trace: 'wiki', durationS: 60 });
    const second = await pardWorkload({ application: 'da', trace: 'azure', durationS: 60, seed: 2 });
    expect(second.plan).toBe(first.plan);
  });
});

describe('servedWorkload()', () => {
  inWholeRun('scales workers with the rate, and starts them cold', async () => {
    const made = await pardWorkload({ application: 'lv', trace: 'azure', durationS: 60, seed: 1 });
    const { figures } = await runSimulation(servedWorkload(made), {});
    const [first] = figures.pools;
    expect(first?.inUse?.least).toBeLessThan(first?.inUse?.most as number);
    const fixed = await runSimulation(servedWorkload(made, { tuner: 'none' }), {});
    expect(fixed.figures.pools[0]?.inUse?.most).toBe(5);
  });

  it('takes another scheduler and policy, and refuses those that there are not', async () => {
    const made = await pardWorkload({ application: 'tm', trace: 'wiki', durationS: 60 });
    expect(servedWorkload(made).scheduler.tuner?.settings.kind).toBe('by-rate');
    const { scheduler } = servedWorkload(made, { scheduler: 'stage-local', policy: ['drop=never'] });
    expect(scheduler).toMatchObject({ name: 'stage-local', policy: { drop: { kind: 'never' } } });
    expect(() => servedWorkload(made, { scheduler: 'magic' })).toThrow('magic');
  });
});
