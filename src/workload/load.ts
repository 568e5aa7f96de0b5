import { type Fault, InputError, NS_PER_S } from '../formats/index.js';

/**
 * Load says how much load there is at which time, in consecutive pieces. Within a piece, the rate and the
 * coefficient of variation change linearly from one end to the other.
 */
export interface Load {
  readonly pieces: number;
  readonly lengthNs: Float64Array;
  /** The rate at the start of each piece, in requests per nanosecond. */
  readonly startRate: Float64Array;
  readonly endRate: Float64Array;
  /** The coefficient of variation of the gaps between arrivals. Only a gamma process uses it. */
  readonly startCv: Float64Array;
  readonly endCv: Float64Array;
  /** The length of all pieces together. */
  readonly durationNs: number;
}

/** LoadPhase is a stretch of a load that changes over time (InferLine, section 6). */
export interface LoadPhase {
  /** The mean rate in requests per second; ≥ 0. */
  rps: number;
  /** The coefficient of variation (σ/µ) of the gaps between arrivals; ≥ 0. The default is 1. */
  cv?: number;
  /** How long the rate is held. */
  durationS: number;
  /**
   * The length of the transition before the phase, in which the rate and the coefficient of variation change
   * linearly from those of the phase before. The default is 0.
   */
  transitionS?: number;
}

/** MixPhase is a phase of several models at once. */
export interface MixPhase extends LoadPhase {
  /** The share of each model in the rate, on any scale. */
  weights: readonly number[];
}

/**
 * steadyLoad makes a load whose rate never changes.
 * @throws InputError where the rate or the duration is not positive, or the coefficient of variation is
 *   negative
 */
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
 * phasedLoad joins phases, each held for its duration after a transition from the one before.
 * @throws InputError with every fault of the phases
 */
export function phasedLoad(phases: readonly LoadPhase[]): Load {
  const faults = phaseFaults(phases);
  if (faults.length > 0) throw new InputError('use the phases of the load', faults);
  return loadOf(piecesOf(phases));
}

/**
 * mixedLoads makes one load per model. A model's rate in a phase is its share of the phase's rate by weight.
 * During a transition every model's rate changes linearly, and so does their sum.
 * @throws InputError with every fault of the phases
 */
export function mixedLoads(phases: readonly MixPhase[], models: number): Load[] {
  const faults = [...phaseFaults(phases), ...weightFaults(phases, models)];
  if (faults.length > 0) throw new InputError('use the phases of the load', faults);
  return Array.from({ length: models }, (_, model) =>
    loadOf(
      piecesOf(phases.map((phase) => ({ ...phase, rps: phase.rps * shareByWeight(phase.weights, model) }))),
    ),
  );
}

/** shareByWeight gives a weight's share of the sum of all weights, which must not be 0. */
export function shareByWeight(weights: readonly number[], index: number): number {
  return (weights[index] as number) / weights.reduce((sum, weight) => sum + weight, 0);
}

interface Level {
  rps: number;
  cv: number;
}

/**
 * Piece is a stretch of a load during which rate and variation change evenly from one level to another.
 * @internal
 */
export interface Piece {
  lengthS: number;
  from: Level;
  to: Level;
}

/** loadOf makes a load of these pieces. Pieces without a length are left out. */
export function loadOf(pieces: readonly Piece[]): Load {
  const used = pieces.filter((piece) => piece.lengthS > 0);
  const byPiece = (of: (piece: Piece) => number) => Float64Array.from(used, of);
  const lengthNs = byPiece((piece) => piece.lengthS * NS_PER_S);
  return {
    pieces: used.length,
    lengthNs,
    startRate: byPiece((piece) => piece.from.rps / NS_PER_S),
    endRate: byPiece((piece) => piece.to.rps / NS_PER_S),
    startCv: byPiece((piece) => piece.from.cv),
    endCv: byPiece((piece) => piece.to.cv),
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
    faults.push({
      path: '/0/transitionS',
      message: 'no phase comes before the first, so it has no transition',
    });
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
