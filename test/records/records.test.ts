import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import type { ClassLimit } from '../../src/records/class-limit.js';
import { certaintyQuality, recordsOf } from '../../src/records/index.js';

const HEAD = 'sample,model,prediction,label,certainty\n';

async function messages(text: string, ...how: [wanted?: string[], limit?: ClassLimit]): Promise<string[]> {
  const read = await recordsOf(text, ...how);
  if (!('faults' in read)) throw new Error('no fault was found');
  return read.faults.map(({ path, message }) => `${path}: ${message}`.replace(/^: /, ''));
}

it('recognizes samples that count from 0 for one model and from 1 for another', async () => {
  const lines = [0, 1, 2].flatMap((i) => [`${i},a,0,0,0.5`, `${i + 1},b,0,0,0.5`]);
  const found = await recordsOf(['sample,model,prediction,label,certainty', ...lines].join('\r\n'));
  expect('faults' in found && found.faults[0]?.message).toBe(
    'the samples of b count from 1, and those of a from 0: number both alike',
  );
});

it('reports no samples that count differently where a line was refused that may be of the first sample', async () => {
  const of = (broken: string) => `${HEAD}0,tiny,0,0,0.5\n${broken}\n1,tiny,0,0,0.5\n1,base,0,0,0.5\n`;
  for (const [broken, said] of [
    ['0,base,0,0', 'line 3: has 4 cells'],
    ['0,base,0,0,', 'line 3: has no certainty'],
  ] as const) {
    const found = await messages(of(broken));
    expect(found.join('\n')).toContain(said);
    expect(found.join('\n')).not.toContain('count from');
  }
});

describe('records', () => {
  it('are columns by model and sample, in the order of the file, however lines and columns are ordered', async () => {
    const read = await recordsOf(
      'certainty,label,model,prediction,sample\n0.5,7,a,7,x\n0.25,3,b,2,y\n1,3,a,2,y\n0,7,b,7,x\n',
    );
    expect(read).toEqual({
      samples: 2,
      models: ['a', 'b'],
      correct: [Uint8Array.of(1, 0), Uint8Array.of(1, 0)],
      certainty: [Float64Array.of(0.5, 1), Float64Array.of(0, 0.25)],
    });
  });

  it('have classes that are whole numbers, written in one way, or names', async () => {
    expect(await recordsOf(`${HEAD}1,a,cat,dog,0.5\n`)).toMatchObject({ correct: [Uint8Array.of(0)] });
    expect(await messages(`${HEAD}1,a,-3,1,0.5\n2,a,2,2.0,0.5\n3,a,03,3,0.5\n4,a,0,Infinity,0.5\n`)).toEqual([
      'line 2: the prediction is -3, which is no class: classes are whole numbers from 0, or names',
      'line 4: the prediction is 03, which is no class: classes are whole numbers from 0, or names',
      'line 3: the label is 2.0, which is no class: classes are whole numbers from 0, or names',
      'line 5: the label is Infinity, which is no class: classes are whole numbers from 0, or names',
    ]);
  });

  it('have no class beyond those that the models report, which is reported with all other faults', async () => {
    const limit = { model: 'b', classes: 10 };
    expect(await recordsOf(`${HEAD}1,a,9,0,0.5\n1,b,cat,0,0.5\n`, ['a', 'b'], limit)).toMatchObject({
      samples: 1,
    });
    expect(await messages(`${HEAD}1,a,10,3,0.5\n2,a,1,77,0.5\n3,a,2,2,none\n`, ['a'], limit)).toEqual([
      'line 2: the prediction is 10, and b tells 10 classes, from 0 on',
      'line 3: the label is 77, and b tells 10 classes, from 0 on',
      'line 4: the certainty is "none", which is no finite decimal number',
    ]);
  });

  it('leave out models that nobody asks for, and have the others in the order asked for', async () => {
    const read = await recordsOf(`${HEAD}1,a,0,0,1\n1,b,0,1,1\n1,c,0,0,x\n`.replace('1,b,0,1', '1,b,0,0'), [
      'b',
      'a',
    ]);
    expect(read).toMatchObject({ models: ['b', 'a'], correct: [Uint8Array.of(1), Uint8Array.of(1)] });
  });

  it('say nothing of the predictions of models that nobody asks for, and still have one label for a sample', async () => {
    const limit = { model: 'a', classes: 10 };
    const text = `${HEAD}1,a,0,0,1\n1,other,12,0,1\n1,other,2.5,0,\n1,another,,0,1\n`;
    expect(await recordsOf(text, ['a'], limit)).toEqual({
      samples: 1,
      models: ['a'],
      correct: [Uint8Array.of(1)],
      certainty: [Float64Array.of(1)],
    });
    expect(await messages(`${text}1,other,0,1,1\n1,,0,0,1\n2,other,0,,1\n`, ['a'], limit)).toEqual([
      'line 6: the label of sample 1 is 1, and on line 2 it is 0',
      'line 7: has no model',
      'line 8: has no label',
    ]);
  });

  it('distinguish lines that contradict another line of the same sample and model from those that say the same again', async () => {
    const text = `${HEAD}1,a,0,0,0.5\n1,a,0,0,0.50\n1,a,1,0,0.5\n1,a,0,0,0.7\n`;
    expect(await messages(text)).toEqual([
      'line 3: says again what a says of sample 1, after line 2',
      'line 4: says of sample 1 by a otherwise than line 2: 1 with certainty 0.5, and there 0 with 0.5',
      'line 5: says of sample 1 by a otherwise than line 2: 0 with certainty 0.7, and there 0 with 0.5',
    ]);
  });

  it('report all faults at once: missing, doubled and contradictory lines, and numbers that are none', async () => {
    const text = `${HEAD}1,a,0,0,0.5\n1,a,0,0,0.5\n2,a,1,1,NaN\n2,b,1,0,0.1\n3,b,1,1,0.2\n3,,1,1,0.2\n4,a,1\n`;
    expect(await messages(text, ['a', 'b', 'c'])).toEqual([
      'line 3: says again what a says of sample 1, after line 2',
      'line 4: the certainty is "NaN", which is no finite decimal number',
      'line 5: the label of sample 2 is 0, and on line 4 it is 1',
      'line 7: has no model',
      'line 8: has 3 cells; the header has 5',
      'line 6: a has no answer to sample 3, which other lines name',
      'line 2: b has no answer to sample 1, which other lines name',
      'there is no line of the model c; there are lines of a, b',
    ]);
  });

  it('have certainties that are decimal numbers', async () => {
    expect(await messages(`${HEAD}1,a,0,0,1e-05\n2,a,0,0,0x1\n`)).toEqual([
      'line 3: the certainty is "0x1", which is no finite decimal number',
    ]);
  });

  it('list only the first of many like faults', async () => {
    const text = HEAD + Array.from({ length: 9 }, (_, i) => `${i},a,0,0,no\n`).join('');
    const found = await messages(text);
    expect(found).toHaveLength(6);
    expect(found.at(-1)).toBe('there are 4 more faults like the last one');
  });

  it('need a header with each column once, and a line', async () => {
    expect(await messages('sample,model,model,label\n')).toEqual([
      'line 1: lacks a column prediction',
      'line 1: lacks a column certainty',
      'line 1: the column model is given twice',
    ]);
    expect(await messages(HEAD)).toEqual(['it has no line of a sample']);
    expect((await messages('a,"b'))[0]).toMatch(/^it is not CSV/);
  });
});

