import { itemAt } from '../../collections/index.js';
import type { NextCallCount } from '../../formats/index.js';
import { END, type FrequencyRow, type SeenCall, START } from '../../serving/index.js';

/** MOST_AFTER is how many calls a counted history reaches back at most. */
export const MOST_AFTER = 2;

/** CountedWorkflow is a workflow with what followed what in its requests. */
export interface CountedWorkflow {
  readonly frequencies: readonly NextCallCount[];
}

/**
 * frequencyRowsOf gives the counts of a plan's workflows as the rows of a frequency table. A count stands for the
 * longest history, and counts in the rows of all shorter ones too.
 * @param components their names, in the order of the plan
 * @throws RangeError where a count names a component that the plan lacks
 */
export function frequencyRowsOf(
  workflows: readonly CountedWorkflow[],
  components: readonly string[],
): FrequencyRow[] {
  const numbers = new Map(components.map((name, i) => [name, i]));
  const numberOf = (name: string): number => {
    const number = numbers.get(name);
    if (number === undefined) throw new RangeError(`Cannot read what followed what: ${name} is no component`);
    return number;
  };
  return workflows.flatMap(({ frequencies }, application) => {
    const rows = new Map<string, { application: number; history: number[]; calls: SeenCall[] }>();
    for (const counted of frequencies) {
      const after = counted.after.map(numberOf);
      const call = seenCall(counted, numberOf);
      for (const history of historiesOf(after)) {
        const key = history.join();
        const row = rows.get(key) ?? { application, history, calls: [] };
        rows.set(key, row);
        addCall(row.calls, call);
      }
    }
    return [...rows.values()];
  });
}

/**
 * historiesOf gives the histories that calls were made after: from none to the longest, which begins with START where
 * fewer were made.
 */
function historiesOf(after: readonly number[]): number[][] {
  const longest = after.length < MOST_AFTER ? [START, ...after] : [...after];
  return Array.from({ length: longest.length + 1 }, (_, length) => longest.slice(longest.length - length));
}

function seenCall(
  { component, inputs = [], rows = 1, count, outputBytes }: NextCallCount,
  numberOf: (name: string) => number,
): SeenCall {
  return {
    component: component === undefined ? END : numberOf(component),
    back: inputs,
    count,
    rows: rows * count,
    bytes: (outputBytes ?? 0) * count,
    sized: outputBytes === undefined ? 0 : count,
  };
}

function addCall(calls: SeenCall[], call: SeenCall): void {
  const known = calls.findIndex(
    (one) => one.component === call.component && one.back.join() === call.back.join(),
  );
  const before = calls[known];
  if (before === undefined) {
    calls.push(call);
    return;
  }
  calls[known] = {
    ...before,
    count: before.count + call.count,
    rows: before.rows + call.rows,
    bytes: before.bytes + call.bytes,
    sized: before.sized + call.sized,
  };
}

/**
 * nextCallCountsOf gives the rows of a workflow in a frequency table as counts, of the longest histories only: those of
 * shorter ones are their sums. `frequencyRowsOf` gives the rows again.
 */
export function nextCallCountsOf(
  table: readonly FrequencyRow[],
  application: number,
  components: readonly string[],
): NextCallCount[] {
  const nameOf = (component: number) => itemAt(components, component);
  return table
    .filter((row) => row.application === application && isLongest(row.history))
    .flatMap(({ history, calls }) => {
      const after = history.filter((component) => component !== START).map(nameOf);
      return calls.map((call) => countOf(call, after, nameOf));
    });
}

/**
 * isLongest returns whether a history is the longest that calls were made after: only at a request's start are there
 * shorter ones.
 */
function isLongest(history: readonly number[]): boolean {
  return history.length === MOST_AFTER || history[0] === START;
}

function countOf(
  { component, back, count, rows, bytes, sized }: SeenCall,
  after: string[],
  nameOf: (component: number) => string,
): NextCallCount {
  if (component === END) return { after, count };
  return {
    after,
    component: nameOf(component),
    inputs: [...back],
    rows: rows / count,
    count,
    ...(sized === 0 ? {} : { outputBytes: bytes / sized }),
  };
}
