import { largestOf } from '../../collections/index.js';
import { type Fault, fault, type NextCallCount, type PlannedWorkflow } from '../../formats/index.js';
import { addedUp, faultOf } from '../figures.js';
import type { CheckedWorkflows } from './checked-workflows.js';

/** Histories are counted for this many calls back. */
const MOST_AFTER = 2;

/**
 * frequencyFaults finds what cannot be counted of a workflow's requests: unknown components, histories that are too
 * long, inputs from before the first call, more rows than a batch has, a call that is counted twice, and requests that
 * begin and never end.
 */
export function frequencyFaults(
  { frequencies }: Pick<PlannedWorkflow, 'frequencies'>,
  plan: Pick<CheckedWorkflows, 'components'>,
  at: string,
): Fault[] {
  const faults = [
    ...frequencies.flatMap((counted, i) => countFaults(counted, plan, `${at}/${i}`)),
    ...twiceCounted(frequencies, at),
  ];
  return faults.length > 0 ? faults : endFaults(frequencies, at);
}

function countFaults(
  counted: NextCallCount,
  { components }: Pick<CheckedWorkflows, 'components'>,
  at: string,
): Fault[] {
  const { after, component, inputs = [], rows } = counted;
  const names = components.map(({ name }) => name);
  const found = components.find(({ name }) => name === component);
  const most = largestOf(found?.classes.map(({ batch }) => batch) ?? []);
  // After fewer calls than a history has, these are all that were made.
  const furthest = after.length < MOST_AFTER ? after.length : Number.POSITIVE_INFINITY;
  return [
    ...faultOf(
      after.length <= MOST_AFTER,
      `has ${after.length} calls; at most ${MOST_AFTER} are counted`,
      `${at}/after`,
    ),
    ...after.flatMap((name, i) =>
      faultOf(names.includes(name), `is ${name}, which is no component`, `${at}/after/${i}`),
    ),
    ...(component === undefined
      ? endedFaults(counted, at)
      : faultOf(found !== undefined, `is ${component}, which is no component`, `${at}/component`)),
    ...(component !== undefined && counted.inputs === undefined ? [fault('lacks "inputs"', at)] : []),
    ...(component !== undefined && rows === undefined ? [fault('lacks "rows"', at)] : []),
    ...inputs.flatMap((back, i) =>
      faultOf(
        back <= furthest,
        `is ${back}, and only ${furthest} calls were made before`,
        `${at}/inputs/${i}`,
      ),
    ),
    ...(found === undefined || rows === undefined
      ? []
      : faultOf(rows <= most, `is ${rows}; a batch of ${component} has ${most} at most`, `${at}/rows`)),
  ];
}

/** endedFaults finds what the end of a request cannot have. */
function endedFaults({ inputs, rows, outputBytes }: NextCallCount, at: string): Fault[] {
  return Object.entries({ inputs, rows, outputBytes }).flatMap(([name, value]) =>
    faultOf(
      value === undefined,
      'is given where the request ended, and no component was called',
      `${at}/${name}`,
    ),
  );
}

function twiceCounted(frequencies: readonly NextCallCount[], at: string): Fault[] {
  const seen = new Set<string>();
  return frequencies.flatMap(({ after, component, inputs }, i) => {
    const key = JSON.stringify([after, component, inputs]);
    const isTwice = seen.has(key);
    seen.add(key);
    return faultOf(!isTwice, 'counts what another counts', `${at}/${i}`);
  });
}

/** endFaults finds that not as many requests end as begin. */
function endFaults(frequencies: readonly NextCallCount[], at: string): Fault[] {
  const countOf = (those: readonly NextCallCount[]) => addedUp(those.map(({ count }) => count));
  const begun = countOf(frequencies.filter(({ after }) => after.length === 0));
  const ended = countOf(frequencies.filter(({ component }) => component === undefined));
  return faultOf(begun === ended, `say that ${begun} requests began and ${ended} ended`, at);
}
