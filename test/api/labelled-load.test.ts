import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { labelledLoad, sampledLoad } from '../../src/api/labelled-load.js';
import { sha256OfFile } from '../../src/artifacts/index.js';
import type { Tensors } from '../../src/execution/index.js';
import { InputError, type TensorSpec } from '../../src/formats/index.js';
import type { RemoteModel } from '../../src/loadgen/index.js';
import { tensor } from '../pipeline/example.js';
import { npy } from '../samples/numpy-files.js';

const URL = 'http://here';
const MODEL: RemoteModel = {
  name: 'classes',
  inputs: [tensor('x')],
  outputs: [tensor('scores', { shape: [1, 3] })],
};

let folder: string;
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-labelled-'));
  await writeFile(at('x.npy'), npy('<f4', [2, 4], { data: Float32Array.of(0, 1, 2, 3, 4, 5, 6, 7) }));
  await writeFile(at('more.npy'), npy('<f4', [1, 4], { data: Float32Array.of(8, 9, 10, 11) }));
  await writeFile(at('labels.csv'), 'label\n2\n0\n1\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const samples = () => [at('x.npy'), at('more.npy')];
const labels = () => at('labels.csv');

/** The faults of a load, without the folder. */
async function faultsOf(
  { samples = [], labels }: { samples?: readonly string[]; labels?: string },
  remote: readonly RemoteModel[] = [MODEL],
): Promise<string[]> {
  const load =
    labels === undefined ? sampledLoad(URL, samples, remote) : labelledLoad(URL, { samples, labels }, remote);
  const error = await load.catch((thrown: unknown) => thrown);
  if (!(error instanceof InputError)) throw new Error(`no InputError: ${String(error)}`);
  expect(error.task).toBe(`load ${URL}`);
  return error.faults.map(({ path, message }) => `${path} ${message}`.replaceAll(`${folder}/`, ''));
}

/** scores is an answer in which a class has the highest score. */
function scores(best: number, of = 3): Tensors {
  const data = Float32Array.from({ length: of }, (_, i) => (i === best ? 0.9 : 0.1 * i));
  return { scores: { dtype: 'float32', dims: [1, of], data } };
}

const answering = (output: Partial<TensorSpec>): RemoteModel[] => [
  { ...MODEL, outputs: [{ ...(MODEL.outputs[0] as TensorSpec), ...output }] },
];

describe('labelledLoad()', () => {
  it('sends the samples of all files in their order', async () => {
    const { inputs } = await labelledLoad(URL, { samples: samples(), labels: labels() }, [MODEL]);
    expect(inputs.map(({ x }) => Array.from(x?.data as Float32Array))).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9, 10, 11],
    ]);
  });

  it('takes inputs from samples where the server describes none, and wants an output that it describes', async () => {
    const path = at('requests.json');
    const request = { inputs: [{ name: 'x', datatype: 'FP32', shape: [3, 1], data: [1, 2, 3] }] };
    await writeFile(path, JSON.stringify(request));
    const files = { samples: [path], labels: labels() };
    const { inputs } = await labelledLoad(URL, files, [{ ...MODEL, inputs: [] }]);
    expect(inputs.map(({ x }) => Array.from(x?.data as Float32Array))).toEqual([[1], [2], [3]]);
    expect(await faultsOf(files, [{ ...MODEL, inputs: [], outputs: [] }])).toEqual([
      '`labels` is for models of one output, and the server describes none of classes',
    ]);
  });

  it('names the files that it read, with their roles and digests', async () => {
    const digest = async (path: string) => ({ path, sha256: await sha256OfFile(path) });
    const read = [
      { role: 'samples', file: await digest(at('x.npy')) },
      { role: 'samples', file: await digest(at('more.npy')) },
    ];
    expect((await sampledLoad(URL, samples(), [MODEL])).files).toEqual(read);
    const { files } = await labelledLoad(URL, { samples: samples(), labels: labels() }, [MODEL]);
    expect(files).toEqual([...read, { role: 'labels', file: await digest(labels()) }]);
  });

  it('takes labels that are decimal numbers, the first line too', async () => {
    await writeFile(at('hex.csv'), '0x1\n0\n1\n');
    expect(await faultsOf({ samples: samples(), labels: at('hex.csv') })).toEqual([
      'hex.csv label 1 is 0x1; classes are whole numbers from 0',
    ]);
  });

  it('counts the answers whose highest score is that of the label, and takes labels in turn again', async () => {
    const load = await labelledLoad(URL, { samples: samples(), labels: labels() }, [MODEL]);
    expect(load.counted()).toEqual({ samples: 3, answered: 0, right: 0 });
    expect(load.check({ index: 0, outputs: scores(2) })).toBe(true);
    expect(load.check({ index: 1, outputs: scores(2) })).toBe(true);
    expect(load.counted()).toEqual({ samples: 3, answered: 2, right: 1 });
    // Answers come in any order; the sixth and the fourth are to samples 2 and 0.
    load.check({ index: 5, outputs: scores(1) });
    load.check({ index: 3, outputs: scores(2) });
    load.check({ index: 4, outputs: scores(1) });
    expect(load.counted()).toEqual({ samples: 3, answered: 5, right: 3 });
  });

  it('takes scores that are no numbers for no class', async () => {
    const load = await labelledLoad(URL, { samples: samples(), labels: labels() }, [MODEL]);
    load.check({
      index: 1,
      outputs: { scores: { dtype: 'float32', dims: [1, 2], data: Float32Array.of(1, NaN) } },
    });
    expect(load.counted()).toEqual({ samples: 3, answered: 1, right: 0 });
  });

  it('refuses an answer that lacks the scores', async () => {
    const load = await labelledLoad(URL, { samples: samples(), labels: labels() }, [MODEL]);
    expect(() => load.check({ index: 0, outputs: {} })).toThrow('has no scores');
    expect(load.counted().answered).toBe(0);
  });

  it('asks for samples with labels', async () => {
    expect(await faultsOf({ labels: labels() })).toEqual([
      '`labels` is for labelled samples: give `samples`',
    ]);
  });

  it('is for one model with one output of scores, and reports this together with what is not given', async () => {
    const several = await faultsOf({ labels: labels() }, [MODEL, MODEL]);
    expect(several).toEqual([
      '`labels` is for labelled samples: give `samples`',
      '`labels` is for one model: name it with `model`',
    ]);
    const outputs = [tensor('scores'), tensor('boxes')];
    expect(await faultsOf({ samples: samples(), labels: labels() }, [{ ...MODEL, outputs }])).toEqual([
      '`labels` is for models of one output, and this has scores, boxes',
    ]);
    expect(await faultsOf({ samples: samples(), labels: labels() }, answering({ dtype: 'string' }))).toEqual([
      '`labels` is for models that answer with scores, and scores is text',
    ]);
  });

  it('reports all that is wrong with samples and labels at once', async () => {
    await writeFile(at('short.npy'), npy('<f4', [1, 3], { data: Float32Array.of(1, 2, 3) }));
    await writeFile(at('wrong.csv'), '1\nmany\n-1\n');
    const told = await faultsOf({ samples: [at('short.npy'), at('lost.npy')], labels: at('wrong.csv') });
    expect(told.join('\n')).toMatch(
      /^wrong\.csv label 2 .*\nwrong\.csv label 3 is -1.*\nshort\.npy .*\n(.*\n)*.*lost\.npy/,
    );
  });

  it('says how many labels and samples there are where these differ', async () => {
    await writeFile(at('two.csv'), '1\n0\n');
    expect(await faultsOf({ samples: samples(), labels: at('two.csv') })).toEqual([
      'more.npy x makes 3 samples, and two.csv has 2 labels',
    ]);
  });

  it('refuses a label that is no class of the model, where the server reports how many there are', async () => {
    await writeFile(at('above.csv'), '2\n3\n1\n');
    const asked = { samples: samples(), labels: at('above.csv') };
    expect(await faultsOf(asked)).toEqual(['above.csv label 2 is 3, and scores has the classes 0 to 2']);
    for (const output of [{ shape: [1, -1] }, { variableAxes: [1] }, { shape: [1, 4] }])
      expect((await labelledLoad(URL, asked, answering(output))).inputs).toHaveLength(3);
  });
});

describe('sampledLoad()', () => {
  it('sends the samples of all files in their order to a model of any outputs', async () => {
    const outputs = [tensor('boxes', { dtype: 'string' }), tensor('scores')];
    const { inputs } = await sampledLoad(URL, samples(), [{ ...MODEL, outputs }]);
    expect(inputs.map(({ x }) => x?.data[0])).toEqual([0, 4, 8]);
  });

  it('refuses several models, and reports all that is wrong with the files', async () => {
    expect(await faultsOf({ samples: samples() }, [MODEL, MODEL])).toEqual([
      '`samples` is for one model: name it with `model`',
    ]);
    await writeFile(at('short.npy'), npy('<f4', [1, 3], { data: Float32Array.of(1, 2, 3) }));
    expect(await faultsOf({ samples: [at('short.npy'), at('lost.npy')] })).toHaveLength(2);
    await writeFile(at('none.json'), '[]');
    expect((await faultsOf({ samples: [at('none.json')] })).join()).toContain('none.json');
  });
});
