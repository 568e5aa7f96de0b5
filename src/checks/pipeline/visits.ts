import { itemAt, largestOf } from '../../collections/index.js';
import type { PipelinePlan } from '../../formats/index.js';

/** Visits is how probable it is that a request visits a stage. */
export interface Visits {
  readonly least: number;
  readonly most: number;
}

/** With more verdicts than this, only limits are known. */
const MOST_VERDICTS = 12;

/** Choice is one outcome of a verdict: the edges that it takes. */
interface Choice {
  readonly probability: number;
  readonly edges: readonly string[];
}

/**
 * visitsOf gives how probable it is that a request visits each stage, by trying every combination of verdicts. Of graphs with
 * many verdicts, or where the plan says that edges which meet are taken as independent, it gives limits: a stage is visited at
 * least as often as by the most probable edge that leads to it, and at most as often as by all of them.
 */
export function visitsOf({
  stages,
  exclusive = [],
  notes = [],
}: Pick<PipelinePlan, 'stages' | 'exclusive' | 'notes'>): Visits[] {
  const verdicts = stages.flatMap(({ name, next }) => verdictsOf(name, next, exclusive));
  const isExact = verdicts.length <= MOST_VERDICTS && !notes.some((note) => note.includes('as independent'));
  const combinations = verdicts.reduce((count, choices) => count * choices.length, 1);
  if (!isExact || combinations > 2 ** MOST_VERDICTS) return limitsOf(stages);
  const visited = stages.map(() => 0);
  const entries = entriesOf(stages);
  for (let code = 0; code < combinations; code++) {
    let [rest, probability] = [code, 1];
    const taken = new Set<string>();
    for (const choices of verdicts) {
      const choice = itemAt(choices, rest % choices.length);
      rest = Math.floor(rest / choices.length);
      probability *= choice.probability;
      for (const edge of choice.edges) taken.add(edge);
    }
    const reached = new Set(entries);
    stages.forEach(({ name, next }, i) => {
      if (!reached.has(name)) return;
      visited[i]! += probability;
      for (const { to, probability: own } of next)
        if (own === undefined || taken.has(edgeName(name, to))) reached.add(to);
    });
  }
  return visited.map((probability) => ({ least: probability, most: probability }));
}

function edgeName(from: string, to: string): string {
  return JSON.stringify([from, to]);
}

type Next = PipelinePlan['stages'][number]['next'];

/** verdictsOf lists the verdicts on a stage's edges that have a probability: one for each, and one for each exclusive list. */
function verdictsOf(name: string, next: Next, exclusive: readonly (readonly string[])[]): Choice[][] {
  const open = next.filter(({ probability }) => probability !== undefined);
  const lists = exclusive.filter((list) => list.every((to) => next.some((edge) => edge.to === to)));
  const inLists = new Set(lists.flat());
  return [
    ...lists.map((list) =>
      next
        .filter(({ to }) => list.includes(to))
        .map(({ to, probability = 1 }) => ({ probability, edges: [edgeName(name, to)] })),
    ),
    ...open
      .filter(({ to }) => !inLists.has(to))
      .map(({ to, probability = 1 }) => [
        { probability, edges: [edgeName(name, to)] },
        { probability: 1 - probability, edges: [] },
      ]),
  ];
}

function entriesOf(stages: PipelinePlan['stages']): string[] {
  return stages
    .map(({ name }) => name)
    .filter((name) => !stages.some(({ next }) => next.some(({ to }) => to === name)));
}

function limitsOf(stages: PipelinePlan['stages']): Visits[] {
  const entries = new Set(entriesOf(stages));
  return stages.map(({ name }) => {
    if (entries.has(name)) return { least: 1, most: 1 };
    const led = stages.flatMap(({ next, scaleFactor }) =>
      next.filter(({ to }) => to === name).map(({ probability = 1 }) => scaleFactor * probability),
    );
    return {
      least: largestOf(led),
      most: Math.min(
        1,
        led.reduce((sum, one) => sum + one, 0),
      ),
    };
  });
}
