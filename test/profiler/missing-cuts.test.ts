import { expect, test } from 'vitest';
import type { ProfiledLayer } from '../../src/artifacts/index.js';
import { missingCuts } from '../../src/profiler/index.js';

const layer = (noCut?: string): ProfiledLayer => ({
  name: 'n',
  op: 'Op',
  ...(noCut === undefined ? { cutBytes: 4 } : { noCut }),
});
const SAME =
  'the node before it is constant or its result is not used, so the cut is the same as an earlier one';
const MIXED =
  '"size", made by A and last used by B, cannot be sent: no single axis grows with the batch (x, y)';
const TEXT = '"label", made by C and an output, is string, which cannot be sent; float32, bool can';
const OPEN = '"where", made by D and last used by E, cannot be sent: its size depends on the data (x and y)';

test('missingCuts() says nothing where each place is a cut or the same as one', () => {
  expect(
    missingCuts([layer(), layer(SAME), layer('nothing is left to compute after it'), layer()]),
  ).toBeUndefined();
});

test('missingCuts() tells each tensor once, the one that takes the most places first, and what would help', () => {
  const said = missingCuts([
    layer(),
    layer(SAME),
    layer(TEXT),
    layer(`${MIXED}; ${TEXT}`),
    layer(MIXED),
    layer(MIXED),
    layer(),
  ]);
  expect(said).toBe(
    `the model cannot be cut at 4 of 5 places: ${MIXED} (3 places); ${TEXT} (2 places). ` +
      'Without batches these cuts are valid: give the dimension of the batch the size 1. ' +
      'Where a type cannot be sent, the places before such a tensor is made and after its last use are left.',
  );
});

test('missingCuts() tells three tensors, and counts the others', () => {
  const others = ['p', 'q', 'r', 's'].map((name) => OPEN.replace('where', name));
  const said = missingCuts([...others.map((reason) => layer(reason)), layer(others[3]), layer()]);
  expect(
    said?.startsWith(
      `the model cannot be cut at 5 of 5 places: ${others[3]} (2 places); ${others[0]} (1 place); `,
    ),
  ).toBe(true);
  expect(said).toContain('; 1 other tensor (layers[].noCut). Where a size depends on the data, ');
});
