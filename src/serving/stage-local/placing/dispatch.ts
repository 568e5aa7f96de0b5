import { NONE as SHARED_NONE } from '../../../collections/index.js';
import type { Stream, Streams } from '../../../random/index.js';
import type { DispatchRule } from '../policy.js';

const NONE = SHARED_NONE;

/** Dispatch chooses the device that a task is given (DispatchRule). */
export interface Dispatch {
  /**
   * choose takes one of the members of a pool that are up, which are in the order of their devices.
   * @param last the member that was chosen last in this pool, NONE at first
   * @returns NONE where there is none
   */
  choose(at: number, up: readonly number[], last: number): number;
  /**
   * joined reports that a member has come up beside others. It is absent where the rule keeps nothing of members.
   * @param others the members of its pool that were up before
   */
  joined?(member: number, others: readonly number[]): void;
}

/** DispatchState is what rules choose by. */
export interface DispatchState {
  /** workNs is the time until a member would have done all that its device holds. */
  readonly workNs: (at: number, member: number) => number;
  /** ongoing counts the tasks that a member holds: those that wait for it, and those of its pool that its device executes. */
  readonly ongoing: (member: number) => number;
  /** The device of each member. */
  readonly deviceOf: Int32Array;
  /** turnNs is how long a full batch takes a member; 0 where the devices of its pool are of one class. */
  readonly turnNs: (member: number) => number;
  readonly streams: Streams;
}

/** DISPATCHES makes the Dispatch of each rule. */
export const DISPATCHES: { readonly [K in DispatchRule['kind']]: (state: DispatchState) => Dispatch } = {
  turns: (state) => new Turns(state),
  'least-work': ({ workNs }) => ({ choose: (at, up) => leastOf(up, (member) => workNs(at, member)) }),
  'two-choices': ({ workNs, streams }) => twoChoices(workNs, streams('dispatch')),
  'two-ongoing': ({ ongoing, streams }) => twoOngoing(ongoing, streams('dispatch')),
};

/** nextOf is the member whose device comes after that of the last one, and the first after the last device. */
function nextOf(up: readonly number[], last: number, deviceOf: Int32Array): number {
  const before = last === NONE ? NONE : (deviceOf[last] as number);
  return up.find((member) => (deviceOf[member] as number) > before) ?? up[0] ?? NONE;
}

/** Beyond this many nanoseconds, the turns of a pool are counted from their least. */
const MOST_TURNED_NS = 2 ** 52;

/**
 * Turns gives devices their turns in the order of their numbers. Where their batches take differently long, each has its turns
 * as much later after one another as its batches take longer, and the one is next whose turn would end first: a device
 * that is twice as fast has twice as many. A choice takes time in the number of devices.
 */
class Turns implements Dispatch {
  /** By member, when its last turn ended, if every turn takes as long as a full batch. */
  private readonly turned: Float64Array;

  constructor(private readonly state: Pick<DispatchState, 'deviceOf' | 'turnNs'>) {
    this.turned = new Float64Array(state.deviceOf.length);
  }

  choose(_at: number, up: readonly number[], last: number): number {
    const { deviceOf, turnNs } = this.state;
    const next = nextOf(up, last, deviceOf);
    if (next === NONE || this.areAlike(up)) return next;
    const from = up.indexOf(next);
    let best = next;
    let bestNs = Number.POSITIVE_INFINITY;
    for (let k = 0; k < up.length; k++) {
      const member = up[(from + k) % up.length] as number;
      const endNs = (this.turned[member] as number) + turnNs(member);
      if (endNs >= bestNs) continue;
      best = member;
      bestNs = endNs;
    }
    this.turned[best] = bestNs;
    if (bestNs > MOST_TURNED_NS) this.startAgain(up);
    return best;
  }

  joined(member: number, others: readonly number[]): void {
    if (others.length > 0) this.turned[member] = this.leastTurned(others);
  }

  private areAlike(up: readonly number[]): boolean {
    const ns = this.state.turnNs(up[0] as number);
    if (ns === 0) return true;
    for (let k = 1; k < up.length; k++) if (this.state.turnNs(up[k] as number) !== ns) return false;
    return true;
  }

  private startAgain(up: readonly number[]): void {
    const least = this.leastTurned(up);
    for (const member of up) this.turned[member]! -= least;
  }

  private leastTurned(members: readonly number[]): number {
    return members.reduce(
      (least, member) => Math.min(least, this.turned[member] as number),
      Number.POSITIVE_INFINITY,
    );
  }
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

/**
 * twoOngoing draws two different members and takes the first unless the second holds fewer tasks. Of a single member nothing is
 * drawn.
 */
function twoOngoing(ongoing: DispatchState['ongoing'], stream: Stream): Dispatch {
  return {
    choose: (_at, up) => {
      if (up.length <= 1) return up[0] ?? NONE;
      const place = stream.integer(up.length);
      const other = stream.integer(up.length - 1);
      const first = up[place] as number;
      const second = up[other < place ? other : other + 1] as number;
      return ongoing(second) < ongoing(first) ? second : first;
    },
  };
}
