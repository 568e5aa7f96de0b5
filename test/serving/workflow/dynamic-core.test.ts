import { describe, expect, it } from 'vitest';
import {
  DYORC_POLICY,
  DynamicCore,
  type FrequencyRow,
  type WorkflowPolicy,
} from '../../../src/serving/index.js';
import { END, Histories } from '../../../src/serving/workflow/histories.js';
import { call, story, type Told } from './story.js';
import type { Shape } from './workflows.js';

const [FIRST, SECOND] = [0, 1] as const;

/** Two devices that hold two components of which one takes 100 and one 10. */
const SHAPE: Shape = {
  components: [
    { bytes: 10, loadNs: 1, latencyNs: [[100]] },
    { bytes: 10, loadNs: 1, latencyNs: [[10]] },
  ],
  devices: [0, 1].map(() => ({ class: 0, server: 0, bytes: 1000 })),
  applications: 1,
  hostBytes: 1000,
  linkBytesPerNs: 1,
  networkBytesPerNs: 1,
  sloNs: 1e9,
  holds: [
    [FIRST, SECOND],
    [FIRST, SECOND],
  ],
};

/** What was seen of programs that call both, one after the other. */
function bothInTurn(): readonly FrequencyRow[] {
  const histories = new Histories(1);
  for (let i = 0; i < 20; i++) {
    histories.saw(0, [], { component: FIRST, back: [0], rows: 1 });
    histories.saw(0, [FIRST], { component: SECOND, back: [1], rows: 1 });
    histories.saw(0, [FIRST, SECOND], { component: END, back: [], rows: 1 });
  }
  return histories.table();
}

function told(
  requests: Told['requests'],
  { shape = SHAPE, policy = {} }: { readonly shape?: Shape; readonly policy?: Partial<WorkflowPolicy> } = {},
) {
  return story({
    shape,
    requests,
    coreOf: (topology, { decisions, table, streams }) =>
      new DynamicCore(topology, decisions, {
        table,
        streams,
        frequencies: bothInTurn(),
        policy: { ...DYORC_POLICY, ...policy },
      }),
  });
}

describe('DynamicCore', () => {
  it('gives a call that was expected its device when it comes, by what devices do then', () => {
    const inTurn = { requestBytes: 0, calls: [call(FIRST), call(SECOND, { inputs: [0], after: [0] })] };
    const one = { requestBytes: 0, calls: [call(FIRST)] };
    // The first request gets a device at 1, and its second call is expected there. Two others come: one for the other device until
    // 110, and one behind the first request, which is before the second call when that comes at 101.
    const happened = told(
      [
        { atNs: 1, run: inTurn },
        { atNs: 2, run: one },
        { atNs: 3, run: one },
      ],
      { policy: { moving: { kind: 'never' } } },
    );
    const ends = happened.filter(({ event, on }) => event === 'end' && on === 0);
    expect(ends.map(({ atNs }) => atNs)).toEqual([102 + 10]);
  });

  it('executes batches in the order in which they were planned, though the inputs of a later one came first', () => {
    const shape: Shape = { ...SHAPE, devices: SHAPE.devices.slice(0, 1), holds: [[FIRST, SECOND]] };
    // While the device executes until 101, what the second request sent comes at 52, and what the third sent at 13.
    const happened = told(
      [
        { atNs: 1, run: { requestBytes: 0, calls: [call(FIRST)] } },
        { atNs: 2, run: { requestBytes: 50, calls: [call(FIRST)] } },
        { atNs: 3, run: { requestBytes: 10, calls: [call(SECOND)] } },
      ],
      { shape },
    );
    const begun = happened.filter(({ event }) => event === 'execute');
    expect(begun.map(({ atNs, what }) => [atNs, what])).toEqual([
      [1, FIRST],
      [101, FIRST],
      [201, SECOND],
    ]);
  });
});
