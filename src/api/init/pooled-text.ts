import {
  beginning,
  clusterOfSpec,
  reasonLines,
  type SpecContent,
  type SpecLine,
  scalar,
  written,
} from './spec-lines.js';

/** pooledText writes a pooled spec as YAML. Every field of the schema is in it: set, or as an option. */
export function pooledText(content: SpecContent): string {
  const lines = [
    ...beginning('pooled'),
    '',
    ...clusterOfSpec(content),
    '',
    'models:',
    ...content.models.flatMap((model, i) => modelLines(model, i === 0)),
    '',
    ...plannerLines(),
    '',
    ...servingLines(),
  ];
  return `${lines.join('\n')}\n`;
}

function modelLines(model: SpecContent['models'][number], explained: boolean): string[] {
  const { profile, sloMs, from, classes, rps, fastest } = model;
  const all = `[${classes.map(scalar).join(', ')}]`;
  const others = classes.filter((name) => name !== fastest).map(scalar);
  const share = fastest === undefined ? '{}' : `{ ${scalar(fastest)}: 0.5 }`;
  const fields: SpecLine[] = [
    {
      text: 'weight: 1',
      why: 'part of the load; the least throughput/weight is made largest',
      isOption: true,
    },
    {
      text: `rps: ${rps ?? 1}`,
      why: 'requests/s to be met, for the objectives cost and power',
      isOption: true,
    },
    { text: `only: ${all}`, why: 'classes that the model may use', isOption: true },
    { text: `not: [${others.join(', ')}]`, why: 'classes that it may not use', isOption: true },
    {
      text: `minShare: ${share}`,
      why: 'least share of its load through pipelines with the class',
      isOption: true,
    },
    ...ownMargins(sloMs),
  ];
  return [
    `  - profile: ${scalar(profile)}`,
    ...(from === undefined ? [] : reasonLines(from, model.name)),
    ...written(
      [{ text: `sloMs: ${sloMs}`, why: 'the most that a request may take from end to end' }],
      '    ',
    ),
    ...written(fields, '    ', explained),
  ];
}

function ownMargins(sloMs: number): SpecLine[] {
  return [
    { text: 'sloMargin: 0.4', why: "overrides the planner's", isOption: true },
    {
      text: `sloMarginMs: ${exampleMarginMs(sloMs)}`,
      why: 'in its place: give one of the two',
      isOption: true,
    },
    { text: 'batchFormation: none', why: "overrides the planner's", isOption: true },
    {
      text: 'hold: 0.99',
      why: "the share of its requests to hold in time, where the planner has a 'hold'",
      isOption: true,
    },
  ];
}

function exampleMarginMs(sloMs: number): number {
  return Number((0.4 * sloMs).toPrecision(2));
}

function plannerLines(): string[] {
  const objective = 'or cost, power: these meet each rps with the cheapest devices';
  const fields: SpecLine[] = [
    { text: 'objective: throughput', why: objective },
    { text: 'maxPartitions: 3', why: 'a model is cut into at most this many; 1 to 5', isOption: true },
    { text: 'granularity: block', why: 'or layer, where profiles have latencies of layers', isOption: true },
    { text: 'sloMargin: 0.4', why: 'part of each SLO withheld from the plan, for queueing', isOption: true },
    { text: 'sloMarginMs: 0', why: 'in its place: give one of the two', isOption: true },
    {
      text: 'hold: 0.99',
      why: 'plan what holds this share of requests in time in simulation; it finds the margins',
      isOption: true,
    },
    { text: 'unifiedBatch: true', why: 'all partitions of a pipeline use one batch size', isOption: true },
    {
      text: 'batchFormation: { factor: 1.3, estimatedRps: no-partitioning }',
      why: 'time for batches to fill; default none',
      isOption: true,
    },
    {
      text: 'linkThroughput: true',
      why: "a partition sends at most its share of the server's link",
      isOption: true,
    },
    { text: 'wholeGpusPer: pool', why: 'or position, class: what fills whole devices', isOption: true },
    { text: 'virtualPer: gpu', why: 'or server: all devices of a server have one size', isOption: true },
  ];
  return ['planner:', ...written(fields, '  ')];
}

function servingLines(): string[] {
  return [
    '# The scheduler that simulations and the server run: room-first, stage-local, fifo, reactive, or reservation, which is',
    '# better where executions take steady times. Choices of its policy stand beside it.',
    '#serving: { scheduler: room-first }',
  ];
}
