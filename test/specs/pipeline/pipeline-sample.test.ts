import { describe, expect, it } from 'vitest';
import type { PipelineLoad, PipelineSpec } from '../../../src/formats/index.js';
import type { PipelinePlanBody } from '../../../src/plans/index.js';
import { envelopeOf } from '../../../src/serving/index.js';
import { pipelineSamples, withEnvelope } from '../../../src/specs/pipeline/pipeline-sample.js';
import { describeInWholeRun } from '../../cases.js';

const LOAD: PipelineLoad = { arrivals: 'gamma', rps: 200, cv: 4, duration: '5s' };
const spec = (draws: number): PipelineSpec => ({
  kind: 'pipeline',
  cluster: 'cluster.yaml',
  stages: [
    { name: 'a', profile: 'a.profile.json', next: [{ to: 'b', probability: 0.5 }] },
    { name: 'b', profile: 'b.profile.json' },
  ],
  sloMs: 100,
  load: LOAD,
  planner: { method: 'inferline', draws },
});

describe('pipelineSamples()', () => {
  it('draws arrivals and verdicts anew each time, and the same as with fewer draws', async () => {
    const three = await pipelineSamples(spec(3), LOAD, undefined);
    expect(await pipelineSamples(spec(1), LOAD, undefined)).toEqual(three.slice(0, 1));
    const [first, second, third] = three.map(({ atNs, verdicts }) => ({
      atNs,
      taken: verdicts[0]!.slice(0, 500),
    }));
    for (const other of [second, third]) {
      expect(other!.atNs.slice(0, 9)).not.toEqual(first!.atNs.slice(0, 9));
      expect(other!.taken).not.toEqual(first!.taken);
    }
    expect(second!.taken).not.toEqual(third!.taken);
  });

  it('has the arrivals of a trace in every draw, with verdicts of its own', async () => {
    const timesNs = Float64Array.from({ length: 200 }, (_, k) => k * 1e7);
    const trace = { kind: 'arrivals' as const, format: 'csv', timesNs };
    const [first, second] = await pipelineSamples(spec(2), { trace: 'load.csv' }, trace);
    expect([first?.atNs, second?.atNs]).toEqual([timesNs, timesNs]);
    expect(second?.verdicts[0]).not.toEqual(first?.verdicts[0]);
  });
});

describeInWholeRun('a published day', () => {
  it('of 5.5 million requests is a sample', async () => {
    const seconds = 86_400;
    const trace = {
      kind: 'counts' as const,
      format: 'counts',
      intervalS: new Float64Array(seconds).fill(1),
      counts: new Float64Array(seconds).fill(64),
    };
    const { stages, ...rest } = spec(1);
    const one = { ...rest, stages: stages.slice(1) };
    const [sample] = await pipelineSamples(one, { trace: 'day.csv' }, trace);
    expect(sample?.atNs.length).toBeGreaterThan(5.5e6);
    expect(sample?.atNs.at(-1)).toBeGreaterThan(86_399e9);
  });
});

describe('withEnvelope()', () => {
  it('has the most requests of any draw in every window', async () => {
    const latencyUs = 40_000;
    const body = { longestPath: { stages: ['a', 'b'], latencyUs } } as PipelinePlanBody;
    const { envelope } = await withEnvelope(body, { spec: spec(4) });
    const draws = await pipelineSamples(spec(4), LOAD, undefined);
    const own = draws.map(({ atNs }) => envelopeOf(atNs, 1e3 * latencyUs));
    expect(envelope?.map(({ windowUs }) => windowUs)).toEqual(own[0]?.map(({ windowUs }) => windowUs));
    const most = own[0]!.map((_, k) => Math.max(...own.map((one) => one[k]!.requests)));
    expect(envelope?.map(({ requests }) => requests)).toEqual(most);
    // No draw has the most in every window, so that each of them counts.
    expect(own.map((one) => one.map(({ requests }) => requests))).not.toContainEqual(most);
  });
});
