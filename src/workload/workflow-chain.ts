import { pushAll } from '../collections/index.js';
import {
  type ChainEdge,
  type ChainStep,
  type Fault,
  fault,
  listed,
  type WorkflowChain,
} from '../formats/index.js';
import { linearSolution } from './linear-solution.js';

/** CHAIN_END is what an edge names where it ends a request, and CHAIN_REQUEST what an input names that is what the client sent. */
export const CHAIN_END = 'end';
export const CHAIN_REQUEST = 'request';

/** Chances that are written in decimals sum to 1 no more exactly than this. */
const ROUNDING = 1e-6;

/**
 * A chain whose requests make more calls than this in the mean is taken for a mistake: a request has 4096 at most, and one of
 * such a chain would pass them now and then.
 */
export const MOST_EXPECTED_CALLS = 1024;

/** edgesOf lists where a step leads, or where a chain begins: a name alone has the chance 1, and nothing leads to the end. */
export function edgesOf(leads: string | readonly ChainEdge[] = CHAIN_END): readonly ChainEdge[] {
  return typeof leads === 'string' ? [{ to: leads, chance: 1 }] : leads;
}

/**
 * chainFaults reports every fault of a chain, each with its JSON pointer below `at`: steps and components that are unknown or named
 * twice, chances that do not sum to 1, and requests that have no end, or are far too long.
 * @param components the names of the components that there are
 */
export function chainFaults(
  chain: WorkflowChain,
  { components, at }: { readonly components: readonly string[]; readonly at: string },
): Fault[] {
  const names = chain.steps.map(({ name }) => name);
  const faults = [
    ...nameFaults(names, at),
    ...leadFaults(chain.start, { names, at: `${at}/start`, mayEnd: false }),
    ...chain.steps.flatMap((step, s) => stepFaults(step, { names, components, at: `${at}/steps/${s}` })),
  ];
  // How long requests are is known only where all that leads somewhere is right.
  return faults.length > 0 ? faults : lengthFaults(chain, at);
}

/** chainNotes says which steps of a chain no request comes to. */
export function chainNotes(chain: WorkflowChain, workflow: string): string[] {
  const reached = reachedSteps(chain);
  const unreached = chain.steps.map(({ name }) => name).filter((name) => !reached.has(name));
  if (unreached.length === 0) return [];
  const said = unreached.length === 1 ? 'is a step' : 'are steps';
  return [`${listed(unreached)} ${said} of ${workflow} that no request comes to`];
}

/** expectedCalls is how many calls a request of a chain makes in the mean, which must have no other fault. Costs O(steps³). */
export function expectedCalls(chain: WorkflowChain): number {
  const visits = expectedVisits(chain);
  return chain.steps.reduce((sum, { name, calls }) => sum + (visits.get(name) ?? 0) * calls.length, 0);
}

/**
 * expectedRows says how many rows of each component a request of a chain takes in the mean. It has each component that some request
 * calls, and no other. The chain must have no faults. Costs O(steps³).
 */
export function expectedRows(chain: WorkflowChain): ReadonlyMap<string, number> {
  const visits = expectedVisits(chain);
  const sums = new Map<string, number>();
  for (const { name, calls } of chain.steps) {
    const times = visits.get(name);
    if (times === undefined) continue;
    for (const { component, rows = 1 } of calls)
      sums.set(component, (sums.get(component) ?? 0) + times * rows);
  }
  return sums;
}

/**
 * expectedVisits says how often a request comes to each step in the mean: v = s + Pᵀ v, where s are the chances to begin with a
 * step, and P those to go from one to another (an absorbing Markov chain).
 */
function expectedVisits(chain: WorkflowChain): ReadonlyMap<string, number> {
  const reached = [...reachedSteps(chain)];
  const numberOf = new Map(reached.map((name, s) => [name, s]));
  const rows = reached.map((_, s) => Float64Array.from(reached, (__, t) => (s === t ? 1 : 0)));
  const begun = new Float64Array(reached.length);
  for (const { to, chance } of edgesOf(chain.start)) begun[numberOf.get(to) as number]! += chance;
  for (const { name, next } of chain.steps) {
    const from = numberOf.get(name);
    if (from === undefined) continue;
    for (const { to, chance } of edgesOf(next)) {
      const step = numberOf.get(to);
      if (step !== undefined) (rows[step] as Float64Array)[from]! -= chance;
    }
  }
  const visits = linearSolution(rows, begun);
  return new Map(reached.map((name, s) => [name, visits[s] as number]));
}

