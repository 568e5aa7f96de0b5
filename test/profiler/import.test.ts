import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parseArtifact } from '../../src/artifacts/index.js';
import { InputError, isImported } from '../../src/formats/index.js';
import { importCsv, importOrtProfile, importTrtexec, readCutBytes } from '../../src/profiler/index.js';
import { streamOf } from '../../src/random/index.js';

const cutBytes = { path: 'cuts.txt', text: '100\n50\n' };

function faultsOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(InputError);
    return (error as Error).message;
  }
  throw new Error('nothing was thrown');
}

describe('importCsv()', () => {
  test('reads class, virtual size and batch sizes; mps in the file name counts from 0', () => {
    const profile = importCsv(
      [
        { path: 'somewhere/res-net-L4-0.csv', text: '10,18\n20,35.5\n30,55\n' },
        { path: 'res-net-L4-3.csv', text: '\uFEFF40\r\n80\r\n120\r\n' },
        { path: 'res-net-T4-0.csv', text: '1,2\n3,4\n5,6' },
      ],
      { batchSizes: [1, 2], cutBytes },
    );
    expect(profile.model.name).toBe('res-net');
    expect(profile.blocks).toEqual([{ cutBytes: 100 }, { cutBytes: 50 }, { cutBytes: 0 }]);
    expect(profile.devices.L4?.blockLatencyUs).toEqual({
      1: { 1: [10, 20, 30], 2: [18, 35.5, 55] },
      4: { 1: [40, 80, 120] },
    });
    expect(['L4', 'T4'].map((name) => isImported(profile, name))).toEqual([true, true]);
    expect(profile.devices.T4?.blockLatencyUs).toEqual({ 1: { 1: [1, 3, 5], 2: [2, 4, 6] } });
    expect(() => parseArtifact(JSON.stringify(profile), 'p.json', ['profile'])).not.toThrow();
  });

  test('converts units', () => {
    const table = { path: 'm-L4-0.csv', text: '1.5\n' };
    const one = importCsv([table], { batchSizes: [1], cutBytes: { path: 'c', text: '7' }, unit: 'ms' });
    expect(one.devices.L4?.blockLatencyUs[1]?.[1]).toEqual([1500]);
    expect(one.blocks).toEqual([{ cutBytes: 7 }]);
  });

  test('reports every fault of every file with its line', () => {
    const message = faultsOf(() =>
      importCsv(
        [
          { path: 'm-L4-0.csv', text: '1,2\n\n3,oops\n-4,' },
          { path: 'm-L4-0.csv', text: '1,2,3\n4,5,6\n7,8,9' },
          { path: 'n-T4-1.csv', text: '1\n2\n' },
          { path: 'latencies.csv', text: '1' },
        ],
        { batchSizes: [1, 2], cutBytes: { path: 'cuts.txt', text: '1\nx\n0x10\n4\n5\n' } },
      ),
    );
    expect(message).toMatch(/m-L4-0\.csv:3: column 2 is "oops"/);
    expect(message).toMatch(/m-L4-0\.csv:4: column 1 is "-4"/);
    expect(message).toMatch(/m-L4-0\.csv:4: column 2 is ""/);
    expect(message).toMatch(/3 columns for 2 batch sizes/);
    expect(message).toMatch(/n-T4-1\.csv: it has 2 lines/);
    expect(message).toMatch(/latencies\.csv: the file is not named/);
    expect(message).toMatch(/cuts\.txt:2: column 1 is "x"/);
    expect(message).toMatch(/cuts\.txt:3: column 1 is "0x10"/);
    expect(message).toMatch(/cuts\.txt: it has 5 lines for 3 blocks/);
    expect(message).toMatch(/several models: m, n/);
    expect(message).toMatch(/L4 at 1\/1 is given twice/);
  });
});

test('readCutBytes() lets only the last block be left out', () => {
  expect(readCutBytes(cutBytes, 3)).toEqual([100, 50, 0]);
  expect(readCutBytes(cutBytes, 2)).toEqual([100, 50]);
  expect(() => readCutBytes(cutBytes, 4)).toThrow(/2 lines for 4 blocks/);
  expect(() => readCutBytes({ path: 'c', text: '1.5' }, 1)).toThrow(/one whole number/);
  expect(() => readCutBytes({ path: 'c', text: '9007199254740993' }, 1)).toThrow(
    /c:1: column 1 is "9007199254740993"; whole numbers beyond/,
  );
});