describe('the quality of certainty', () => {
  it('has the share of pairs in which the right answer is more certain, as counted pair by pair', () => {
    const { uniform } = streamOf(7, 'auroc');
    for (let n = 2; n < 40; n++) {
      const right = Uint8Array.from({ length: n }, () => (uniform() < 0.6 ? 1 : 0));
      const sure = Float64Array.from({ length: n }, () => Math.floor(uniform() * 6) / 5);
      let pairs = 0;
      let better = 0;
      for (let i = 0; i < n; i++)
        for (let j = 0; j < n; j++) {
          if (right[i] !== 1 || right[j] !== 0) continue;
          pairs += 1;
          better += sure[i]! > sure[j]! ? 1 : sure[i] === sure[j] ? 0.5 : 0;
        }
      const [quality] = certaintyQuality({ samples: n, models: ['a'], correct: [right], certainty: [sure] });
      if (pairs === 0) expect(quality?.auroc).toBeUndefined();
      else expect(quality?.auroc).toBeCloseTo(better / pairs, 12);
    }
  });

  it('has no calibration error where certainty is the accuracy, and all of it where it is the opposite', () => {
    const of = (right: number[], sure: number[]) =>
      certaintyQuality({
        samples: right.length,
        models: ['a'],
        correct: [Uint8Array.from(right)],
        certainty: [Float64Array.from(sure)],
      })[0];
    expect(of([1, 1, 0, 0], [1, 1, 0, 0])).toEqual({ accuracy: 0.5, auroc: 1, calibrationError: 0 });
    expect(of([0, 0, 1, 1], [1, 1, 0, 0])).toEqual({ accuracy: 0.5, auroc: 0, calibrationError: 1 });
    expect(of([1, 0], [0.5, 0.5])?.calibrationError).toBe(0);
    expect(of([1, 0], [2, 0])?.calibrationError).toBeUndefined();
  });
});
