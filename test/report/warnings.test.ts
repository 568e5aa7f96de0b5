import { expect, it } from 'vitest';
import { groupedWarnings } from '../../src/report/index.js';

const SUM = 'the latency is the sum of the blocks';

it('groupedWarnings() reports what is said of several stages or classes as one, and names up to three', () => {
  const of = (stages: readonly string[], device: string) =>
    stages.map((stage) => `${stage} on ${device}: ${SUM}`);
  expect(groupedWarnings(of(['detect', 'face', 'read'], 'L4'))).toEqual([
    `detect, face and read on L4: ${SUM}`,
  ]);
  expect(groupedWarnings(of(['a', 'b', 'c', 'd', 'e'], 'L4'))).toEqual([`a, b and 3 more on L4: ${SUM}`]);
  expect(groupedWarnings([...of(['a', 'b'], 'L4'), 'other', ...of(['a', 'b'], 'T4')])).toEqual([
    `a and b on L4 and T4: ${SUM}`,
    'other',
  ]);
});

it('groupedWarnings() keeps apart what differs, and reports nothing twice', () => {
  const told = ['a cannot use L4: only T4 is profiled', 'a: it draws', 'b: it draws', 'x', 'x'];
  expect(groupedWarnings(told)).toEqual([told[0], 'each of a and b: it draws', 'x']);
  expect(groupedWarnings(['a on L4: slow', 'b on T4: slow', 'b on T4: old'])).toEqual([
    'a on L4: slow',
    'b on T4: slow',
    'b on T4: old',
  ]);
  expect(groupedWarnings([])).toEqual([]);
});

it('groupedWarnings() makes sentences of grouped warnings that stay right for several', () => {
  const emulated = 'its figures of L4 were measured on an emulated device';
  expect(groupedWarnings([`a: ${emulated}`, `b: ${emulated}`])).toEqual([`each of a and b: ${emulated}`]);
  const lacks = ['detector', 'segmenter'].map((name) => `${name} cannot use A100: only L4, P4 are profiled`);
  expect(groupedWarnings(lacks)).toEqual([
    'detector and segmenter cannot use A100: only L4, P4 are profiled',
  ]);
  const apart = [
    'a has rps 60, which is not used: its weight counts',
    'b has rps 30, which is not used: its weight counts',
  ];
  expect(groupedWarnings(apart)).toEqual(apart);
});