interface Figures {
  readonly blocks: readonly { readonly cutBytes: number }[];
  /** The latencies of every block by class, virtual size and batch size. */
  readonly blockLatencyUs: Record<string, Record<string, Record<string, number[]>>>;
}

/**
 * expectGivenBack writes figures as tables, one for each class and virtual size, and expects the import to give the
 * figures back.
 */
function expectGivenBack(name: string, { blocks, blockLatencyUs }: Figures): void {
  const tables = Object.entries(blockLatencyUs).flatMap(([device, byVirtual]) =>
    Object.entries(byVirtual).map(([virtual, byBatch]) => ({
      path: `${name}-${device}-${Number(virtual) - 1}.csv`,
      text: blocks
        .map((_, i) =>
          Object.values(byBatch)
            .map((row) => row[i])
            .join(','),
        )
        .join('\n'),
    })),
  );
  const text = blocks.map((block) => block.cutBytes).join('\n');
  const profile = importCsv(tables, {
    batchSizes: [1, 2, 3, 4, 5, 6, 7, 8],
    cutBytes: { path: 'c', text },
  });
  for (const [device, table] of Object.entries(blockLatencyUs))
    expect(profile.devices[device]?.blockLatencyUs).toEqual(table);
}

test('importCsv() gives back figures when they are written as tables, as in PPipe’s artifact', () => {
  const { uniform, integer } = streamOf(1, 'figures');
  const blocks = Array.from({ length: 10 }, () => ({ cutBytes: integer(1e6) }));
  const rows = () =>
    Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map((batch) => [batch, blocks.map(() => 1e4 * uniform())]));
  const sizes = () => Object.fromEntries([1, 2, 3].map((virtual) => [virtual, rows()]));
  expectGivenBack('made', { blocks, blockLatencyUs: { L4: sizes(), P4: sizes(), T4: sizes() } });
  const published = new URL('../../../shared/data/ppipe/models/repvgg-b3.json', import.meta.url);
  if (existsSync(published))
    expectGivenBack('repvgg-b3', JSON.parse(readFileSync(published, 'utf8')) as Figures);
});

const times = JSON.stringify(
  [3, 1, 2].map((computeMs) => ({
    startEnqMs: 0,
    startComputeMs: 1,
    h2dMs: 9,
    computeMs,
    d2hMs: 9,
    latencyMs: 20,
  })),
);
const layers = JSON.stringify([
  { count: 50 },
  { name: 'conv1 + relu1', timeMs: 20, averageMs: 0.4, medianMs: 0.39, percentage: 40 },
  { name: 'fc', timeMs: 30, averageMs: 0.6, percentage: 60 },
]);

describe('importTrtexec()', () => {
  test('reads GPU time from --exportTimes and the sum of layers from --exportProfile', () => {
    const on = { device: 'L4', batch: 4 };
    const profile = importTrtexec(
      [
        { path: 'a.json', text: times, ...on, block: 0 },
        { path: 'b.json', text: layers, ...on, block: 1 },
      ],
      { model: 'm', cutBytes: [100, 0] },
    );
    expect(profile.devices.L4?.blockLatencyUs).toEqual({ 1: { 4: [2000, 990] } });
    expect(profile.devices.L4?.blockLatencyP95Us?.[1]?.[4]?.[0]).toBeCloseTo(2900, 6);
    expect(profile.devices.L4?.blockLatencyP95Us?.[1]?.[4]?.[1]).toBeNull();
    expect(profile.measurement?.complete).toBe(true);
    expect(() => parseArtifact(JSON.stringify(profile), 'p.json', ['profile'])).not.toThrow();
  });

  test('leaves blocks without a file null, and reports that the profile is not complete', () => {
    const profile = importTrtexec(
      [{ path: 'a', text: times, device: 'L4', batch: 1, virtual: 2, block: 1 }],
      {
        model: 'm',
        cutBytes: [8, 0],
      },
    );
    expect(profile.devices.L4?.blockLatencyUs).toEqual({ 2: { 1: [null, 2000] } });
    expect(profile.measurement?.complete).toBe(false);
  });

  test('reports every fault of every file', () => {
    const bad = JSON.stringify([{ computeMs: 'fast' }, { latencyMs: 3 }]);
    const message = faultsOf(() =>
      importTrtexec(
        [
          { path: 'a', text: '{', device: 'L4', batch: 1 },
          { path: 'b', text: '{}', device: 'L4', batch: 0 },
          { path: 'c', text: bad, device: 'L4', batch: 1, block: 7 },
          { path: 'd', text: '[{"count": 3}]', device: 'L4', batch: 1 },
        ],
        { model: 'm', cutBytes: [0] },
      ),
    );
    expect(message).toMatch(/a: it is not JSON/);
    expect(message).toMatch(/b: batch size is 0/);
    expect(message).toMatch(/b: it is not a list of objects/);
    expect(message).toMatch(/c: it is of block 7, and blocks are 0 to 0/);
    expect(message).toMatch(/c\[0\]: computeMs is "fast"/);
    expect(message).toMatch(/c\[1\]: computeMs is missing/);
    expect(message).toMatch(/d: it lists no layers/);
  });

  test('refuses the same cell twice', () => {
    const same = { text: times, device: 'L4', batch: 1 };
    const run = () =>
      importTrtexec(
        [
          { path: 'a', ...same },
          { path: 'b', ...same },
        ],
        { model: 'm', cutBytes: [0] },
      );
    expect(run).toThrow(/b: block 0 of L4 1\/1, batch 1 is given twice/);
  });
});

