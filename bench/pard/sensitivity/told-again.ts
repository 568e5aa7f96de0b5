import { Decision, type Decisions, type ServingCore } from '../../../src/serving/index.js';
import { type WatchedBy, watchedRun } from '../watched-run.js';
import type { PardWorkload } from '../workloads.js';

const WORDS = ['arrived', 'started', 'executed', 'transferred', 'due', 'deviceUp', 'decide'] as const;
const WIDTH = 5;

/** Heard is all that a core was told in a run: a word and its numbers, one event after the other. */
export interface Heard {
  readonly events: Float64Array;
}

/** heardOf simulates a workload and keeps what the core hears. */
export function heardOf(asked: PardWorkload, by: WatchedBy): Heard {
  const rows: number[] = [];
  watchedRun(asked, by, {
    heard: ([word, ...numbers]) => {
      const kind = (WORDS as readonly string[]).indexOf(word);
      if (word === 'said') return;
      if (kind < 0 || numbers.length >= WIDTH) throw new Error(`a core was told ${word}, which is not kept`);
      rows.push(kind, ...numbers, ...new Array<number>(WIDTH - 1 - numbers.length).fill(0));
    },
  });
  return { events: Float64Array.from(rows) };
}

/**
 * told tells a fresh core all of it again.
 * @returns how many tasks were collected, or dropped, as the core decided
 */
export function told(core: ServingCore, decisions: Decisions, { events }: Heard): number {
  let decided = 0;
  for (let i = 0; i < events.length; i += WIDTH) {
    const a = events[i + 1] as number;
    const b = events[i + 2] as number;
    const c = events[i + 3] as number;
    const d = events[i + 4] as number;
    switch (WORDS[events[i] as number]) {
      case 'arrived':
        core.arrived(a, b, c, d);
        break;
      case 'started':
        core.started(a, b);
        break;
      case 'executed':
        core.executed(a, b, c, d);
        break;
      case 'transferred':
        core.transferred(a, b, c, d);
        break;
      case 'due':
        core.due(a);
        break;
      case 'deviceUp':
        core.deviceUp(a, b);
        break;
      default:
        core.decide(a);
        for (let k = 0; k < decisions.count; k++) {
          const kind = decisions.kind(k);
          if (kind === Decision.collect || kind === Decision.drop) decided += 1;
        }
        decisions.clear();
    }
  }
  return decided;
}
