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

/**
 * ComponentContent is a model as a component: how programs call it, and how large what it gives is, as far as its
 * profile knows.
 */
export interface ComponentContent {
  readonly name: string;
  readonly outputBytes: number;
  /** hasWeights says whether its profile says how large its weights are. */
  readonly hasWeights: boolean;
}

/** WorkflowContent is the content of a workflow's spec, with a component for each model. */
export interface WorkflowContent extends SpecContent {
  readonly components: readonly ComponentContent[];
  /** The bytes of the inputs of the first component, 0 where its profile does not know them. */
  readonly requestBytes: number;
}

/** workflowText writes a workflow's spec as YAML. Every field of the schema is in it: set, as an option, or in a comment. */
export function workflowText(content: WorkflowContent): string {
  const lines = [
    ...beginning('workflow'),
    '',
    ...clusterOfSpec(content),
    '',
    '# The models that programs call, by name. Devices load them as they are needed, and forget them for others.',
    'components:',
    ...content.components.flatMap((component, i) => componentLines(content, component, i)),
    '',
    'workflows:',
    ...workflowLines(content),
    '',
    '# What comes of all workflows together; each takes its `share`, an equal one by default. Or each has its own `rps`, and there',
    '# is no load. The rate is half of what one device of each model serves: put in your own, or a trace of your requests:',
    '# load: { trace: day.csv }. `rps: 100` alone is the mean rate of arrivals at random.',
    `load: { arrivals: poisson, rps: ${content.rps}, duration: 60s }`,
    '',
    'planner:',
    ...written(plannerFields(), '  '),
    '  # With the method given, `placement: [{ device: L4, count: 2, holds: [detector] }]` says what devices hold for ever.',
    '',
    '# The scheduler that simulations and the server run, where it is not that of the method.',
    '#serving: { scheduler: greedy }',
  ];
  return `${lines.join('\n')}\n`;
}

function componentLines(
  { models }: WorkflowContent,
  { name, hasWeights }: ComponentContent,
  i: number,
): string[] {
  const { profile } = itemAt(models, i);
  const memory = hasWeights
    ? 'that it takes, its largest batch included; its weights by default'
    : 'a proposal: its profile does not say how large its weights are';
  const fields: SpecLine[] = [
    { text: 'memoryGiB: 1', why: memory, isOption: hasWeights },
    {
      text: 'loadMs: 100',
      why: "from the server's memory to a device, where loadGBps does not say",
      isOption: true,
    },
    { text: 'maxBatch: 1', why: 'the largest batch, where you choose it', isOption: true },
  ];
  return [
    `  - name: ${scalar(name)}`,
    `    profile: ${scalar(profile)}`,
    ...written(fields, '    ', i === 0 || !hasWeights),
  ];
}

function workflowLines(content: WorkflowContent): string[] {
  const { components, requestBytes } = content;
  const [first] = components as [ComponentContent, ...ComponentContent[]];
  const fields: SpecLine[] = [{ text: 'share: 1', why: 'of the load', isOption: true }];
  return [
    '  - name: workflow',
    ...sloLines(content, '    '),
    ...written(fields, '    '),
    '    # A proposal: requests call the components one after another. Where yours go otherwise, say so: `next` may list steps with',
    '    # their chances, [{ to: draw, chance: 0.3 }, { to: end, chance: 0.7 }], a step may lead back to one before it, and `calls` may',
    '    # list several that are made side by side, each with `rows: 2`, or `thinkMs: 5` before it is made. In place of the chain,',
    '    # `runs: requests.jsonl` has recorded requests, which `plan profile` of this file with --samples writes where there is',
    '    # a `program: program.mjs`, the code that a server runs.',
    '    chain:',
    ...written(
      [{ text: `requestBytes: ${requestBytes}`, why: 'of a request, as the profile has its inputs' }],
      '      ',
    ),
    `      start: ${scalar(first.name)}`,
    '      steps:',
    ...components.flatMap((component, i) => stepLines(component, components[i - 1], components[i + 1])),
  ];
}

function stepLines(
  { name, outputBytes }: ComponentContent,
  before: ComponentContent | undefined,
  after: ComponentContent | undefined,
): string[] {
  const inputs = before === undefined ? 'request' : scalar(before.name);
  return [
    `        - name: ${scalar(name)}`,
    `          calls: [{ component: ${scalar(name)}, inputs: [${inputs}], outputBytes: ${outputBytes} }]`,
    ...(after === undefined ? [] : [`          next: ${scalar(after.name)}`]),
  ];
}

function plannerFields(): SpecLine[] {
  return [
    { text: 'method: dyorc', why: 'or greedy, round-robin, static, ray-like, given' },
    { text: 'objective: latency', why: 'or devices: the fewest that hold all SLOs', isOption: true },
    {
      text: 'attainment: 0.99',
      why: 'the share of requests that must be in time, of each workflow',
      isOption: true,
    },
    { text: 'subclusters: 1', why: 'groups of devices, each with a scheduler of its own', isOption: true },
  ];
}
