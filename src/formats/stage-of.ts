/**
 * StageOf says which stage a pool serves, by the kind of its plan: a partition of one of a model's pipelines, a stage
 * of the only DAG or cascade of its plan, or a component of workflows. All numbers are indices that count from 0.
 */
export type StageOf =
  | { readonly kind: 'partition'; readonly pipeline: number; readonly partition: number }
  | { readonly kind: 'stage'; readonly name: string; readonly index: number }
  | { readonly kind: 'component'; readonly name: string; readonly component: number };

/**
 * StageFields are the fields of a document that say which stage something is of. Every stage is written as a partition
 * of a pipeline, and one that has a name by its name as well.
 */
export interface StageFields {
  readonly pipeline: number;
  readonly partition: number;
  readonly stage?: string;
}

/** stageRoute gives the index of the route that a stage is of: requests take one from its first stage to its last. */
export function stageRoute(stage: StageOf): number {
  switch (stage.kind) {
    case 'partition':
      return stage.pipeline;
    case 'stage':
      return 0;
    case 'component':
      return stage.component;
  }
}

/** stageIndex gives the index of a stage on its route, where the stages of a DAG count in the order of its plan. */
export function stageIndex(stage: StageOf): number {
  switch (stage.kind) {
    case 'partition':
      return stage.partition;
    case 'stage':
      return stage.index;
    case 'component':
      return 0;
  }
}

/** hasOwnName tells whether a plan names the stage. A partition has only its numbers. */
export function hasOwnName(stage: StageOf): boolean {
  return stage.kind !== 'partition';
}

/** stageFields gives what documents say of a stage. */
export function stageFields(stage: StageOf): StageFields {
  const numbers = { pipeline: stageRoute(stage), partition: stageIndex(stage) };
  return stage.kind === 'partition' ? numbers : { ...numbers, stage: stage.name };
}

/** stageName names a stage: as its plan does, or `pipeline<p>/partition<q>`. */
export function stageName(stage: StageOf): string {
  return writtenStageName(stageFields(stage));
}

/** writtenStageName names the stage of which a document speaks, as `stageName` does. */
export function writtenStageName({ stage, pipeline, partition }: StageFields): string {
  return stage ?? `pipeline${pipeline}/partition${partition}`;
}

/** stageMark names the stage of which a document speaks in a cell of a table: by its name, or as `<p>/<q>`. */
export function stageMark({ stage, pipeline, partition }: StageFields): string {
  return stage ?? `${pipeline}/${partition}`;
}
