import type { NextCallCount, Run } from '../formats/index.js';
import { nextCallCountsOf } from '../plans/index.js';
import { backTo, END, Histories } from '../serving/index.js';

/** The input that stands for what the client sent, where a history counts how many calls before an input was made. */
const REQUEST = 0;

/**
 * countedCalls counts what followed what in runs of one workflow (DyOrc §5.2). It costs O(tasks × what ever followed
 * one history).
 */
export function countedCalls(runs: Iterable<Run>, components: readonly string[]): NextCallCount[] {
  const numberOf = new Map(components.map((name, c) => [name, c]));
  const histories = new Histories(1);
  for (const { tasks } of runs) {
    const called: number[] = [];
    for (const [place, { component: name, inputs, rows, outputBytes }] of tasks.entries()) {
      const component = numberOf.get(name) as number;
      const back = inputs.map((input) => (input === 'request' ? REQUEST : backTo(input, place)));
      histories.saw(0, called, { component, back, rows });
      histories.sized(0, called, { component, back, bytes: outputBytes });
      called.push(component);
    }
    histories.saw(0, called, { component: END, back: [], rows: 1 });
  }
  return nextCallCountsOf(histories.table(), 0, components);
}
