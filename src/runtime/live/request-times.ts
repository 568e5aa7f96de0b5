import { largestOf } from '../../collections/index.js';
/**
 * BatchPhases are the instants of a batch, in ns of the driver's clock. Its rows are stacked from `fromNs` on, handed
 * over from `stackedNs` on, executed from `inferFromNs` to `inferToNs`, back at `cameNs`, and split at `toNs`.
 */
export interface BatchPhases {
  readonly fromNs: number;
  readonly stackedNs: number;
  readonly inferFromNs: number;
  readonly inferToNs: number;
  readonly cameNs: number;
  readonly toNs: number;
}

/** PhaseTimes are the times of a batch, or parts of a request's time: before, during and after executions. */
export interface PhaseTimes {
  readonly inputUs: number;
  readonly inferUs: number;
  readonly outputUs: number;
}

/** RequestTimes say where the time of a request went: the queue and the phases of its batches add up to `tookUs`. */
export interface RequestTimes extends PhaseTimes {
  readonly tookUs: number;
  readonly queueUs: number;
}

/** NO_TIME is the time of a request that was turned away. */
export const NO_TIME: RequestTimes = { tookUs: 0, queueUs: 0, inputUs: 0, inferUs: 0, outputUs: 0 };

/** phasesUs gives how long a batch was prepared with its way to the executor, executed, and taken apart after its way back. */
export function phasesUs({ fromNs, inferFromNs, inferToNs, toNs }: BatchPhases): PhaseTimes {
  return {
    inputUs: (inferFromNs - fromNs) / 1e3,
    inferUs: (inferToNs - inferFromNs) / 1e3,
    outputUs: (toNs - inferToNs) / 1e3,
  };
}

/** handOverUs gives the part of a batch's phases in which it was on its way to the executor and back. */
export function handOverUs({ stackedNs, inferFromNs, inferToNs, cameNs }: BatchPhases): number {
  return (inferFromNs - stackedNs + cameNs - inferToNs) / 1e3;
}

/** The order says what counts where several rows of a request are in different phases. */
const PHASES = ['infer', 'input', 'output'] as const;
type Phase = (typeof PHASES)[number] | 'queue';

interface Change {
  readonly atNs: number;
  readonly phase: Phase;
  readonly by: 1 | -1;
}

/** Answering is when a request came, when it had been read, and when it ended. */
interface Answering {
  readonly cameNs: number;
  readonly readNs: number;
  readonly endNs: number;
}

/**
 * timesOf divides the time of a request, each instant once: it is executed while any of its rows is, else it is prepared,
 * else taken apart, and else it waits. Reading it counts as preparing, and what follows its last batch as taking apart.
 * @param batches the batches that were executed with rows of it
 */
export function timesOf({ cameNs, readNs, endNs }: Answering, batches: readonly BatchPhases[]): RequestTimes {
  const lastNs = batches.length === 0 ? endNs : largestOf(batches.map(({ toNs }) => toNs));
  const changes = changesOf([
    { phase: 'input', fromNs: cameNs, toNs: readNs },
    ...batches.flatMap(({ fromNs, inferFromNs, inferToNs, toNs }) => [
      { phase: 'input' as const, fromNs, toNs: inferFromNs },
      { phase: 'infer' as const, fromNs: inferFromNs, toNs: inferToNs },
      { phase: 'output' as const, fromNs: inferToNs, toNs },
    ]),
    { phase: 'output', fromNs: lastNs, toNs: endNs },
  ]);
  const spentNs = { infer: 0, input: 0, output: 0, queue: 0 };
  const open = { infer: 0, input: 0, output: 0, queue: 0 };
  let untilNs = cameNs;
  for (const { atNs, phase, by } of [...changes, { atNs: endNs, phase: 'queue' as const, by: 1 as const }]) {
    const nextNs = Math.min(Math.max(atNs, untilNs), endNs);
    spentNs[PHASES.find((one) => open[one] > 0) ?? 'queue'] += nextNs - untilNs;
    untilNs = nextNs;
    open[phase] += by;
  }
  return {
    tookUs: (endNs - cameNs) / 1e3,
    queueUs: spentNs.queue / 1e3,
    inputUs: spentNs.input / 1e3,
    inferUs: spentNs.infer / 1e3,
    outputUs: spentNs.output / 1e3,
  };
}

function changesOf(
  spans: readonly { readonly phase: Phase; readonly fromNs: number; readonly toNs: number }[],
): Change[] {
  const changes = spans.flatMap(({ phase, fromNs, toNs }): Change[] =>
    toNs <= fromNs
      ? []
      : [
          { atNs: fromNs, phase, by: 1 },
          { atNs: toNs, phase, by: -1 },
        ],
  );
  return changes.sort((a, b) => a.atNs - b.atNs);
}
