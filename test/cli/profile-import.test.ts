import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as w from '../onnx/writer.js';
import { plan, type Ran } from './plan.js';

let folder: string;
const at = (file: string): string => join(folder, file);
const run = (...args: string[]): Promise<Ran> => plan(args, { cwd: folder });

/** The runs of the model that ONNX Runtime profiles. */
const RUNS = 6;

/** The fields that the tests read of a profile's events. */
type Events = { name: string; dur: number }[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-import-'));
  const graph = w.graph({
    nodes: [w.node('Relu', ['x'], ['r']), w.node('Neg', ['r'], ['y'])],
    inputs: [w.value('x', w.FLOAT, ['batch', 4])],
    outputs: [w.value('y', w.FLOAT, ['batch', 4])],
  });
  const session = await InferenceSession.create(w.model(graph), {
    enableProfiling: true,
    profileFilePrefix: at('real'),
  });
  for (let i = 0; i < RUNS; i++)
    await session.run({ x: new Tensor('float32', new Float32Array(8).fill(i), [2, 4]) });
  session.endProfiling();
  await session.release();
  const [written] = await readdir(folder);
  await rename(at(written as string), at('real.json'));
  await writeFile(at('times.json'), '[{ "computeMs": 1.5 }, { "computeMs": 1.7 }, { "computeMs": 1.6 }]');
  await writeFile(at('m-L4-0.csv'), '1500\n1700\n');
  await writeFile(at('cuts.txt'), '32\n0\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const PLACE = ['--model', 'm', '--device', 'cpu', '--batch', '2', '-o', 'out.json'];

describe('plan profile import of a profile that ONNX Runtime wrote', () => {
  it.each([[[]], [['ort']]])('gives the median of its runs without the first: %j', async (format) => {
    const events = JSON.parse(await readFile(at('real.json'), 'utf8')) as Events;
    const durations = events.filter(({ name }) => name === 'model_run').map(({ dur }) => dur);
    expect(durations).toHaveLength(RUNS);
    const median = durations.slice(1).sort((a, b) => a - b)[(RUNS - 2) / 2];
    const { code, stdout, stderr } = await run(
      'profile',
      'import',
      ...format,
      'real.json',
      ...PLACE,
      '--json',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const profile = JSON.parse(stdout);
    expect(profile).toMatchObject({
      kind: 'profile',
      model: { name: 'm' },
      blocks: [{ cutBytes: 0 }],
      devices: { cpu: { blockLatencyUs: { 1: { 2: [median] } } } },
      measurement: { complete: true },
    });
    expect(JSON.parse(await readFile(at('out.json'), 'utf8'))).toEqual(profile);
    expect(await run('validate', 'out.json')).toMatchObject({ code: 0 });
  });

  it('takes one file per block, in the order of the blocks', async () => {
    const second = JSON.stringify([
      { cat: 'Session', name: 'session_initialization', dur: 9 },
      ...[70, 30, 50, 40].map((dur) => ({ cat: 'Session', name: 'model_run', dur })),
    ]);
    await writeFile(at('second.json'), second);
    const { code, stdout } = await run(
      ...['profile', 'import', 'second.json', 'real.json', '--cut-bytes', 'cuts.txt'],
      ...[...PLACE, '--virtual', '3', '--json'],
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      blocks: [{ cutBytes: 32 }, { cutBytes: 0 }],
      devices: { cpu: { blockLatencyUs: { 3: { 2: [40, expect.any(Number)] } } } },
    });
  });

  it('reports every fault of every file and option at once, and writes nothing', async () => {
    const text = await readFile(at('real.json'), 'utf8');
    const events = JSON.parse(text) as Events;
    const changed = (change: (event: Events[number]) => object): string => JSON.stringify(events.map(change));
    // The process was killed before the session ended.
    await writeFile(at('cut-off.json'), text.slice(0, text.length - 40));
    const idle = changed((event) => (event.name === 'model_run' ? { ...event, name: 'idle' } : event));
    await writeFile(at('idle.json'), idle);
    const wrong = changed((event) => (event.name === 'model_run' ? { ...event, dur: -1 } : event));
    await writeFile(at('wrong.json'), wrong);
    const files = ['cut-off.json', 'idle.json', 'wrong.json'];
    const { code, stderr } = await run(
      'profile',
      'import',
      'ort',
      ...files,
      '--model',
      'm',
      '-o',
      'none.json',
    );
    expect(code).toBe(2);
    for (const said of [
      'Cannot import files of ONNX Runtime:',
      '--device: is needed',
      '--batch: one batch size is needed',
      '--cut-bytes: is needed',
      'cut-off.json: it is not JSON',
      'idle.json: it has no model_run events',
      `wrong.json[${events.findIndex(({ name }) => name === 'model_run')}]: dur of "model_run" is -1; microseconds are needed`,
    ])
      expect(stderr).toContain(said);
    expect(stderr.match(/dur of "model_run" is -1/g)).toHaveLength(RUNS);
    expect(await readdir(folder)).not.toContain('none.json');
  });

  it('explains for each file why its format is unknown, and asks for the format', async () => {
    await writeFile(at('empty.json'), '');
    const { code, stderr } = await run(
      'profile',
      'import',
      'real.json',
      'empty.json',
      'times.json',
      ...PLACE,
    );
    expect(code).toBe(2);
    expect(stderr).toContain('empty.json: the file is empty');
    expect(stderr).toContain('real.json: it is a profile of ONNX Runtime (ort)');
    expect(stderr).toContain('times.json: it is an export of trtexec (trtexec)');
    expect(stderr).toContain('name the format before the files: csv, trtexec, ort');
  });

  it('takes no file of another format than the one named', async () => {
    const { code, stderr } = await run('profile', 'import', 'trtexec', 'real.json', ...PLACE);
    expect(code).toBe(2);
    expect(stderr).toMatch(/real\.json\[0\]: computeMs is missing/);
    expect(await run('profile', 'import', 'ort', ...PLACE)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no files are given'),
    });
  });
});

describe('plan profile import', () => {
  it('recognizes files of trtexec and tables by their content', async () => {
    const times = await run('profile', 'import', 'times.json', ...PLACE, '--json');
    expect(JSON.parse(times.stdout)).toMatchObject({
      devices: { cpu: { provider: 'tensorrt', blockLatencyUs: { 1: { 2: [1600] } } } },
    });
    const table = ['m-L4-0.csv', '--model', 'm', '--batch', '1', '--cut-bytes', 'cuts.txt', '-o', 'out.json'];
    const { stdout } = await run('profile', 'import', ...table, '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      devices: { L4: { blockLatencyUs: { 1: { 1: [1500, 1700] } } } },
    });
  });
});
