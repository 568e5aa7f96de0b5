import { describe, expect, it } from 'vitest';
import { RequestTimeouts } from '../../../../src/serving/stage-local/dropping/request-timeouts.js';
import { PlanColumns, Requests } from '../../../../src/serving/state/index.js';
import { chainOf, MS, stage } from '../../by-hand.js';

const NONE = -1;

describe('RequestTimeouts', () => {
  const timeouts = (slos: number) => {
    const requests = new Requests();
    const of = new RequestTimeouts(slos, { columns: new PlanColumns(chainOf(100, stage([10]))), requests });
    const comes = (deadlineMs: number) => {
      const request = requests.add(0, deadlineMs * MS, 1);
      of.arrived(request);
      return request;
    };
    return { of, comes };
  };

  it('ends requests in the order of their deadlines, one SLO after them where two are allowed', () => {
    const { of, comes } = timeouts(2);
    const [first, second, sooner] = [comes(120), comes(140), comes(130)];
    expect(of.nextAt).toBe(220 * MS + 1);
    expect(of.due(220 * MS)).toBe(NONE);
    const ended: number[] = [];
    for (let request = of.due(300 * MS); request !== NONE; request = of.due(300 * MS)) {
      ended.push(request);
      of.ended(request);
    }
    expect(ended).toEqual([first, sooner, second]);
    expect(of.nextAt).toBe(Number.POSITIVE_INFINITY);
  });

  it('passes over what has ended, or was never open', () => {
    const { of, comes } = timeouts(0.5);
    const [first, second] = [comes(120), comes(121)];
    of.ended(first);
    of.ended(first);
    of.ended(77);
    expect([of.nextAt, of.due(71 * MS + 1)]).toEqual([71 * MS + 1, second]);
  });

  it('ends those of several models at one instant in the order in which they came', () => {
    const requests = new Requests();
    const { models, ...rest } = chainOf(100, stage([10]));
    const topology = { ...rest, models: [...models, ...models] };
    const of = new RequestTimeouts(1, { columns: new PlanColumns(topology), requests });
    const came = [1, 0, 1, 0].map((model) => {
      const request = requests.add(model, 100 * MS, 1);
      of.arrived(request);
      return request;
    });
    const ended: number[] = [];
    for (let request = of.due(101 * MS); request !== NONE; request = of.due(101 * MS)) {
      ended.push(request);
      of.ended(request);
    }
    expect(ended).toEqual(came);
  });
});
