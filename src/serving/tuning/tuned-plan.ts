import type { EnvelopeWindow, PlanTuner } from '../../formats/index.js';
import { BY_RATE_TUNING, type ByRateSettings, ByRateTuner } from './by-rate.js';
import { COARSE_TUNING, type CoarseSettings, CoarseTuner } from './coarse.js';
import { DS2_TUNING, type Ds2Settings, Ds2Tuner } from './ds2.js';
import { HPA_TUNING, type HpaSettings, HpaTuner } from './hpa.js';
import { INFERLINE_TUNING, type InferlineSettings, InferlineTuner } from './inferline.js';
import { KPA_TUNING, type KpaSettings, KpaTuner } from './kpa.js';
import { OracleTuner, type RequestsAhead } from './oracle.js';
import type { TunedSet, Tuner } from './tuner.js';

/** TunerSettings is a tuner with all of its settings. */
export type TunerSettings =
  | ({ readonly kind: 'inferline' } & InferlineSettings)
  | ({ readonly kind: 'coarse' } & CoarseSettings)
  | ({ readonly kind: 'ds2' } & Ds2Settings)
  | ({ readonly kind: 'hpa' } & HpaSettings)
  | ({ readonly kind: 'kpa' } & KpaSettings)
  | ({ readonly kind: 'by-rate' } & ByRateSettings)
  | { readonly kind: 'oracle' };

/** TunedPlan is all that a tuner needs of a plan. It is plain data. */
export interface TunedPlan {
  readonly settings: TunerSettings;
  readonly sets: readonly TunedSet[];
  /** The GPUs that may be in use at a time, by class; a class without an entry has no limit. */
  readonly gpus: Readonly<Record<string, number>>;
  /** The traffic envelope of the sample that the plan was made for. */
  readonly envelope?: readonly EnvelopeWindow[];
  readonly activationDelayNs: number;
  /** The requests that will come, which only the oracle looks at. */
  readonly ahead?: RequestsAhead;
}

/** TunerName is the name of a tuner, or `none`. */
export type TunerName = TunerSettings['kind'] | PlanTuner['kind'];

/** tunerSettings gives a tuner all settings that a plan leaves out; undefined for `none`. */
export function tunerSettings(tuner: PlanTuner | { readonly kind: 'oracle' }): TunerSettings | undefined {
  switch (tuner.kind) {
    case 'none':
      return undefined;
    case 'inferline':
      return { ...INFERLINE_TUNING, ...tuner };
    case 'coarse':
      return { ...COARSE_TUNING, ...tuner };
    case 'ds2':
      return { ...DS2_TUNING, ...tuner };
    case 'hpa':
      return { ...HPA_TUNING, ...tuner };
    case 'kpa':
      return { ...KPA_TUNING, ...tuner };
    case 'by-rate':
      return { ...BY_RATE_TUNING, ...tuner };
    case 'oracle':
      return tuner;
  }
}

const FOLLOWS_LOAD: { readonly [K in TunerName]: boolean } = {
  none: false,
  inferline: true,
  coarse: false,
  ds2: false,
  hpa: false,
  kpa: false,
  'by-rate': false,
  oracle: true,
};

/** TUNERS lists the tuners by the names that `--tuner` takes. `none` leaves the replicas as they are. */
export const TUNERS = Object.keys(FOLLOWS_LOAD) as readonly TunerName[];

/** needsLoad returns whether a tuner follows the load that the plan was made for. */
export function needsLoad(kind: TunerName): boolean {
  return FOLLOWS_LOAD[kind];
}

/**
 * tunerOf makes the tuner of a plan. A tuner that follows the plan's load needs the provisioning of every
 * set, and the envelope or the requests ahead.
 */
export function tunerOf({ settings, sets, envelope = [], activationDelayNs, ahead }: TunedPlan): Tuner {
  switch (settings.kind) {
    case 'inferline':
      return new InferlineTuner(provisioned(sets), envelope, settings);
    case 'coarse':
      return new CoarseTuner(sets, settings);
    case 'ds2':
      return new Ds2Tuner(sets, settings);
    case 'hpa':
      return new HpaTuner(sets, settings);
    case 'kpa':
      return new KpaTuner(sets, settings);
    case 'by-rate':
      return new ByRateTuner(sets, settings);
    case 'oracle':
      return new OracleTuner(provisioned(sets), ahead ?? { windowS: 1, requests: [] }, activationDelayNs);
  }
}

function provisioned(sets: readonly TunedSet[]): (TunedSet & { readonly provisioning: number })[] {
  return sets.map((set) => ({ ...set, provisioning: set.provisioning ?? 1 }));
}
