import type { Emitted } from './common.js';
import type { SimulatedLatency } from './simulation-report.js';

/** LoadDocument is the report of a load on a server, as it is written and printed. The room `loadgen` explains it. */
export interface LoadDocument extends Emitted, LoadOutcomes {
  kind: 'load-report';
  url: string;
  /** The model that was asked; absent where there were several. */
  model?: string;
  /** The outcomes of the requests of each model, where there were several. */
  models?: (LoadOutcomes & { name: string })[];
  arrivals: 'poisson' | 'uniform' | 'gamma' | 'trace';
  seed: number;
  rows: number;
  rps: number;
  durationS: number;
  elapsedS: number;
  /** The number of failed requests by reason. */
  failures: Record<string, number>;
  throughputRps: number;
  goodputRps: number;
  sentRps: number;
  sendLatenessMs?: SimulatedLatency;
  /** Sentences that say which figures make the run unfit as a measurement. */
  warnings: string[];
}

interface LoadOutcomes {
  sloMs?: number;
  sent: number;
  answered: number;
  inTime: number;
  late: number;
  dropped: number;
  failed: number;
  cancelled: number;
  attainment?: number;
  dropRate?: number;
  latencyMs?: SimulatedLatency;
}
