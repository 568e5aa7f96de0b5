import { expect, it } from 'vitest';
import type { CountedExecutions } from '../../src/loadgen/counted-executions.js';
import { servedBetween } from '../../src/loadgen/served-between.js';

const place = { pipeline: 0, partition: 1, device_class: 'L4', virtual: 2, batch_size: 4 };
const before: CountedExecutions = {
  sequence: 10,
  requests: { answered: 100, request_us: 1e6, queue_us: 2e5 },
  executions: [
    { ...place, executed: 7, measured: 7, p50_us: 5, p95_us: 6 },
    { ...place, partition: 0, executed: 3, measured: 3, p50_us: 5, p95_us: 6 },
  ],
};
const after: CountedExecutions = {
  sequence: 40,
  requests: { answered: 120, request_us: 1.5e6, queue_us: 3e5 },
  executions: [
    { ...place, executed: 37, measured: 30, p50_us: 800, p95_us: 900 },
    { ...place, partition: 0, executed: 3, measured: 0 },
  ],
};

it('servedBetween() gives what was done between two answers of a server', () => {
  expect(servedBetween('m', before, after)).toEqual({
    model: 'm',
    answered: 20,
    // 0.5 s and 0.1 s are shared by 20 requests.
    requestMs: 25,
    queueMs: 5,
    executions: [
      {
        pipeline: 0,
        partition: 1,
        class: 'L4',
        virtual: 2,
        batch: 4,
        executed: 30,
        measured: 30,
        medianUs: 800,
        p95Us: 900,
      },
    ],
  });
});

it('servedBetween() has no mean times where nothing was answered', () => {
  const { requestMs, queueMs } = servedBetween('m', before, { ...after, requests: before.requests })!;
  expect([requestMs, queueMs]).toEqual([undefined, undefined]);
});

it('servedBetween() gives nothing where the server does not report, or began anew', () => {
  expect(servedBetween('m', undefined, after)).toBeUndefined();
  expect(servedBetween('m', before, undefined)).toBeUndefined();
  expect(servedBetween('m', after, before)).toBeUndefined();
});

it('servedBetween() distinguishes the batches of one stage on several classes, and on other parts of a GPU', () => {
  const on = (device_class: string, virtual: number, executed: number) => ({
    ...place,
    device_class,
    virtual,
    executed,
    measured: 1,
  });
  const counted = (executed: readonly [number, number, number]) => [
    on('L4', 1, executed[0]),
    on('L4', 2, executed[1]),
    on('T4', 1, executed[2]),
  ];
  const { executions } = servedBetween(
    'm',
    { ...before, executions: counted([5, 20, 300]) },
    { ...after, executions: counted([6, 22, 304]) },
  )!;
  expect(executions.map(({ class: of, virtual, executed }) => [of, virtual, executed])).toEqual([
    ['L4', 1, 1],
    ['L4', 2, 2],
    ['T4', 1, 4],
  ]);
});
