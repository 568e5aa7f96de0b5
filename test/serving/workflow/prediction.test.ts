import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { END, Histories } from '../../../src/serving/workflow/histories.js';
import { OpenWork } from '../../../src/serving/workflow/open-work.js';
import { Prediction } from '../../../src/serving/workflow/prediction.js';

const LIKELIEST = { kind: 'likeliest', most: 16 } as const;

/** requestOf opens a request that has made some calls of a component, with what the client sent. */
function requestOf(calls: number) {
  const open = new OpenWork();
  const request = open.open(0, 1e9);
  for (let i = 0; i < calls; i++)
    open.called(request, { component: 0, rows: 1, inputs: [request.body.number] });
  return request;
}

function predictionOf(histories: Histories) {
  return new Prediction(LIKELIEST, { histories, stream: streamOf(1, 'prediction') });
}

describe('Prediction', () => {
  it('expects calls that take what came from as far back as the request goes, and none from further back', () => {
    const histories = new Histories(1);
    histories.saw(0, [0, 0], { component: 1, back: [1, 3], rows: 1 });
    histories.saw(0, [0, 1], { component: END, back: [], rows: 1 });
    const prediction = predictionOf(histories);
    expect(prediction.after(requestOf(3)).calls.map(({ component, back }) => [component, back])).toEqual([
      [1, [1, 3]],
    ]);
    expect(prediction.after(requestOf(2)).calls).toEqual([]);
  });

  it('expects the end as long as no request was seen to its end', () => {
    const histories = new Histories(1);
    const call = { component: 0, back: [0], rows: 1 };
    histories.saw(0, [], call);
    expect(predictionOf(histories).after(requestOf(1))).toEqual({ calls: [], isToEnd: true });
    histories.saw(0, [0], { component: END, back: [], rows: 1 });
    histories.saw(0, [0], call);
    histories.saw(0, [0], call);
    expect(predictionOf(histories).after(requestOf(1)).calls).toHaveLength(16);
  });

  it('is what will be, where that is known', () => {
    const known = [{ component: 2, back: [1], rows: 1, bytes: 5, chance: 1 }];
    const foresight = (request: number, made: number) => (request === 0 && made === 1 ? known : []);
    const prediction = new Prediction(LIKELIEST, {
      histories: new Histories(1),
      stream: streamOf(1, 'prediction'),
      foresight,
    });
    expect(prediction.after(requestOf(1))).toEqual({ calls: known, isToEnd: true });
  });
});
