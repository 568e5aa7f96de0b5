import { largestOf, smallestOf } from '../../../collections/index.js';
import type { EngineGraph, EngineModel, EngineStage } from '../../engine-graph.js';
import { frontKind, reachedFrom } from './names.js';

const US_PER_MS = 1e3;
/** The part of the time to spare in which a request may wait for the Python model that it comes to first. */
const FRONT_PART = 0.1;

/**
 * QueueTimeouts say how long requests may wait in the queue of each model. Along no way do they sum to more than what the
 * SLO leaves beside the executions, so that what is executed last is still in time.
 */
export interface QueueTimeouts {
  readonly stageUs: readonly number[];
  /** Those of the Python models that clients call. */
  readonly frontUs: readonly number[];
}

/** queueTimeouts gives each stage its part of the time to spare: as large as its part of the longest way through it. */
export function queueTimeouts(graph: EngineGraph): QueueTimeouts {
  const { stages, models } = graph;
  const own = stages.map((_, stage) => slowestMs(graph, stage));
  const longest = longestWays(graph, own);
  const stageUs = stages.map((_, stage) => {
    const leading = models.filter((model) => isReached(graph, model, stage));
    const sloMs = smallestOf((leading.length > 0 ? leading : models).map((model) => model.sloMs));
    const isBehindFront = leading.some((model) => frontKind(graph, model) !== 'ensemble');
    const spareMs = (sloMs - (longest[stage] as number)) * (isBehindFront ? 1 - FRONT_PART : 1);
    return atLeastOne((spareMs * (own[stage] as number) * US_PER_MS) / (longest[stage] as number));
  });
  const frontUs = models.map((model) => {
    const ways = stages.flatMap((_, stage) =>
      isReached(graph, model, stage) ? [longest[stage] as number] : [],
    );
    return atLeastOne((model.sloMs - largestOf(ways)) * FRONT_PART * US_PER_MS);
  });
  return { stageUs, frontUs };
}

/** No timeout at all is written as 0, so that the least is 1. */
function atLeastOne(us: number): number {
  return Math.max(1, Math.floor(us));
}

/** isReached tells whether requests of a model can come to a stage. */
export function isReached(graph: EngineGraph, model: EngineModel, stage: number): boolean {
  if (graph.gears !== undefined) return true;
  return model.routes.some(({ entry }) => reachedFrom(entry, graph.stages).includes(stage));
}

/** slowestMs is the planned time of a full batch of a stage on the slowest devices that hold it. */
function slowestMs({ groups }: EngineGraph, stage: number): number {
  const times = groups.flatMap(({ stages }) =>
    stages.flatMap((held) => (held.stage === stage ? [held.latencyMs.at(-1) as number] : [])),
  );
  return largestOf(times);
}

/** longestWays gives, for each stage, the time of full batches along the longest way through it. */
function longestWays({ stages, gears }: EngineGraph, own: readonly number[]): number[] {
  if (gears !== undefined) {
    const ways = gears.gears.map(({ steps }) => steps.map(({ stage }) => stage));
    const timeOf = (way: readonly number[]) => way.reduce((sum, stage) => sum + (own[stage] as number), 0);
    return stages.map((_, stage) =>
      Math.max(own[stage] as number, largestOf(ways.filter((way) => way.includes(stage)).map(timeOf))),
    );
  }
  const before = own.map(() => 0);
  const after = own.map(() => 0);
  stages.forEach(({ next }, i) => {
    for (const { to } of next)
      before[to] = Math.max(before[to] as number, (before[i] as number) + (own[i] as number));
  });
  for (let i = stages.length - 1; i >= 0; i--)
    for (const { to } of (stages[i] as EngineStage).next)
      after[i] = Math.max(after[i] as number, (after[to] as number) + (own[to] as number));
  return own.map((time, i) => (before[i] as number) + time + (after[i] as number));
}

/** waysOf lists the ways that a row can take through the stages, up to a number of them. */
export function waysOf(graph: EngineGraph, model: EngineModel, most = 1000): number[][] {
  if (graph.gears !== undefined) return graph.gears.gears.map(({ steps }) => steps.map(({ stage }) => stage));
  const ways: number[][] = [];
  const walk = (way: readonly number[]): void => {
    if (ways.length >= most) return;
    const { next } = graph.stages[way.at(-1) as number] as EngineStage;
    if (next.length === 0) ways.push([...way]);
    for (const { to } of next) walk([...way, to]);
  };
  for (const { entry } of model.routes) walk([entry]);
  return ways;
}
