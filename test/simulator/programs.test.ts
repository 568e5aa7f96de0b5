import { describe, expect, it } from 'vitest';
import { type RecordedCall, ReplayedProgram } from '../../src/simulator/programs.js';

const call = (more: Partial<RecordedCall>): RecordedCall => ({
  component: 0,
  rows: 1,
  inputs: [-1],
  after: [],
  thinkNs: 0,
  outputBytes: 1,
  ...more,
});

/** A call is passed on, one is read before a call, and nothing takes the last two. */
const CALLS = [call({}), call({ inputs: [0] }), call({ after: [1] }), call({ after: [1] })];

/** answered makes all calls of a run, and gives those whose outputs are read for the answer, and those that are read at all. */
function answered(reads?: readonly number[]) {
  const program = new ReplayedProgram(0, { requestBytes: 0, calls: CALLS, ...(reads && { reads }) });
  for (const place of CALLS.keys()) program.called(place, place);
  const places = [...CALLS.keys()];
  const forAnswer = places.filter((place) => program.isResult(place));
  const all = places.filter((place) => program.reads(place));
  for (const place of all) {
    expect(program.hasEnded).toBe(false);
    program.read(place);
  }
  expect(program.hasEnded).toBe(true);
  return { forAnswer, all };
}

describe('what a replayed program reads', () => {
  it('is what its calls come after, and for its answer what nothing takes', () => {
    expect(answered()).toEqual({ forAnswer: [2, 3], all: [1, 2, 3] });
  });

  it('is for its answer what the run says, taken or not', () => {
    expect(answered([0, 1, 3])).toEqual({ forAnswer: [0, 3], all: [0, 1, 3] });
    expect(answered([])).toEqual({ forAnswer: [], all: [1] });
  });
});
