import { describe, expect, it } from 'vitest';
import { CascadeFold } from '../../src/metrics/index.js';
import { OutcomeCode } from '../../src/simulator/index.js';

const S = 1e9;

/** A fold of two models and three gears over 4 s in windows of 2 s; model 1 is right about all, model 0 about even requests. */
function fold() {
  const made = new CascadeFold({
    stages: 2,
    gears: 3,
    durationNs: 4 * S,
    windowNs: 2 * S,
    isRight: (order, stage) => stage === 1 || order % 2 === 0,
  });
  made.begun({ core: { batchTask: (batch) => batch }, requestOf: (task) => task });
  return made;
}

/** serve lets a request come and be answered by models one after another; each batch and request has the same number. */
function serve(
  to: CascadeFold,
  request: number,
  { at = 0, took = 0.1, stages = [0], outcome = OutcomeCode.inTime as number },
) {
  to.arrived(at * S, 0, request);
  for (const stage of stages) to.executed(request, stage, 0, 1);
  to.ended((at + took) * S, 0, request, at * S, outcome);
}

describe('The answers of a cascade', () => {
  it('count by the last model that ran, and are right by the number of requests before', () => {
    const made = fold();
    serve(made, 0, {});
    serve(made, 1, { at: 0.5 });
    serve(made, 0, { at: 1, stages: [0, 1], outcome: OutcomeCode.late });
    serve(made, 5, { at: 1.5, stages: [0, 1] });
    expect(made.figures(4 * S)).toMatchObject({
      accuracy: 0.75,
      answeredBy: [
        { share: 0.5, accuracy: 0.5 },
        { share: 0.5, accuracy: 1 },
      ],
    });
  });

  it('leave out requests that were dropped, failed, or never ran', () => {
    const made = fold();
    serve(made, 0, { outcome: OutcomeCode.dropped });
    serve(made, 1, { outcome: OutcomeCode.failed });
    serve(made, 2, { stages: [] });
    expect(made.figures(4 * S)).toMatchObject({ answeredBy: [{ share: 0 }, { share: 0 }], shifts: 0 });
    expect(made.figures(4 * S).accuracy).toBeUndefined();
  });

  it('have the time of each gear, and by windows of arrival the accuracy, the p95 and the longest gear', () => {
    const made = fold();
    serve(made, 0, { at: 0.5, took: 0.2 });
    serve(made, 1, { at: 1.9, took: 0.6 });
    made.shifted(1 * S, 2);
    made.shifted(3 * S, 1);
    serve(made, 2, { at: 3.5, took: 0.1 });
    // What happens after the end of the run counts for no gear.
    made.shifted(5 * S, 0);
    const { gearShares, shifts, windows } = made.figures(4 * S);
    expect(gearShares).toEqual([0.25, 0.25, 0.5]);
    expect(shifts).toBe(3);
    expect(windows).toEqual([
      { fromS: 0, accuracy: 0.5, p95Ms: expect.closeTo(600, 6), gear: 0 },
      { fromS: 2, accuracy: 1, p95Ms: expect.closeTo(100, 6), gear: 1 },
    ]);
  });
});
