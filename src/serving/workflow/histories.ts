import { NONE } from '../../collections/index.js';
import type { Stream } from '../../random/index.js';

/** END is the component that stands for the end of a request, and BODY the input that stands for what its client sent. */
export const END = NONE;
export const BODY = 0;

/** NextCall is the next thing that a program does: it calls a component, or ends. */
export interface NextCall {
  /** The component that is called, or END. */
  readonly component: number;
  /** How many calls before this one each input was made: 1 is the call just before, and BODY the request itself. */
  readonly back: readonly number[];
}

/** MadeCall is a call that a program made, and SizedCall one whose output was made. */
export interface MadeCall extends NextCall {
  readonly rows: number;
}
export interface SizedCall extends NextCall {
  readonly bytes: number;
}

/**
 * PredictedCall is a call that is expected, with the mean bytes of its outputs and its mean rows so far, and the chance
 * that it had.
 */
export interface PredictedCall extends NextCall {
  readonly bytes: number;
  readonly rows: number;
  readonly chance: number;
}

/** SeenCall is how often a call followed a history, and what its outputs were. */
export interface SeenCall extends NextCall {
  readonly count: number;
  /** The bytes of all outputs that were seen, of `sized` executions. */
  readonly bytes: number;
  readonly sized: number;
  readonly rows: number;
}

/**
 * FrequencyRow says what followed a history: the components that were called last, the latest one last, and −2 before
 * the first.
 */
export interface FrequencyRow {
  readonly application: number;
  readonly history: readonly number[];
  readonly calls: readonly SeenCall[];
}

/** Inputs that were made longer ago count as made this many calls before. */
const MOST_BACK = 32;
/** This many different calls are known to follow a history; those that come later are not counted. */
const MOST_FOLLOWERS = 256;

/**
 * backTo counts how many calls before a call an input of it was made, as histories know it. Places are those of calls
 * in their request.
 */
export function backTo(input: number, place: number): number {
  return Math.min(place - input, MOST_BACK);
}

/** How many calls back histories reach; shorter ones are asked where longer ones have seen nothing. */
const LONGEST = 2;
/** START stands before the first call of a request, so that a history knows that nothing came before. */
export const START = -2;

const AT_END: NextCall = { component: END, back: [] };

/** This many components at most keep the keys of histories apart. */
const MOST_COMPONENTS = 2 ** 24;

interface Counted {
  readonly component: number;
  readonly back: readonly number[];
  count: number;
  bytes: number;
  sized: number;
  rows: number;
}

interface Followers {
  readonly history: readonly number[];
  count: number;
  readonly calls: Counted[];
}

/**
 * Histories is the frequency table of DyOrc (§5.2): for each application and history, how often each call came next. A history
 * is the components of the latest calls; one of two calls is asked first, then one of one call, then none. A call is known by
 * its component and by where its inputs came from.
 *
 * Adding a call and asking for one cost O(calls that ever followed the history).
 */
export class Histories {
  private readonly rows: Map<number, Followers>[];

  constructor(applications: number) {
    this.rows = Array.from({ length: applications }, () => new Map());
  }

  /**
   * saw counts a call after the components that the request called before it.
   * @param called the components that the request has called so far, in their order, without this call; the last two suffice
   */
  saw(application: number, called: readonly number[], call: MadeCall): void {
    for (let length = 0; length <= longestAfter(called); length++) {
      const followers = this.followersAfter(application, latest(called, length));
      const seen = find(followers.calls, call) ?? added(followers.calls, call);
      if (seen === undefined) continue;
      followers.count += 1;
      seen.count += 1;
      seen.rows += call.rows;
    }
  }

  /** sized counts the bytes that a call gave, which are known once it was executed. */
  sized(application: number, called: readonly number[], call: SizedCall): void {
    for (let length = 0; length <= longestAfter(called); length++) {
      const { calls } = this.followersAfter(application, latest(called, length));
      const seen = find(calls, call);
      if (seen === undefined) continue;
      seen.bytes += call.bytes;
      seen.sized += 1;
    }
  }

  /** hasSeenEnd returns whether any request of an application was seen to its end: before that, nobody knows what follows. */
  hasSeenEnd(application: number): boolean {
    return find(this.rows[application]?.get(keyOf([]))?.calls ?? [], AT_END) !== undefined;
  }

