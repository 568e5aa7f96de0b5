import { type Fault, InputError } from '../artifacts/index.js';

const NS_PER_S = 1e9;

/**
 * How much load there is at which time, in pieces one after the other. Within a piece the rate and the coefficient of variation
 * run straight from one end to the other.
 */
export interface Load {
  readonly pieces: number;
  readonly lengthNs: Float64Array;
  /** Requests per nanosecond. */
  readonly startRate: Float64Array;
  readonly endRate: Float64Array;
  /** Of the gaps between arrivals; a gamma process heeds them. */
  readonly startCv: Float64Array;
  readonly endCv: Float64Array;
  /** All pieces together. */
  readonly durationNs: number;
}

/** A stretch of a workload that changes over time (InferLine §6). */
export interface LoadPhase {
  /** Mean rate, requests per second; ≥ 0. */
  rps: number;
  /** Coefficient of variation of the gaps between arrivals, σ/µ; ≥ 0. Default 1. */
  cv?: number;
  /** How long it is held. */
  durationS: number;
  /** Before that, how long rate and variation take to get here from where the phase before left them. Default 0. */
  transitionS?: number;
}

/** A phase of several models at once. */
export interface MixPhase extends LoadPhase {
  /** Share of each model in the rate, by model; any scale. */
  weights: readonly number[];
}

/** One rate all the time. @throws InputError where the rate or the duration is not positive, or the variation negative */
export function steadyLoad(rps: number, durationS: number, cv = 1): Load {
  const faults: Fault[] = [];
  if (!(rps > 0 && Number.isFinite(rps)))
    faults.push({ path: '', message: `the rate ${rps} is not positive` });
  if (!(durationS > 0 && Number.isFinite(durationS)))
    faults.push({ path: '', message: `the duration ${durationS} is not positive` });
  if (!(cv >= 0 && Number.isFinite(cv)))
    faults.push({ path: '', message: `the coefficient of variation ${cv} is negative or no number` });
  if (faults.length > 0) throw new InputError('draw arrivals', faults);
  return loadOf([{ lengthS: durationS, from: { rps, cv }, to: { rps, cv } }]);
}

/**
 * Phases one after the other, each held for its duration after a transition from the one before.
 * @throws InputError with every fault of the phases
 */
export function phasedLoad(phases: readonly LoadPhase[]): Load {
  const faults = phaseFaults(phases);
  if (faults.length > 0) throw new InputError('use the phases of the load', faults);
  return loadOf(piecesOf(phases));
}

/**
 * One load per model: a model's rate in a phase is its share, by weight, of the phase's; during a transition every model's rate
 * runs straight from its old to its new, and so does the sum.
 * @throws InputError with every fault of the phases
 */
export function mixedLoads(phases: readonly MixPhase[], models: number): Load[] {
  const faults = [...phaseFaults(phases), ...weightFaults(phases, models)];
  if (faults.length > 0) throw new InputError('use the phases of the load', faults);
  return Array.from({ length: models }, (_, model) =>
    loadOf(piecesOf(phases.map((phase) => ({ ...phase, rps: phase.rps * shareOf(phase.weights, model) })))),
  );
}

/** A weight among all, as a share of 1. */
export function shareOf(weights: readonly number[], index: number): number {
  return (weights[index] as number) / weights.reduce((sum, weight) => sum + weight, 0);
}

interface Level {
  rps: number;
  cv: number;
}

/** @internal A stretch from one level to another. */
export interface Piece {
  lengthS: number;
  from: Level;
  to: Level;
}

/** The load of these pieces; those of no length are left out. */
export function loadOf(pieces: readonly Piece[]): Load {
  const used = pieces.filter((piece) => piece.lengthS > 0);
  const column = (of: (piece: Piece) => number) => Float64Array.from(used, of);
  const lengthNs = column((piece) => piece.lengthS * NS_PER_S);
  return {
    pieces: used.length,
    lengthNs,
    startRate: column((piece) => piece.from.rps / NS_PER_S),
    endRate: column((piece) => piece.to.rps / NS_PER_S),
    startCv: column((piece) => piece.from.cv),
    endCv: column((piece) => piece.to.cv),
    durationNs: lengthNs.reduce((sum, length) => sum + length, 0),
  };
}

function piecesOf(phases: readonly LoadPhase[]): Piece[] {
  return phases.flatMap(({ rps, cv = 1, durationS, transitionS = 0 }, i) => {
    const before = phases[i - 1];
    const here = { rps, cv };
    const from = before === undefined ? here : { rps: before.rps, cv: before.cv ?? 1 };
    return [
      { lengthS: transitionS, from, to: here },
      { lengthS: durationS, from: here, to: here },
    ];
  });
}

function phaseFaults(phases: readonly LoadPhase[]): Fault[] {
  if (phases.length === 0) return [{ path: '', message: 'there are no phases' }];
  const faults: Fault[] = [];
  phases.forEach((phase, i) => {
    for (const name of ['rps', 'cv', 'durationS', 'transitionS'] as const) {
      const value = phase[name];
      if (value !== undefined && !(value >= 0 && Number.isFinite(value)))
        faults.push({ path: `/${i}/${name}`, message: `is ${value}; it must be a number of at least 0` });
    }
  });
  if ((phases[0]?.transitionS ?? 0) > 0)
    faults.push({ path: '/0/transitionS', message: 'there is nothing before the first phase to come from' });
  if (faults.length === 0 && !phases.some((phase) => phase.rps > 0))
    faults.push({ path: '', message: 'the rate of every phase is 0' });
  if (faults.length === 0 && !phases.some((phase) => phase.durationS + (phase.transitionS ?? 0) > 0))
    faults.push({ path: '', message: 'no phase has a duration' });
  return faults;
}

function weightFaults(phases: readonly MixPhase[], models: number): Fault[] {
  const faults: Fault[] = [];
  phases.forEach(({ weights }, i) => {
    const path = `/${i}/weights`;
    if (weights.length !== models)
      faults.push({ path, message: `has ${weights.length} weights; there are ${models} models` });
    else if (!weights.every((weight) => weight >= 0 && Number.isFinite(weight)))
      faults.push({ path, message: `is ${weights.join(', ')}; each must be a number of at least 0` });
    else if (!weights.some((weight) => weight > 0)) faults.push({ path, message: 'has no weight above 0' });
  });
  return faults;
}
