import { itemAt } from '../../collections/index.js';
import {
  beginning,
  clusterOfSpec,
  type SpecContent,
  type SpecLine,
  scalar,
  sloLines,
  written,
} from './spec-lines.js';

/** StageContent is a model as a stage: what it is called, and the stages that its results go to. */
export interface StageContent {
  readonly name: string;
  readonly next: readonly string[];
}

/** PipelineContent is the content of a pipeline's spec, with a stage for each model. */
export interface PipelineContent extends SpecContent {
  readonly stages: readonly StageContent[];
}

/** pipelineText writes a pipeline's spec as YAML. Every field of the schema is in it: set, as an option, or in a comment. */
export function pipelineText(content: PipelineContent): string {
  const isChain = content.stages.some(({ next }) => next.length > 0);
  const lines = [
    ...beginning('pipeline'),
    ...written([{ text: 'name: pipeline', why: 'by which clients call it', isOption: true }], ''),
    '',
    ...clusterOfSpec(content),
    '',
    ...(isChain
      ? [
          '# A proposal: the stages follow one another as their profiles were given. Where yours go otherwise, change `next`.',
        ]
      : ['# The tensors of these models do not fit in a row: say by `next` which stages a result goes to.']),
    '# `next` may list several stages, which are all gone to, and some by chance: { to: face, probability: 0.7 }. Of those in',
    '# a list of `exclusive: [[face, plate]]` exactly one is taken, and `when: { output: score, index: 0, atLeast: 0.5 }`, or',
    '# below: 0.5, says by which result when models run. `plan profile` of this file with --samples counts the probabilities.',
    'stages:',
    ...content.stages.flatMap((stage, i) => stageLines(content, stage, i)),
    '',
    ...(content.slo === undefined ? [] : sloLines(content, '')),
    ...written(objectiveFields(content.slo?.sloMs ?? 1), ''),
    '# In place of sloMs, `applications: [{ name: street, sloMs: 100, share: 1, weight: 1 }]` lists what clients call over these stages.',
    '',
    ...loadLines(content),
    '',
    ...plannerLines(),
  ];
  return `${lines.join('\n')}\n`;
}

function stageLines(content: PipelineContent, { name, next }: StageContent, i: number): string[] {
  const { profile, classes, fastest } = itemAt(content.models, i);
  const isFirst = i === 0;
  const fields: SpecLine[] = [
    ...(next.length > 0
      ? [{ text: `next: [${next.map(scalar).join(', ')}]`, why: 'the stages that its results go to' }]
      : []),
    ...(fastest === undefined
      ? []
      : [{ text: `device: ${scalar(fastest)}`, why: 'its class, where you choose it', isOption: true }]),
    {
      text: `devices: [${classes.map(scalar).join(', ')}]`,
      why: 'in its place: the classes that may serve it',
      isOption: true,
    },
    { text: 'batch: 1', why: 'the largest batch, where you choose it', isOption: true },
    { text: 'replicas: 1', why: 'how many serve it, where you choose it', isOption: true },
    { text: 'latencyQuantile: p50', why: 'or p95, of models measured in one block', isOption: true },
    { text: 'inputs: {}', why: 'where its inputs come from: { boxes: detect.boxes }', isOption: true },
  ];
  return [
    `  - name: ${scalar(name)}`,
    `    profile: ${scalar(profile)}`,
    ...written(fields, '    ', isFirst),
    ...(isFirst
      ? [
          '    # With the method given, `virtual: 2` halves devices, and `standby: 1` keeps replicas that are down.',
        ]
      : []),
  ];
}

function objectiveFields(sloMs: number): SpecLine[] {
  return [
    { text: 'attainment: 0.99', why: 'the share of requests that must be in time', isOption: true },
    {
      text: `objectives: [{ sloMs: ${sloMs}, attainment: 0.5 }]`,
      why: 'what the sample must meet besides',
      isOption: true,
    },
    { text: 'latencyQuantile: p50', why: 'the latencies that stages are planned with', isOption: true },
  ];
}

function loadLines({ rps }: PipelineContent): string[] {
  return [
    '# The sample of the load that the plan is made for. The rate is half of what one device of each stage serves: put in',
    '# your own, or a trace of your requests: load: { trace: day.csv }. `rps: 100` alone is for the method given.',
    '# Arrivals that come in bursts are { arrivals: gamma, cv: 2, rps: 100 }.',
    `load: { arrivals: poisson, rps: ${rps}, duration: 60s }`,
  ];
}

function plannerLines(): string[] {
  const fields: SpecLine[] = [
    {
      text: 'method: inferline',
      why: 'or exact: the least cost, proved; given: check what is fixed',
    },
    { text: 'draws: 3', why: 'how often the load is drawn; the plan holds its SLO on each', isOption: true },
  ];
  return [
    'planner:',
    '  # coarse-mean and coarse-peak replicate the pipeline as a whole, as systems without a planner do. With the method',
    '  # given, `shared: [{ device: T4, stages: [face, plate], replicas: 2 }]` has devices that hold several models.',
    ...written(fields, '  '),
    '',
    '# What changes the replicas while the plan serves, and the scheduler that simulations and the server run.',
    '#tuner: none',
    '#serving: { scheduler: room-first }',
  ];
}
