import { type Fault, fault, listed, type PipelinePlan, type PlannedEdge } from '../../formats/index.js';

/** DrawnGraph is the graph of a plan: its stages with the edges that lead on, and which of these are exclusive. */
type DrawnGraph = Pick<PipelinePlan, 'exclusive'> & {
  readonly stages: readonly { readonly name: string; readonly next: readonly PlannedEdge[] }[];
};

/** Where a request comes from, which no stage may be called. */
const REQUEST = 'request';
const MOST_STAGES = 64;
/** The edges of a stage that a verdict of 32 bits with a sign distinguishes. */
const MOST_CONDITIONAL = 31;
/** Probabilities may be written with six digits. */
const ROUNDING = 1e-6;

/** mostStagesFaults refuses more stages than a plan may have. */
export function mostStagesFaults({ stages }: DrawnGraph): Fault[] {
  return stages.length <= MOST_STAGES
    ? []
    : [fault(`has ${stages.length} stages; give at most ${MOST_STAGES}`, '/stages')];
}

/**
 * graphFaults finds what is wrong with the graph of a plan: stages without a name of their own, edges that lead nowhere, twice
 * to one stage or back, probabilities that are none, and exclusive lists of which not exactly one edge is taken. As stages must
 * stand in the order of their edges, it needs no search of the graph, but to say which stages form a cycle.
 */
export function graphFaults(graph: DrawnGraph): Fault[] {
  const { stages, exclusive = [] } = graph;
  const names = stages.map(({ name }) => name);
  const edges = stages.map(({ next }) => ledTo(next, names));
  const inLists = new Set<string>();
  const isEntered = names.some((_, i) => !edges.flat().some(({ to }) => to === i));
  const back = edges.flatMap((own, i) => own.filter(({ to }) => to <= i).map((edge) => ({ ...edge, i })));
  const cycles = back.map(({ to, i }) => wayFrom(to, i, edges));
  return [
    ...nameFaults(names),
    ...stages.flatMap(({ next }, i) => edgeFaults(next, names, `/stages/${i}/next`)),
    ...exclusive.flatMap((list, g) => listFaults(list, { names, edges, inLists, at: `/exclusive/${g}` })),
    ...cycles.flatMap((way) =>
      way === undefined
        ? []
        : [fault(`form a cycle: ${[...way, way[0] as number].map((i) => names[i]).join(' -> ')}`, '/stages')],
    ),
    ...(isEntered ? [] : [fault('has no entry: every stage follows another', '/stages')]),
    ...back.flatMap(({ to, at, i }, k) =>
      cycles[k] === undefined
        ? [
            fault(
              `leads back to ${names[to]}; put each stage after those that lead to it`,
              `/stages/${i}/next/${at}`,
            ),
          ]
        : [],
    ),
  ];
}

/** LedTo is an edge that leads to a stage to which no edge of its own stage leads before. */
interface LedTo {
  readonly to: number;
  /** Its index in the stage's `next`. */
  readonly at: number;
  readonly probability: number;
}

function ledTo(next: readonly PlannedEdge[], names: readonly string[]): LedTo[] {
  return next.flatMap(({ to, probability = 1 }, at) => {
    const isFirst = names.includes(to) && next.findIndex((edge) => edge.to === to) === at;
    return isFirst
      ? [{ to: names.indexOf(to), at, probability: isShare(probability) ? probability : 1 }]
      : [];
  });
}

function isShare(probability: number): boolean {
  return probability > 0 && probability <= 1;
}

function nameFaults(names: readonly string[]): Fault[] {
  return names.flatMap((name, i) => {
    const at = `/stages/${i}/name`;
    if (name === REQUEST) return [fault(`is ${name}, which stands for the request; name it otherwise`, at)];
    return names.indexOf(name) === i ? [] : [fault(`${name} is the name of another stage too`, at)];
  });
}

function edgeFaults(next: readonly PlannedEdge[], names: readonly string[], at: string): Fault[] {
  const conditional = next.filter(({ probability }) => probability !== undefined).length;
  return [
    ...(conditional > MOST_CONDITIONAL
      ? [fault(`has ${conditional} edges with a probability; give at most ${MOST_CONDITIONAL}`, at)]
      : []),
    ...next.flatMap(({ to, probability = 1 }, k) => [
      ...(isShare(probability)
        ? []
        : [fault(`is ${probability}; give more than 0 and at most 1`, `${at}/${k}/probability`)]),
      ...(names.includes(to) ? [] : [fault(`leads to ${to}, and there is no such stage`, `${at}/${k}`)]),
      ...(names.includes(to) && next.findIndex((edge) => edge.to === to) < k
        ? [fault(`leads to ${to}, as an edge before it does`, `${at}/${k}`)]
        : []),
    ]),
  ];
}

interface Listing {
  readonly names: readonly string[];
  readonly edges: readonly (readonly LedTo[])[];
  /** The edges that lists before have, by the indices of their stages. */
  readonly inLists: Set<string>;
  readonly at: string;
}

/** listFaults finds what is wrong with an exclusive list, and adds its edges to those that lists have. */
function listFaults(list: readonly string[], { names, edges, inLists, at }: Listing): Fault[] {
  const unknown = [...new Set(list)].filter((name) => !names.includes(name));
  if (unknown.length > 0)
    return unknown.map((name) => fault(`names ${name}, and there is no such stage`, at));
  const targets = new Set(list.map((name) => names.indexOf(name)));
  if (targets.size < 2 || targets.size < list.length)
    return [fault('does not name two different stages or more, each once', at)];
  const led = edges
    .map((own, i) => ({ i, members: own.filter(({ to }) => targets.has(to)) }))
    .filter(({ members }) => members.length >= 2);
  const whole = led.filter(({ members }) => members.length === targets.size);
  return [
    ...led.flatMap(({ i, members }) => {
      if (members.length < targets.size) {
        const few = members.map(({ to }) => names[to]).join(', ');
        return [fault(`is ${listed(list)}; ${names[i]} leads only to ${few}`, at)];
      }
      const twice = members.find(({ to }) => inLists.has(`${i} ${to}`));
      for (const { to } of members) inLists.add(`${i} ${to}`);
      const sum = members.reduce((all, { probability }) => all + probability, 0);
      return [
        ...(twice === undefined
          ? []
          : [fault(`names ${names[twice.to]}, which another list has as well`, at)]),
        ...(Math.abs(sum - 1) <= ROUNDING * (1 + ROUNDING)
          ? []
          : [
              fault(
                `exactly one of them is taken after ${names[i]}, and their probabilities sum to ${Number(sum.toFixed(9))} instead of 1`,
                at,
              ),
            ]),
      ];
    }),
    ...(whole.length > 0 ? [] : [fault(`is ${listed(list)}; no stage leads to all of them`, at)]),
  ];
}

/** wayFrom finds the stages on a way along edges, from one stage to another; undefined where there is none. */
function wayFrom(from: number, to: number, edges: readonly (readonly LedTo[])[]): number[] | undefined {
  const seen = new Set<number>();
  const search = (at: number): number[] | undefined => {
    if (at === to) return [at];
    seen.add(at);
    for (const edge of edges[at] ?? []) {
      const way = seen.has(edge.to) ? undefined : search(edge.to);
      if (way !== undefined) return [at, ...way];
    }
    return undefined;
  };
  return search(from);
}
