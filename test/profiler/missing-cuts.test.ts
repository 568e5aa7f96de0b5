import { expect, test } from 'vitest';
import type { CutFault, TensorFault } from '../../src/onnx/index.js';
import { missingCuts } from '../../src/profiler/index.js';

const noPlace = (why: string): CutFault => ({ kind: 'no-place', why });
const tensors = (...faults: TensorFault[]): CutFault => ({ kind: 'tensors', tensors: faults });
const said = (...cutFaults: (CutFault | undefined)[]) => missingCuts({ cutFaults });

const SAME = noPlace('the cut is the same as an earlier one');
const MIXED: TensorFault = {
  name: 'size',
  way: 'made by A and last used by B',
  code: 'batch',
  why: 'cannot be sent: no single axis grows with the batch (x, y)',
};
const TEXT: TensorFault = {
  name: 'label',
  way: 'made by C and an output',
  code: 'type',
  why: 'is string, which cannot be sent; float32, bool can',
};
const open = (name: string): TensorFault => ({
  name,
  way: 'made by D and last used by E',
  code: 'size',
  why: 'cannot be sent: its size depends on the data (x and y)',
});

test('missingCuts() says nothing where each place is a cut or the same as one', () => {
  expect(said(undefined, SAME, noPlace('nothing is left to compute after it'), undefined)).toBeUndefined();
});

test('missingCuts() reports each tensor once, the one that takes the most places first, and what would help', () => {
  const both = tensors(MIXED, TEXT);
  expect(said(undefined, SAME, tensors(TEXT), both, tensors(MIXED), tensors(MIXED), undefined)).toBe(
    'the model cannot be cut at 4 of 5 places: ' +
      '"size", made by A and last used by B, cannot be sent: no single axis grows with the batch (x, y) (3 places); ' +
      '"label", made by C and an output, is string, which cannot be sent; float32, bool can (2 places). ' +
      'Without batches these cuts are valid: give the dimension of the batch the size 1. ' +
      'Where a type cannot be sent, the places before such a tensor is made and after its last use are left.',
  );
});

test('missingCuts() reports three tensors, and counts the others', () => {
  const faults = ['p', 'q', 'r', 's'].map((name) => tensors(open(name)));
  const told = said(...faults, faults[3], undefined);
  const why = 'made by D and last used by E, cannot be sent: its size depends on the data (x and y)';
  expect(
    told?.startsWith(
      `the model cannot be cut at 5 of 5 places: "s", ${why} (2 places); "p", ${why} (1 place); `,
    ),
  ).toBe(true);
  expect(told).toContain('; 1 other tensor (layers[].noCut). Where a size depends on the data, ');
});

test('missingCuts() goes by what a fault is, not by words that a name has in common with it', () => {
  const named: TensorFault = { ...MIXED, name: 'this depends on the data' };
  expect(said(tensors(named), undefined)).toMatch(/\. Without batches these cuts are valid: /);
  const typed: TensorFault = { ...TEXT, name: 'it cannot be sent: ever; "so"' };
  expect(said(tensors(typed), undefined)).toMatch(/\(1 place\)\. Where a type cannot be sent, /);
});
