import type { Emitted } from './common.js';

/** PipelineProfile is what `plan profile` prints as JSON for a pipeline: its profiles, and what was counted. */
export interface PipelineProfile extends Emitted {
  kind: 'pipeline-profile';
  name: string;
  profiles: {
    path: string;
    /** measured says whether it was measured now, as it was missing. */
    measured: boolean;
  }[];
  samples?: CountedSamples;
  /** The records of the models of a cascade on labelled samples. */
  family?: RecordedFamily;
  /** The calls that the program of a workflow made for samples. */
  recorded?: SampledRuns;
  warnings: string[];
}

/** CountedSamples says what the models chose for sample requests. */
export interface CountedSamples {
  /** The rows of all requests. */
  rows: number;
  /** The confidence of all intervals. */
  confidence: number;
  stages: SampledStage[];
}

/** SampledStage says how many samples came to a stage, and where they went on. */
export interface SampledStage {
  name: string;
  visits: number;
  scaleFactor: SampledShare;
  /** The scale factor that would follow if verdicts did not depend on one another. */
  independentScaleFactor: number;
  edges: SampledEdge[];
}

/** SampledShare is a share that was counted, with the ends of its confidence interval. */
export interface SampledShare {
  share: number;
  low: number;
  high: number;
}

/** SampledEdge says for how many of the samples that came to its stage an edge was taken. */
export interface SampledEdge extends SampledShare {
  to: string;
  taken: number;
  of: number;
  /** The share as the spec has it now. */
  probability: number;
  /** The probability that the spec had before. */
  probabilityBefore?: number;
}

/** RecordedFamily says where records of a family were written, and how well each model's certainty tells right answers. */
export interface RecordedFamily {
  records: string;
  samples: number;
  models: RecordedModel[];
}

/** RecordedModel is how a model answers labelled samples. */
export interface RecordedModel {
  name: string;
  accuracy: number;
  /** The probability that a right answer is more certain than a wrong one; absent where all are right, or all wrong. */
  auroc?: number;
  /** The expected calibration error over 15 bins; absent where certainties are not within 0 and 1. */
  calibrationError?: number;
}

/** SampledRuns says where runs of a workflow were written, and how often its program called each component. */
export interface SampledRuns {
  workflow: string;
  /** The path of the runs. */
  runs: string;
  /** The rows of all sample requests. */
  samples: number;
  components: CalledOften[];
}

/** CalledOften counts the calls of a component. */
export interface CalledOften {
  name: string;
  calls: number;
}
