import { expect, it } from 'vitest';
import { causesOf, frontMsOf } from '../../../src/api/verify/causes.js';
import { modelFigures } from '../../../src/api/verify/figures.js';
import type { LoadDocument, LoadServed, SimulatedRequests } from '../../../src/formats/index.js';

const latency = (mean: number) => ({
  count: 10,
  mean,
  p50: mean,
  p90: mean,
  p95: 2 * mean,
  p99: mean,
  max: mean,
});
const requests = (attainment: number, mean: number) =>
  ({ attainment, latencyMs: latency(mean) }) as SimulatedRequests;
const load = { attainment: 0.9, latencyMs: latency(50) } as LoadDocument;
const served = (answered: number, requestMs?: number): LoadServed => ({
  model: 'm',
  answered,
  executions: [],
  ...(requestMs === undefined ? {} : { requestMs }),
});

it('causesOf() gives each cause what it changes, and the rest to queueing', () => {
  const { attainment, meanLatencyMs, p95LatencyMs } = causesOf(load, 6, {
    asPlanned: requests(1, 30),
    withExecutions: requests(0.97, 41),
    withFront: requests(0.95, 40),
  });
  expect(attainment?.executions).toBeCloseTo(-0.03, 9);
  expect(attainment?.front).toBeCloseTo(-0.02, 9);
  expect(attainment?.queueing).toBeCloseTo(-0.05, 9);
  expect(meanLatencyMs).toEqual({ executions: 11, front: 6, queueing: 3 });
  expect(p95LatencyMs).toEqual({ executions: 22, front: 6, queueing: 12 });
});

it('frontMsOf() is the latency of the client less that of the server, over the requests of all models', () => {
  expect(frontMsOf(load, [served(30, 40), served(10, 60), served(0)])).toBe(5);
  expect(frontMsOf(load, [served(30, 55)])).toBe(0);
  expect(frontMsOf(load, [served(0)])).toBeUndefined();
  const engine = (requestUs: number) => ({
    target: 'ray-serve',
    hopUs: 700,
    ingress: { replicas: 2, requestUs },
  });
  expect(frontMsOf(load, [served(10, 40)], engine(4000))).toBe(6);
  expect(frontMsOf(load, [served(10, 40)], engine(14_000))).toBe(0);
});

it('modelFigures() gives rates over the time of the whole load', () => {
  const simulated = { ...requests(1, 30), throughputRps: 4, goodputRps: 4 };
  const live = {
    name: 'm',
    sent: 10,
    answered: 8,
    inTime: 6,
    late: 2,
    dropped: 2,
    failed: 0,
    cancelled: 0,
    attainment: 0.6,
    dropRate: 0.4,
    latencyMs: latency(50),
  };
  const figures = modelFigures(simulated, live, 2);
  const of = (name: string) => figures.find((one) => one.name === name);
  expect(of('throughputRps')).toEqual({ name: 'throughputRps', simulated: 4, live: 4, difference: 0 });
  expect(of('goodputRps')).toEqual({ name: 'goodputRps', simulated: 4, live: 3, difference: -1 });
  expect(of('attainment')!.live).toBe(0.6);
  expect(of('dropRate')).toEqual({ name: 'dropRate', live: 0.4 });
});

it('causesOf() says nothing of the share in time of a load without an SLO', () => {
  const { attainment: _, ...unjudged } = load;
  const steps = { asPlanned: requests(1, 30), withExecutions: requests(1, 41), withFront: requests(1, 40) };
  const causes = causesOf(unjudged as typeof load, 6, steps);
  expect(causes).not.toHaveProperty('attainment');
  expect(causes.meanLatencyMs).toEqual({ executions: 11, front: 6, queueing: 3 });
});
