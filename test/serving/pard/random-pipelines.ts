import type { Stream } from '../../../src/random/index.js';
import { durationNs, type Edge, type Pipeline, pathsAfter, type Stage, sum } from './pipeline.js';

const MS = 1e6;

/**
 * randomChain draws a chain of one to five stages and its arrivals: Poisson or in bursts, with lulls of seconds in some, at
 * 0.3 to 3 times what the slowest stage can do. In some chains all times are whole milliseconds, so that much comes at
 * one instant.
 * @param count how many requests there are
 * @param grainsNs one of these is drawn, and all times are multiples of it
 */
export function randomChain(stream: Stream, count: number, grainsNs = [1, 1, MS]): Pipeline {
  const grainNs = oneOf(stream, ...grainsNs);
  const stages = Array.from({ length: 1 + stream.integer(5) }, () => randomStage(stream, grainNs));
  return loaded(stream, { stages }, { grainNs, count });
}

/**
 * randomDag draws a DAG of two to six stages: it has forks, joins, conditional edges of which a row goes along any or exactly
 * one, early ends, and one or more entries. Every second load is of requests of one to three rows.
 */
export function randomDag(stream: Stream, count: number): Pipeline {
  const grainNs = oneOf(stream, 1, 1, MS);
  const stages = Array.from({ length: 2 + stream.integer(5) }, () => randomStage(stream, grainNs));
  const isConditional = stream.uniform() < 0.7;
  const edges = stages.map((_, k) =>
    stages.flatMap((_stage, to): Edge[] => {
      if (to <= k || stream.uniform() > (to === k + 1 ? 0.7 : 0.3)) return [];
      return [{ to, isConditional: isConditional && stream.uniform() < 0.5 }];
    }),
  );
  const isExclusive = stages.map(() => stream.uniform() < 0.5);
  const most = oneOf(stream, 1, 3);
  const rows = Array.from({ length: count }, () => 1 + stream.integer(most));
  const drawn = rows.map((of) => Array.from({ length: of }, () => stages.map(() => stream.integer(2 ** 30))));
  const verdict = (request: number, row: number, stage: number) => {
    const uniform = drawn[request]![row]![stage]!;
    const asked = edges[stage]!.filter((edge) => edge.isConditional).length;
    return isExclusive[stage] ? 1 << (uniform % Math.max(1, asked)) : uniform;
  };
  return { ...loaded(stream, { stages, edges, rows }, { grainNs, count }), verdict };
}

/** withApplications gives the requests of a pipeline to two or three applications, whose SLOs are 0.6 to 4 times its own. */
export function withApplications(stream: Stream, pipeline: Pipeline): Pipeline {
  const slosNs = Array.from({ length: 2 + stream.integer(2) }, () =>
    Math.round(pipeline.sloNs * oneOf(stream, 0.6, 1, 1.3, 2, 4)),
  );
  const of = pipeline.arrivalsNs.map(() => stream.integer(slosNs.length));
  return { ...pipeline, applications: { slosNs, of } };
}

function loaded(
  stream: Stream,
  parts: Pick<Pipeline, 'stages' | 'edges' | 'rows'>,
  { grainNs, count }: { grainNs: number; count: number },
): Pipeline {
  const { stages, rows } = parts;
  const paths = pathsAfter({ ...parts, sloNs: 0, arrivalsNs: [] });
  const pathNs = Math.max(
    ...paths.flatMap((after, k) =>
      after.map((path) => sum([k, ...path].map((stage) => durationNs(stages[stage]!)))),
    ),
  );
  const sloNs = rounded(pathNs * oneOf(stream, 0.7, 1.2, 1.5, 2, 2, 3, 3, 5), grainNs);
  const rowNs = Math.max(...stages.map((stage) => durationNs(stage) / (stage.batch * stage.devices)));
  const gapNs = (rowNs * sum(rows ?? [1])) / (rows ?? [1]).length;
  return { ...parts, sloNs, arrivalsNs: randomArrivals(stream, { gapNs, grainNs, count }) };
}

function randomStage(stream: Stream, grainNs: number): Stage {
  const batch = 1 + stream.integer(8);
  const [fixedMs, perRowMs] = [1 + 30 * stream.uniform(), 8 * stream.uniform()];
  const isEven = stream.uniform() < 0.8;
  const latencyNs = Array.from({ length: batch }, (_, i) => {
    const factor = isEven ? 1 : 0.5 + stream.uniform();
    return Math.max(grainNs, rounded(MS * factor * (fixedMs + perRowMs * (i + 1)), grainNs));
  });
  return { devices: 1 + stream.integer(3), batch, latencyNs };
}

/**
 * withUnlike makes the devices of every stage of a pipeline unlike: each takes half to three times as long as they did, or
 * each is of one of two classes.
 */
export function withUnlike(stream: Stream, { stages, ...pipeline }: Pipeline): Pipeline {
  const classes = [0.5 + 2.5 * stream.uniform(), 0.5 + 2.5 * stream.uniform()];
  const areOfTwo = stream.uniform() < 0.5;
  const unlike = stages.map((stage): Stage => {
    const unlikeNs = Array.from({ length: stage.devices }, () => {
      const factor = areOfTwo ? oneOf(stream, ...classes) : 0.5 + 2.5 * stream.uniform();
      return stage.latencyNs.map((ns) => Math.max(1, Math.round(factor * ns)));
    });
    return { ...stage, unlikeNs };
  });
  return { ...pipeline, stages: unlike };
}

function randomArrivals(
  stream: Stream,
  { gapNs, grainNs, count }: { gapNs: number; grainNs: number; count: number },
): number[] {
  const load = oneOf(stream, 0.3, 0.7, 0.9, 1.1, 1.5, 3);
  const burst = oneOf(stream, 1, 1, 4, 30);
  const hasLulls = stream.uniform() < 0.3;
  const all: number[] = [];
  let atNs = oneOf(stream, 0, 0, 1e9 * stream.uniform(), 3.2e9 * stream.uniform());
  while (all.length < count) {
    const together = 1 + stream.integer(burst);
    for (let i = 0; i < together; i++) all.push(rounded(atNs, grainNs));
    atNs += (gapNs / load) * together * stream.exponential();
    if (hasLulls && stream.uniform() < 0.03) atNs += 4e9 * stream.uniform();
  }
  return all.slice(0, count);
}

function rounded(ns: number, grainNs: number): number {
  return grainNs * Math.round(ns / grainNs);
}

function oneOf<T>(stream: Stream, ...choices: readonly T[]): T {
  return choices[stream.integer(choices.length)]!;
}