/** reachedSteps lists the steps that some request comes to. */
function reachedSteps({ start, steps }: WorkflowChain): ReadonlySet<string> {
  const next = new Map(steps.map((step) => [step.name, edgesOf(step.next)]));
  const reached = new Set<string>();
  const left = edgesOf(start).map(({ to }) => to);
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (name === CHAIN_END || reached.has(name)) continue;
    reached.add(name);
    pushAll(
      left,
      (next.get(name) ?? []).map(({ to }) => to),
    );
  }
  return reached;
}

/** endingSteps lists the steps from which a request can come to its end. */
function endingSteps({ steps }: WorkflowChain): ReadonlySet<string> {
  const ending = new Set<string>([CHAIN_END]);
  for (let before = 0; before < ending.size; ) {
    before = ending.size;
    for (const { name, next } of steps) if (edgesOf(next).some(({ to }) => ending.has(to))) ending.add(name);
  }
  return ending;
}

function nameFaults(names: readonly string[], at: string): Fault[] {
  return names.flatMap((name, s) => {
    const path = `${at}/steps/${s}/name`;
    if (name === CHAIN_END || name === CHAIN_REQUEST)
      return [
        fault(
          `is ${name}, which stands for the ${name === CHAIN_END ? 'end of a request' : 'request itself'}; give another`,
          path,
        ),
      ];
    return names.indexOf(name) === s
      ? []
      : [fault(`is ${name}, as another step is; give each its own`, path)];
  });
}

interface LeadsAt {
  readonly names: readonly string[];
  readonly at: string;
  readonly mayEnd: boolean;
}

function leadFaults(leads: string | readonly ChainEdge[], { names, at, mayEnd }: LeadsAt): Fault[] {
  const edges = edgesOf(leads);
  const isAlone = typeof leads === 'string';
  const sum = edges.reduce((all, { chance }) => all + chance, 0);
  const targets = edges.map(({ to }) => to);
  return [
    ...targets.flatMap((to, e) => {
      const path = isAlone ? at : `${at}/${e}/to`;
      if (to === CHAIN_END && !mayEnd)
        return [fault('is end, and a request calls something first; give a step', path)];
      if (to !== CHAIN_END && !names.includes(to)) return [fault(unknownStep(to, names, mayEnd), path)];
      return targets.indexOf(to) === e ? [] : [fault(`is ${to}, as before; add their chances`, path)];
    }),
    ...(Math.abs(sum - 1) <= ROUNDING
      ? []
      : [fault(`has chances that sum to ${Number(sum.toPrecision(8))}; give chances that sum to 1`, at)]),
  ];
}

function unknownStep(name: string, names: readonly string[], mayEnd: boolean): string {
  return `is ${name}, which is no step; there are ${listed(mayEnd ? [...names, CHAIN_END] : names)}`;
}

interface StepAt {
  readonly names: readonly string[];
  readonly components: readonly string[];
  readonly at: string;
}

function stepFaults({ calls, next }: ChainStep, { names, components, at }: StepAt): Fault[] {
  return [
    ...calls.flatMap(({ component, inputs }, c) => [
      ...(components.includes(component)
        ? []
        : [
            fault(
              `is ${component}, which is no component; there are ${listed(components)}`,
              `${at}/calls/${c}/component`,
            ),
          ]),
      ...inputs.flatMap((input, i) =>
        input === CHAIN_REQUEST || names.includes(input)
          ? []
          : [
              fault(
                `is ${input}, which is no step; there are ${listed([...names, CHAIN_REQUEST])}`,
                `${at}/calls/${c}/inputs/${i}`,
              ),
            ],
      ),
    ]),
    ...(next === undefined ? [] : leadFaults(next, { names, at: `${at}/next`, mayEnd: true })),
  ];
}

function lengthFaults(chain: WorkflowChain, at: string): Fault[] {
  const ending = endingSteps(chain);
  const reached = reachedSteps(chain);
  const endless = chain.steps.flatMap(({ name }, s) =>
    reached.has(name) && !ending.has(name)
      ? [
          fault(
            `${name} never leads to the end, so that its requests have none; lead to end with some chance`,
            `${at}/steps/${s}/next`,
          ),
        ]
      : [],
  );
  if (endless.length > 0) return endless;
  const calls = expectedCalls(chain);
  if (calls <= MOST_EXPECTED_CALLS) return [];
  const said = `makes ${Math.round(calls)} calls in the mean; a chain makes at most ${MOST_EXPECTED_CALLS}: lead to end with larger chances`;
  return [fault(said, at)];
}
