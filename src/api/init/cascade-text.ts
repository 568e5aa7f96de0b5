import {
  beginning,
  clusterOfSpec,
  type SpecContent,
  type SpecLine,
  scalar,
  sloLines,
  written,
} from './spec-lines.js';

/** CascadeContent is the content of a cascade's spec. */
export interface CascadeContent extends SpecContent {
  /** The file of the records, as the spec names it. */
  readonly records: string;
}

/** cascadeText writes a cascade's spec as YAML. Every field of the schema is in it: set, or as an option. */
export function cascadeText(content: CascadeContent): string {
  const lines = [
    ...beginning('cascade'),
    ...written([{ text: 'name: cascade', why: 'by which clients call it', isOption: true }], ''),
    '',
    ...clusterOfSpec(content),
    '',
    '# The models answer the same question; a request goes from one to the next while their answers are not certain.',
    'models:',
    ...content.models.flatMap((model, i) => modelLines(model, i === 0)),
    '',
    '# What each model says of labelled samples: CSV with the columns sample, model, prediction, label, certainty.',
    '# `plan profile` of this file with --samples and --labels writes it.',
    `records: ${scalar(content.records)}`,
    ...written(
      [
        {
          text: 'certainty: top-2',
          why: 'or entropy, logits: how certainty follows from scores',
          isOption: true,
        },
      ],
      '',
    ),
    '',
    'slo:',
    ...sloLines(content, '  ', 'latencyMs'),
    ...written(
      [
        { text: 'quantile: 0.95', why: 'the share of requests answered within it', isOption: true },
        { text: 'accuracy: 0.5', why: 'the least share of right answers', isOption: true },
      ],
      '  ',
    ),
    '',
    '# The largest rate is half of what one device serves of the slowest model: put in your own.',
    'load:',
    ...written(loadFields(content.rps), '  '),
    '',
    'planner:',
    ...written(plannerFields(), '  '),
    '',
    '# The scheduler that simulations and the server run.',
    '#serving: { scheduler: gears }',
  ];
  return `${lines.join('\n')}\n`;
}

function modelLines({ name, profile }: SpecContent['models'][number], explained: boolean): string[] {
  const fields: SpecLine[] = [
    { text: 'memoryGiB: 1', why: 'of a replica, where it is not that of its weights', isOption: true },
    { text: 'output: logits', why: 'the output with the scores, where there are several', isOption: true },
  ];
  return [
    `  - name: ${scalar(name)}`,
    `    profile: ${scalar(profile)}`,
    ...written(fields, '    ', explained),
  ];
}

function loadFields(rps: number): SpecLine[] {
  return [
    { text: `maxRps: ${rps}`, why: 'the largest rate, in requests/s' },
    { text: 'ranges: 20', why: 'equal parts of [0, maxRps], each of which has a gear', isOption: true },
    { text: 'distribution: zipf', why: 'or uniform, or a CSV file: how often each occurs', isOption: true },
    { text: 'intervalMs: 100', why: 'arrivals are counted over so long', isOption: true },
  ];
}

function plannerFields(): SpecLine[] {
  return [
    { text: 'method: gears', why: 'or exhaustive, random, dynba, ms+, static' },
    { text: 'objective: accuracy', why: 'or latency, devices, cost', isOption: true },
    { text: 'thresholds: 32', why: 'from so many quantiles of certainties', isOption: true },
    { text: 'batch: 8', why: 'the largest batch that a model executes', isOption: true },
  ];
}