  /**
   * next draws the call that follows, with the chance that it had so far.
   * @returns undefined where nothing of the application was seen
   */
  next(application: number, called: readonly number[], stream: Stream): PredictedCall | undefined {
    const followers = this.longestKnown(application, called);
    if (followers === undefined) return undefined;
    let left = stream.uniform() * followers.count;
    for (const seen of followers.calls) {
      left -= seen.count;
      if (left < 0) return predicted(seen, followers);
    }
    return predicted(followers.calls.at(-1) as Counted, followers);
  }

  /** likeliest gives the call that followed most often, the first seen among equals. */
  likeliest(application: number, called: readonly number[]): PredictedCall | undefined {
    const followers = this.longestKnown(application, called);
    if (followers === undefined) return undefined;
    const likeliest = followers.calls.reduce((most, seen) => (seen.count > most.count ? seen : most));
    return predicted(likeliest, followers);
  }

  /** bytesOf is the mean of the bytes that such a call gave so far, 0 where none has. */
  bytesOf(application: number, called: readonly number[], call: NextCall): number {
    for (let length = longestAfter(called); length >= 0; length--) {
      const seen = find(this.rows[application]?.get(keyOf(latest(called, length)))?.calls ?? [], call);
      if (seen !== undefined && seen.sized > 0) return seen.bytes / seen.sized;
    }
    return 0;
  }

  /** table lists all rows, in the order in which their histories were first seen. */
  table(): FrequencyRow[] {
    return this.rows.flatMap((histories, application) =>
      [...histories.values()].map(({ history, calls }) => ({
        application,
        history,
        calls: calls.map((seen) => ({ ...seen })),
      })),
    );
  }

  /** add takes in the rows of a table, beside what was seen. */
  add(table: readonly FrequencyRow[]): void {
    for (const { application, history, calls } of table) {
      const followers = this.followersAfter(application, history);
      for (const call of calls) {
        const seen = find(followers.calls, call) ?? added(followers.calls, call);
        if (seen === undefined) continue;
        seen.count += call.count;
        seen.bytes += call.bytes;
        seen.sized += call.sized;
        seen.rows += call.rows;
        followers.count += call.count;
      }
    }
  }

  private longestKnown(application: number, called: readonly number[]): Followers | undefined {
    const rows = this.rows[application];
    for (let length = longestAfter(called); length >= 0; length--) {
      const followers = rows?.get(keyOf(latest(called, length)));
      if (followers !== undefined && followers.count > 0) return followers;
    }
    return undefined;
  }

  private followersAfter(application: number, history: readonly number[]): Followers {
    const rows = this.rows[application] as Map<number, Followers>;
    const key = keyOf(history);
    const known = rows.get(key);
    if (known !== undefined) return known;
    const followers: Followers = { history, count: 0, calls: [] };
    rows.set(key, followers);
    return followers;
  }
}

function longestAfter(called: readonly number[]): number {
  return Math.min(LONGEST, called.length + 1);
}

/** latest gives the components of the last calls, behind START where there were fewer. */
function latest(called: readonly number[], length: number): number[] {
  const missing = length - called.length;
  return missing > 0 ? [START, ...called] : called.slice(called.length - length);
}

/** keyOf is a number that no other history of as many calls or fewer has. */
function keyOf(history: readonly number[]): number {
  let key = 0;
  for (const component of history) key = key * MOST_COMPONENTS + component - START + 1;
  return key;
}

function find(calls: readonly Counted[], { component, back }: NextCall): Counted | undefined {
  return calls.find((seen) => seen.component === component && areSame(seen.back, back));
}

function areSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}

/** added begins to count a call, unless there are too many. The end is counted in any case. */
function added(calls: Counted[], { component, back }: NextCall): Counted | undefined {
  if (calls.length >= MOST_FOLLOWERS && component !== END) return undefined;
  const seen = { component, back: [...back], count: 0, bytes: 0, sized: 0, rows: 0 };
  calls.push(seen);
  return seen;
}

function predicted({ component, back, count, bytes, sized, rows }: Counted, of: Followers): PredictedCall {
  return {
    component,
    back,
    bytes: sized === 0 ? 0 : bytes / sized,
    rows: Math.max(1, Math.round(rows / count)),
    chance: count / of.count,
  };
}
