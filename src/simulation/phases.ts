import { itemAt, largestOf } from '../collections/index.js';
import { fault, option, shown, type ToldFaults, writtenSeconds } from '../formats/index.js';
import {
  type ArrivalProcess,
  type Load,
  type MixPhase,
  mixedLoads,
  variationFault,
} from '../workload/index.js';
import { byWeight, type LoadedModels, modelOf, plannedRates } from './models.js';

/** Phase is a stretch of a load that changes over time (InferLine, section 6). It is plain data. */
export interface Phase {
  /** How long the rates are held. */
  readonly durationS: number;
  /**
   * The length of the transition before the phase, in which rates and variation change linearly from those of
   * the phase before.
   */
  readonly transitionS: number;
  /** The rate of each model, in requests per second. */
  readonly rps: readonly number[];
  /** The coefficient of variation of the gaps of gamma arrivals. */
  readonly cv?: number;
}

/**
 * PhaseOptions holds the options that phases are read from, and those that may not be given beside phases.
 */
interface PhaseOptions {
  readonly phases?: readonly string[] | undefined;
  readonly arrivals?: ArrivalProcess | undefined;
  readonly cv?: number | undefined;
  readonly load?: number | undefined;
  readonly rps?: readonly string[] | undefined;
  readonly duration?: number | undefined;
  readonly traces?: readonly string[] | undefined;
}

const LOOKS = 'such as 60s,load=0.5 or 2min,rps=300,cv=4,over=30s or 60s,model=200';
const WORDS = ['load', 'rps', 'cv', 'over'];

/**
 * phasesOf reads phases in order. Each gives its length first; then its rate, as `load=` (a multiple of the
 * plan's rates), `rps=` (shared by all models by weight) or `model=` (requests per second of one model, where
 * models that are not named have none); then perhaps `over=`, the length of the transition, and `cv=` for
 * gamma arrivals.
 * @param told where every fault is added; callers look there, because phases are given also where the first has a
 *   transition or every rate is 0
 * @returns undefined where there are no phases, or after any other fault
 */
export function phasesOf(models: LoadedModels, options: PhaseOptions, told: ToldFaults): Phase[] | undefined {
  const { phases: texts = [], arrivals, cv, load, rps = [], duration, traces = [] } = options;
  if (texts.length === 0) return undefined;
  const before = told.count;
  const others = { load, rps: rps[0], duration, traces: traces[0] };
  for (const [name, value] of Object.entries(others))
    if (value !== undefined) told.add(fault(`is given by each ${option('phases')}`, option(name)));
  const phases = texts.map((text) => new PhaseText(text, models, told).read(arrivals === 'gamma', cv));
  if (told.count > before) return undefined;
  if (itemAt(phases, 0).transitionS > 0)
    told.add(
      fault(
        'over=: no phase comes before the first, so it has no transition',
        option('phases', `"${texts[0]}"`),
      ),
    );
  if (!phases.some((phase) => sumOf(phase.rps) > 0))
    told.add(fault('the rate of every phase is 0', option('phases')));
  return phases;
}

/**
 * loadsOfPhases gives the load of each of a given number of models over all phases, in the models' order.
 * @throws InputError with every fault of the phases
 */
export function loadsOfPhases(phases: readonly Phase[], models: number): Load[] {
  const mixed = phases.map(({ rps, ...phase }): MixPhase => {
    const total = sumOf(rps);
    return { ...phase, rps: total, weights: total === 0 ? rps.map(() => 1) : rps };
  });
  return mixedLoads(mixed, models);
}

/** durationOfPhases gives the length of all phases in seconds, with their transitions. */
export function durationOfPhases(phases: readonly Phase[]): number {
  return sumOf(phases.map(({ durationS, transitionS }) => durationS + transitionS));
}

/**
 * meanRates gives the mean rate of each of a given number of models over all phases, in requests per second. In a transition it
 * is the mean of both ends.
 */
