import { describe, expect, it } from 'vitest';
import { bytesPerRow, misfit } from '../../../src/plans/pipeline/tensors.js';
import { type Asked, example, faultLines, planned, profileOf, tensor } from '../../pipeline/example.js';

/** changed applies a change to the example. */
function changed(change: (asked: Asked) => void): Asked {
  const asked = example();
  change(asked);
  return asked;
}

/** sources gives where each input of a stage comes from. */
function sources(asked: Asked, stage: string): Record<string, string[]> {
  const found = planned(asked).stages.find(({ name }) => name === stage);
  return Object.fromEntries((found?.inputs ?? []).map(({ name, from }) => [name, from]));
}

describe('wireStages()', () => {
  it('takes inputs from the request at an entry, by name from the stage before, and else as the spec says', () => {
    expect(sources(example(), 'detect')).toEqual({ image: ['request.image'] });
    expect(sources(example(), 'read')).toEqual({ crop: ['detect.crop'] });
    expect(sources(example(), 'merge')).toEqual({
      found: ['read.found', 'face.found'],
      boxes: ['detect.boxes'],
    });
    const renamed = changed(({ spec }) => {
      spec.stages[0]!.inputs = { image: 'request.photo' };
      spec.stages[3]!.inputs = { boxes: 'request.regions', found: ['face.found', 'detect.crop'] };
    });
    expect(sources(renamed, 'detect')).toEqual({ image: ['request.photo'] });
    expect(sources(renamed, 'merge')).toEqual({
      found: ['face.found', 'detect.crop'],
      boxes: ['request.regions'],
    });
  });

  it('reports a merge of exclusive branches that misses a tensor, with the way', () => {
    const missing = changed(({ spec }) => {
      spec.stages[3]!.inputs = { boxes: 'detect.boxes', found: 'read.found' };
    });
    expect(faultLines(missing)).toEqual([
      '/stages/3/inputs/found: is missing where a request comes by detect -> face -> merge: there is no read.found then',
    ]);
    const other = changed(({ files }) => {
      files.profiles[2] = {
        path: 'e.json',
        profile: profileOf('e', [tensor('crop')], [tensor('embedding')]),
      };
    });
    expect(faultLines(other)).toEqual([
      '/stages/3/inputs/found: is missing where a request comes by detect -> face -> merge: there is no read.found then',
    ]);
  });

  it('reports a tensor of the request that does not fit all stages that take it, in whatever order they stand', () => {
    const sized = (name: string, width: number, variableAxes?: number[]) =>
      profileOf(
        name,
        [tensor('x', { shape: [1, width], ...(variableAxes ? { variableAxes } : {}) })],
        [tensor('y')],
      );
    const widths: [number, number[]?][] = [[8, [1]], [16], [32]];
    const lines = changed(({ spec, files }) => {
      spec.stages = widths.map((_, i) => ({ ...spec.stages[3]!, name: `s${i}`, inputs: {} }));
      delete spec.exclusive;
      files.profiles = widths.map(([width, free], i) => ({
        path: `${i}.json`,
        profile: sized(`${i}`, width, free),
      }));
    });
    expect(faultLines(lines)).toEqual([
      '/stages/2/inputs/x: does not fit request.x: it is [batch, 16], and [batch, 32] is needed',
    ]);
  });

  it('reports a tensor that two stages give to the same request', () => {
    const both = changed(({ spec }) => {
      delete spec.exclusive;
    });
    expect(faultLines(both)).toEqual([
      "/stages/3/inputs/found: may come from read.found or face.found, as both can be there; say in its stage's inputs which counts",
    ]);
    both.spec.stages[3]!.inputs = { boxes: 'detect.boxes', found: ['read.found', 'face.found'] };
    expect(faultLines(both)).toEqual([]);
  });

  it('refuses a source that names no stage or no tensor', () => {
    for (const source of ['.crop', 'detect.', '.', '']) {
      const half = changed(({ spec }) => {
        spec.stages[1]!.inputs = { crop: source };
      });
      expect(faultLines(half)).toContain(`/stages/1/inputs/crop: is ${source}; write stage.tensor`);
    }
  });

  it('reports inputs that come from nowhere, each with its place', () => {
    const lost = changed(({ spec }) => {
      spec.stages[1]!.inputs = { crop: 'face.found' };
      spec.stages[2]!.inputs = { crop: 'detect.crops', colour: 'detect.crop' };
      spec.stages[3]!.inputs = { boxes: 'boxes', found: 'nobody.found' };
    });
    expect(faultLines(lost)).toEqual([
      '/stages/1/inputs/crop: comes from face.found, and no way leads from face to this stage',
      '/stages/2/inputs/colour: is no input of the model; it has crop',
      '/stages/2/inputs/crop: comes from detect.crops, which is no output of detect; it has crop, boxes, score',
      '/stages/3/inputs/found: comes from nobody.found, and there is no stage nobody',
      '/stages/3/inputs/boxes: is boxes; write stage.tensor',
    ]);
    const unnamed = changed(({ spec }) => {
      delete spec.stages[3]!.inputs;
    });
    expect(faultLines(unnamed)).toEqual([
      "/stages/3/inputs/boxes: is given by none of read, face; say in the stage's inputs where it comes from, such as detect.boxes",
    ]);
  });

  it('reports tensors that do not fit by dtype, shape or batch axis', () => {
    const unlike = changed(({ files }) => {
      files.profiles[1] = {
        path: 'r.json',
        profile: profileOf('r', [tensor('crop', { dtype: 'float16' })], [tensor('found', { shape: [1, 5] })]),
      };
      files.profiles[2] = {
        path: 'e.json',
        profile: profileOf('e', [tensor('crop', { shape: [4, 1], batchAxis: 1 })], [tensor('found')]),
      };
    });
    expect(faultLines(unlike)).toEqual([
      '/stages/1/inputs/crop: does not fit detect.crop: it is float32, and float16 is needed',
      '/stages/2/inputs/crop: does not fit detect.crop: it is [batch, 4], and [4, batch] is needed',
      '/stages/3/inputs/found: does not fit read.found: it is [batch, 5], and [batch, 4] is needed',
    ]);
  });

  it('reports two stages that expect different tensors of the request under one name', () => {
    const two = changed(({ spec, files }) => {
      spec.stages[3]!.inputs = { boxes: 'request.image' };
      files.profiles[3]!.profile.model.inputs![1]!.shape = [1, 9];
    });
    expect(faultLines(two)).toEqual([
      '/stages/3/inputs/boxes: does not fit request.image: it is [batch, 4], and [batch, 9] is needed',
    ]);
  });

  it('checks nothing of models whose profiles do not list tensors, and notes that', () => {
    const unknown = changed(({ files }) => {
      delete files.profiles[1]!.profile.model.inputs;
      delete files.profiles[1]!.profile.model.outputs;
    });
    const plan = planned(unknown);
    expect(plan.notes).toEqual([
      'read: the profile does not list its inputs and outputs, so they were not checked',
    ]);
    expect(plan.stages.find(({ name }) => name === 'read')?.inputs).toBeUndefined();
  });
});

describe('misfit()', () => {
  it('lets sizes differ that depend on the data or the batch', () => {
    const [a, b] = [tensor('x', { shape: [1, 7, 3] }), tensor('x', { shape: [8, 9, 3] })];
    expect(misfit(a, b)).toMatch('[batch, 7, 3], and [batch, 9, 3]');
    expect(misfit({ ...a, variableAxes: [1] }, b)).toBeUndefined();
    expect(misfit(a, { ...b, variableAxes: [1] })).toBeUndefined();
    expect(misfit(tensor('x', { shape: [1] }), a)).toBeDefined();
  });
});

describe('bytesPerRow()', () => {
  it('multiplies the shape with the size of the dtype, and does not know the size of text', () => {
    expect(bytesPerRow(tensor('x', { shape: [1, 3, 5] }))).toBe(60);
    expect(bytesPerRow(tensor('x', { dtype: 'int64', shape: [1] }))).toBe(8);
    expect(bytesPerRow(tensor('x', { dtype: 'string' }))).toBeUndefined();
  });
});