describe('importOrtProfile()', () => {
  const event = (name: string, dur: unknown) => ({
    cat: 'Session',
    pid: 1,
    tid: 1,
    ts: 0,
    ph: 'X',
    name,
    dur,
    args: {},
  });
  test('gives the median of the runs without the first, which is a warm-up', () => {
    const events = [
      event('session_initialization', 5),
      ...[900, 10, 30, 20].map((us) => event('model_run', us)),
    ];
    const text = JSON.stringify([...events, event('conv_kernel_time', 7)]);
    const profile = importOrtProfile([{ path: 'a', text, device: 'cpu', batch: 2 }], {
      model: 'm',
      cutBytes: [0],
    });
    expect(profile.devices.cpu?.blockLatencyUs).toEqual({ 1: { 2: [20] } });
    expect(profile.devices.cpu?.provider).toBeUndefined();
  });
  test('refuses a file of one run, which is cold, and takes the second of two', () => {
    const imported = (durations: number[]) => {
      const text = JSON.stringify(durations.map((us) => event('model_run', us)));
      return importOrtProfile([{ path: 'a', text, device: 'cpu', batch: 1 }], { model: 'm', cutBytes: [0] });
    };
    expect(imported([232, 69]).devices.cpu?.blockLatencyUs).toEqual({ 1: { 1: [69] } });
    expect(faultsOf(() => imported([232]))).toMatch(
      /a: it has one model_run, of 232 µs, which is the cold one: run the model twice or more in one session/,
    );
  });
  test('refuses a file without runs and runs without a duration', () => {
    const files = [
      { path: 'a', text: JSON.stringify([event('x', 1)]), device: 'cpu', batch: 1 },
      { path: 'b', text: JSON.stringify([event('model_run', 'long')]), device: 'cpu', batch: 1 },
    ];
    const message = faultsOf(() => importOrtProfile(files, { model: 'm', cutBytes: [0] }));
    expect(message).toMatch(/a: it has no model_run events/);
    expect(message).toMatch(/b\[0\]: dur of "model_run" is "long"; microseconds are needed/);
  });
  test('refuses durations of nodes outside every run, each by its event, and counts them beyond twenty', () => {
    const node = (dur: unknown) => ({ ...event('conv_kernel_time', dur), cat: 'Node' });
    const faultsWith = (events: object[]) =>
      faultsOf(() =>
        importOrtProfile(
          [
            {
              text: JSON.stringify([event('model_run', 9), ...events, event('model_run', 9)]),
              path: 'a',
              device: 'cpu',
              batch: 1,
            },
          ],
          { model: 'm', cutBytes: [0] },
        ),
      );
    const message = faultsWith([node(0), node(-1), node(1e15), node(8.64e10), node(undefined)]);
    expect(message).not.toMatch(/a\[[014]\]/);
    expect(message).toMatch(/a\[2\]: dur of "conv_kernel_time" is -1; microseconds are needed/);
    expect(message).toMatch(
      /a\[3\]: dur of "conv_kernel_time" is 1000000000000000 µs, which is more than a day/,
    );
    expect(message).toMatch(/a\[5\]: dur of "conv_kernel_time" is absent; microseconds are needed/);
    const many = faultsWith(new Array(53).fill(node(-1)));
    expect(many).toMatch(/a\[20\]:/);
    expect(many).not.toMatch(/a\[21\]:/);
    expect(many).toMatch(/… and 33 more faults/);
  });
});
