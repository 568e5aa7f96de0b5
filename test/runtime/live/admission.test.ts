import { describe, expect, it } from 'vitest';
import { Admission } from '../../../src/runtime/live/admission.js';

const SLO_NS = 1000;
/** A body that has been read for longer than this quarter of the SLO is not ahead of a new one. */
const SOON_NS = 250;

/** Asked is what an admission asked of the driver. */
interface Asked {
  readonly at: number;
  readonly model: number;
  readonly deadlineNs: number;
  readonly ahead: number;
}

/** admissionAt gives an admission with a clock that the test sets, and what it last asked of its driver. */
function admissionAt(models = 1) {
  const clock = { nowNs: 0 };
  const asked: Asked[] = [];
  let answer = false;
  const admission = new Admission(
    Array.from({ length: models }, () => ({ sloNs: SLO_NS })),
    {
      now: () => clock.nowNs,
      wouldDrop: ({ at, model, deadlineNs }, ahead = 0) => {
        asked.push({ at, model, deadlineNs, ahead });
        return answer;
      },
    },
  );
  const askedOf = (model = 0): Asked => {
    admission.wouldDrop(model);
    return asked.at(-1) as Asked;
  };
  /** readFor reads a body of a model for this time, to its end or not. */
  const readFor = (ns: number, isIn = true, model = 0): void => {
    const end = admission.reading(model);
    clock.nowNs += ns;
    end(isIn);
  };
  return { admission, clock, askedOf, readFor, answers: (dropped: boolean) => (answer = dropped) };
}

describe('Admission', () => {
  it('asks for the deadline of a request whose body is in at once, before any body was read', () => {
    const { clock, askedOf } = admissionAt();
    clock.nowNs = 70;
    expect(askedOf()).toEqual({ at: 70, model: 0, deadlineNs: 70 + SLO_NS, ahead: 0 });
  });

  it('says what its driver says', () => {
    const { admission, answers } = admissionAt();
    expect(admission.wouldDrop(0)).toBe(false);
    answers(true);
    expect(admission.wouldDrop(0)).toBe(true);
  });

  it('adds the average time of reading a body to the deadline, in which the last body weighs a tenth', () => {
    const { clock, askedOf, readFor } = admissionAt();
    const lengths = [200, 50, 120, 0, 240];
    lengths.forEach((ns, i) => {
      readFor(ns);
      // Each body weighs a tenth of what the bodies after it leave.
      const averageNs = lengths
        .slice(0, i + 1)
        .reduce((sum, length, k) => sum + 0.1 * 0.9 ** (i - k) * length, 0);
      expect(askedOf().deadlineNs).toBeCloseTo(clock.nowNs + averageNs + SLO_NS, 9);
    });
  });

  it('expects no body to take longer than a quarter of the SLO, however slow clients were', () => {
    const { clock, askedOf, readFor } = admissionAt();
    readFor(1e6);
    expect(askedOf().deadlineNs).toBe(clock.nowNs + SOON_NS + SLO_NS);
  });

  it('learns nothing of a body that did not come', () => {
    const { clock, askedOf, readFor } = admissionAt();
    readFor(200, false);
    expect(askedOf()).toEqual({ at: 200, model: 0, deadlineNs: clock.nowNs + SLO_NS, ahead: 0 });
  });

  it('counts bodies as ahead while they are read, for a quarter of the SLO at most', () => {
    const { admission, clock, askedOf } = admissionAt();
    const end = admission.reading(0);
    clock.nowNs = 100;
    admission.reading(0);
    expect(askedOf().ahead).toBe(2);
    clock.nowNs = SOON_NS;
    expect(askedOf().ahead).toBe(2);
    clock.nowNs = SOON_NS + 1;
    expect(askedOf().ahead).toBe(1);
    // The slow body arrives after all: it is no longer counted, and is not taken away twice.
    end(true);
    expect(askedOf().ahead).toBe(1);
    clock.nowNs = 100 + SOON_NS + 1;
    expect(askedOf().ahead).toBe(0);
  });

  it('counts a body no longer once it is in, or will not come', () => {
    const { admission, askedOf } = admissionAt();
    const ends = [admission.reading(0), admission.reading(0), admission.reading(0)];
    expect(askedOf().ahead).toBe(3);
    ends[1]?.(true);
    expect(askedOf().ahead).toBe(2);
    ends[0]?.(false);
    expect(askedOf().ahead).toBe(1);
  });

  it('keeps models apart: neither the bodies nor the times of one count for another', () => {
    const { admission, clock, askedOf, readFor } = admissionAt(2);
    readFor(100);
    admission.reading(0);
    expect(askedOf(1)).toEqual({ at: 100, model: 1, deadlineNs: clock.nowNs + SLO_NS, ahead: 0 });
    expect(askedOf(0)).toEqual({ at: 100, model: 0, deadlineNs: clock.nowNs + 10 + SLO_NS, ahead: 1 });
  });
});