export function meanRates(phases: readonly Phase[], models: number): number[] {
  return Array.from({ length: models }, (_, m) => {
    const requests = phases.map(({ durationS, transitionS, rps }, i) => {
      const here = itemAt(rps, m);
      const from = phases[i - 1]?.rps[m] ?? here;
      return here * durationS + 0.5 * (from + here) * transitionS;
    });
    return sumOf(requests) / durationOfPhases(phases);
  });
}

/** highestRate gives the highest rate of all models together at any time, in requests per second. */
export function highestRate(phases: readonly Phase[]): number {
  return largestOf(phases.map(({ rps }) => sumOf(rps)));
}

/** PhaseText reads one `--phase`, field by field. */
class PhaseText {
  private readonly rates: { load?: number; rps?: number; byModel?: number[] } = {};
  private readonly fields = new Set<string>();
  private transitionS = 0;
  private cv: number | undefined;

  constructor(
    private readonly text: string,
    private readonly models: LoadedModels,
    private readonly told: ToldFaults,
  ) {}

  /** @param usualCv the coefficient of variation of a phase that names none */
  read(isGamma: boolean, usualCv: number | undefined): Phase {
    const [length = '', ...fields] = this.text.split(',');
    const durationS = this.time(length);
    for (const field of fields) this.readField(field);
    if (this.cv !== undefined && !isGamma) this.fault(`cv= is for ${option('arrivals')} gamma`);
    const cv = isGamma ? (this.cv ?? usualCv) : undefined;
    if (isGamma && cv === undefined)
      this.fault(`gamma needs cv=, how bursty it is, or ${option('cv')} for all phases`);
    const { transitionS } = this;
    return { durationS, transitionS, rps: this.rps(), ...(cv === undefined ? {} : { cv }) };
  }

  private readField(field: string): void {
    const cut = field.lastIndexOf('=');
    const name = field.slice(0, Math.max(0, cut)).trim();
    if (name === '') this.fault(`${shown(field)} is not key=value, ${LOOKS}`);
    else if (this.fields.has(name)) this.fault(`${name} is given twice`);
    else this.readValue(name, field.slice(cut + 1));
    this.fields.add(name);
  }

  private readValue(name: string, value: string): void {
    if (name === 'over') this.transitionS = this.time(value);
    else if (name === 'cv') this.cv = this.variation(value);
    else if (name === 'load' || name === 'rps') this.rates[name] = this.number(name, value);
    else {
      this.rates.byModel ??= this.models.map(() => 0);
      const model = this.model(name);
      if (model !== undefined) this.rates.byModel[model] = this.number(name, value);
    }
  }

  private model(name: string): number | undefined {
    const names = this.models.map((model) => model.name);
    if (names.includes(name))
      return modelOf(this.models, { name, at: option('phases', `"${this.text}"`) }, this.told);
    this.fault(`there is no ${name}=; there are ${[...WORDS, ...names].join('=, ')}=`);
    return undefined;
  }

  private rps(): number[] {
    const { load, rps, byModel } = this.rates;
    const said = Object.keys(this.rates).length;
    if (said !== 1)
      this.fault(said === 0 ? `has no rate, ${LOOKS}` : 'takes one of load=, rps= and rates of models');
    if (load !== undefined) return plannedRates(this.models, load);
    return rps === undefined ? (byModel ?? []) : byWeight(this.models, rps);
  }

  private time(text: string): number {
    const seconds = writtenSeconds(text) ?? 0;
    if (seconds > 0) return seconds;
    this.fault(`${shown(text)} is not a time above 0, such as 60s or 10min`);
    return 0;
  }

  private variation(text: string): number {
    const cv = this.number('cv', text);
    const wrong = variationFault(cv);
    if (wrong !== undefined) this.fault(`cv ${wrong}`);
    return cv;
  }

  private number(name: string, text: string): number {
    const value = Number(text);
    if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
    this.fault(`${name} is ${shown(text)}; it must be a number of at least 0`);
    return 0;
  }

  private fault(message: string): void {
    this.told.add(fault(message, option('phases', `"${this.text}"`)));
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
