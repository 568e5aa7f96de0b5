import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../src/runtime/index.js';
import type { LogEntry } from '../../src/serving/index.js';
import { whole } from '../cases.js';
import { inputOf, serveBundle, twoPartitions, WIDTH } from './tiny-bundle.js';

let server: RunningServer;
let close: () => Promise<void>;
const REQUESTS = whole(300, 600);
const log: LogEntry[] = [];

beforeAll(async () => {
  const correction = { kind: 'average', weight: 0.1 };
  const serving = { scheduler: 'room-first', policy: { correction }, priorities: { 1: 10, 3: 2 } };
  // Each partition takes some 10 ms or more for a batch of two.
  const shape = { ...twoPartitions(2, whole(750, 1500), 10_000, 300), serving };
  ({ server, close } = await serveBundle(shape, { onDecision: (entry) => log.push(entry) }));
});
afterAll(() => close());

async function infer(priority: unknown): Promise<{ status: number; text: string }> {
  const data = [...inputOf(1).data];
  const parameters = priority === undefined ? {} : { parameters: { priority } };
  const body = { inputs: [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data }], ...parameters };
  const response = await fetch(`${server.url}/v2/models/tiny/infer`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

describe('a server whose plan has priorities', () => {
  it('refuses a priority that is no whole number from 0, with its value', async () => {
    for (const priority of [-1, 1.5, '1', true]) {
      const { status, text } = await infer(priority);
      expect([status, text]).toEqual([
        400,
        expect.stringContaining(`priority: is ${JSON.stringify(priority)}`.replaceAll('"', '\\"')),
      ]);
    }
    expect((await infer(0)).status).toBe(200);
  });

  it('drops urgent requests less under overload, and counts by the priorities of the plan', async () => {
    const sent: Promise<{ priority: number; status: number }>[] = [];
    for (let i = 0; i < REQUESTS; i++) {
      const priority = i % 5 === 0 ? 1 : i % 5 === 1 ? 3 : 7;
      sent.push(infer(priority).then(({ status }) => ({ priority, status })));
    }
    const ended = await Promise.all(sent);
    const lost = (asked: number) => {
      const of = ended.filter(({ priority }) => priority === asked);
      return of.filter(({ status }) => status !== 200).length / of.length;
    };
    // So many requests at once are more than are served within the SLO.
    expect(lost(7)).toBeGreaterThan(0.2);
    expect(lost(1)).toBeLessThan(lost(7));
    const counted = (await server.metricsText())
      .split('\n')
      .filter((line) => line.startsWith('inferplan_outcomes_by_priority_total{'));
    const labels = new Set(counted.map((line) => /priority="(\d+)"/.exec(line)?.[1]));
    expect([...labels].sort()).toEqual(['0', '1', '3']);
    const sum = counted.reduce((all, line) => all + Number(line.split(' ').at(-1)), 0);
    expect(sum).toBe(REQUESTS + 1);
  });

  it('keeps the weights of requests in its log', () => {
    const weights = log.filter(([word]) => word === 'arrived').map((entry) => entry[5] ?? 1);
    expect([...new Set(weights)].sort((a, b) => a - b)).toEqual([1, 2, 10]);
  });
});
