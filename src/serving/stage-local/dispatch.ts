import { NONE as SHARED_NONE } from '../../collections/index.js';
import type { Stream, Streams } from '../../random/index.js';
import type { DispatchRule } from './policy.js';

const NONE = SHARED_NONE;

/** Dispatch chooses the device that a task is given (DispatchRule). */
export interface Dispatch {
  /**
   * choose takes one of the members of a pool that are up, which are in the order of their devices.
   * @param last the member that was chosen last in this pool, NONE at first
   * @returns NONE where there is none
   */
  choose(at: number, up: readonly number[], last: number): number;
}

/** DispatchState is what rules choose by. */
export interface DispatchState {
  /** workNs is the time until a member would have done all that its device holds. */
  readonly workNs: (at: number, member: number) => number;
  /** The device of each member. */
  readonly deviceOf: Int32Array;
  readonly streams: Streams;
}

/** DISPATCHES makes the Dispatch of each rule. */
export const DISPATCHES: { readonly [K in DispatchRule['kind']]: (state: DispatchState) => Dispatch } = {
  turns: ({ deviceOf }) => ({ choose: (_at, up, last) => nextOf(up, last, deviceOf) }),
  'least-work': ({ workNs }) => ({ choose: (at, up) => leastOf(up, (member) => workNs(at, member)) }),
  'two-choices': ({ workNs, streams }) => twoChoices(workNs, streams('dispatch')),
};

/** nextOf is the member whose device comes after that of the last one, and the first after the last device. */
function nextOf(up: readonly number[], last: number, deviceOf: Int32Array): number {
  const before = last === NONE ? NONE : (deviceOf[last] as number);
  return up.find((member) => (deviceOf[member] as number) > before) ?? up[0] ?? NONE;
}

function leastOf(up: readonly number[], workNs: (member: number) => number): number {
  let least = NONE;
  let leastNs = Number.POSITIVE_INFINITY;
  for (const member of up) {
    const ns = workNs(member);
    if (ns >= leastNs) continue;
    least = member;
    leastNs = ns;
  }
  return least;
}

/** twoChoices draws two members, which may be the same one, and takes the first unless the second has less work. */
function twoChoices(workNs: DispatchState['workNs'], stream: Stream): Dispatch {
  return {
    choose: (at, up) => {
      if (up.length === 0) return NONE;
      const first = up[stream.integer(up.length)] as number;
      const second = up[stream.integer(up.length)] as number;
      return workNs(at, second) < workNs(at, first) ? second : first;
    },
  };
}
