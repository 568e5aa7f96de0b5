import { expect, it } from 'vitest';
import { pooledWiring } from '../../../src/plans/pooled/wiring.js';
import { gpuRuns } from '../../../src/plans/stages/gpu-runs.js';

const tensor = (name: string) => ({ name, dtype: 'float32' as const, shape: [1, 4] });

it('pooledWiring() takes what is no input of the model from the partition before', () => {
  const model = {
    inputs: [tensor('image')],
    outputs: [tensor('label')],
    pipelines: [{ partitions: [{}, {}] }, { partitions: [{}] }],
  };
  const files = [
    { inputs: [tensor('image')], outputs: [tensor('cut')] },
    { inputs: [tensor('cut'), tensor('image')], outputs: [tensor('label')] },
    { inputs: [tensor('image')], outputs: [tensor('label')] },
  ];
  const { applications, parts } = pooledWiring({ models: [model] } as never, files as never);
  expect(applications).toEqual([
    {
      inputs: [{ spec: tensor('image'), key: 'image' }],
      outputs: [{ spec: tensor('label'), key: 'label' }],
      mayLackOutputs: false,
    },
  ]);
  const told = parts.map(({ inputs, outputs }) => [
    inputs.map(({ from, isInner }) => [from, isInner]),
    outputs.map(({ key }) => key),
  ]);
  expect(told).toEqual([
    [[[['image'], false]], ['cut']],
    [
      [
        [['cut'], true],
        [['image'], false],
      ],
      ['label'],
    ],
    [[[['image'], false]], ['label']],
  ]);
});

it('gpuRuns() numbers the GPUs of servers that are named after their class, and keeps others apart', () => {
  const place = (server: string, gpu: number, count?: number) => ({
    server,
    gpu,
    class: 'A',
    ...(count === undefined ? {} : { count }),
  });
  const places = [place('A-0', 1), place('A-1', 0, 3), place('A-1', 1), place('rack', 1), place('A-2', 0)];
  const devices = { A: { perServer: 2 } } as never;
  const runs = gpuRuns(places as never, { devices });
  expect(runs.map(({ class: row, first, count, places: own }) => [row, first, count, own.length])).toEqual([
    ['A', 1, 1, 1],
    ['A', 2, 1, 1],
    ['A', 3, 1, 2],
    ['A', 4, 1, 2],
    ['A/rack', 1, 1, 1],
  ]);
  expect(gpuRuns([place('A-1', 0)] as never, { devices: {} })[0]!.first).toBe(1);
});
