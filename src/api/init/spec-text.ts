import type { ProposedClass, ProposedModel, SloReason } from './proposal.js';

/** SpecContent is the content of a spec. */
export interface SpecContent {
  readonly classes: readonly ProposedClass[];
  readonly models: readonly (ProposedModel & {
    /** The profile's path as the spec names it. */
    readonly profile: string;
  })[];
  /** The cluster's file as the spec names it; the cluster stands in the spec where there is none. */
  readonly cluster?: string | undefined;
}

/** The bandwidth that is proposed for servers: a common one, and a cautious one for devices of one machine. */
const NETWORK_GBPS = 10;

/** Explanations begin at this column. */
const EXPLAINED_AT = 34;

/** Field is a line of the spec: a value with its explanation. An option is commented out. */
interface Field {
  readonly text: string;
  readonly why?: string | undefined;
  readonly isOption?: boolean;
}

/** specText writes a pooled spec as YAML. Every field of the schema is in it: set, or as an option. */
export function specText(content: SpecContent): string {
  const { cluster } = content;
  const lines = [
    '# This is a spec for `plan solve`. It says which models are served, under which latency objectives, on which',
    '# devices. A line such as "#version: …", with no space after the "#", is an option: remove the "#" to set it.',
    'kind: pooled',
    ...written([{ text: 'version: "1.0"', why: "the format's version", isOption: true }], ''),
    '',
    ...(cluster === undefined
      ? ['cluster:', ...clusterLines(content, '  ')]
      : ['# The devices stand in a file of their own.', `cluster: ${scalar(cluster)}`]),
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

/** clusterText writes a cluster file as YAML. */
export function clusterText(content: SpecContent): string {
  const lines = [
    '# This is a cluster: the devices that specs plan with. A line such as "#version: …", with no space after the',
    '# "#", is an option: remove the "#" to set it.',
    'kind: cluster',
    ...written([{ text: 'version: "1.0"', why: "the format's version", isOption: true }], ''),
    ...clusterLines(content, ''),
  ];
  return `${lines.join('\n')}\n`;
}

function clusterLines({ classes }: SpecContent, indent: string): string[] {
  const network = 'effective bandwidth of a server, each direction; what cuts cost depends on it';
  return [
    ...written([{ text: `networkGbps: ${NETWORK_GBPS}`, why: network }], indent),
    `${indent}# The classes are those of the profiles. A count of one for each model profiled there is a beginning:`,
    `${indent}# give the devices that you have, or that you think of buying.`,
    `${indent}devices:`,
    ...classes.flatMap((one, i) => classLines(one, i === 0, `${indent}  `)),
  ];
}

function classLines(one: ProposedClass, explained: boolean, indent: string): string[] {
  const { name, count, virtual, memoryGiB, slowdown } = one;
  const emulated =
    slowdown === undefined ? [] : [`${indent}# emulated: ${slowdown} × slower than the device itself`];
  const fields: Field[] = [
    { text: `count: ${count}`, why: 'physical devices' },
    {
      text: `virtual: [${virtual.join(', ')}]`,
      why: 'v divides a device into v virtual ones; these were profiled',
    },
    { text: 'perServer: 1', why: 'devices in one server, which share its link', isOption: true },
    {
      text: `linkGbps: ${NETWORK_GBPS}`,
      why: "a server's link, where it is not networkGbps",
      isOption: true,
    },
    memoryGiB === undefined
      ? {
          text: 'memoryGiB: 1024',
          why: 'memory of one device; weights that do not fit are not planned',
          isOption: true,
        }
      : {
          text: `memoryGiB: ${memoryGiB}`,
          why: 'memory of one device; weights that do not fit are not planned',
        },
    {
      text: 'hourlyCost: 1',
      why: 'of one device; the objective cost and plan compare need it',
      isOption: true,
    },
    { text: 'powerWatts: 100', why: 'of one device; the objective power needs it', isOption: true },
    { text: 'taken: 0', why: 'devices that others use already', isOption: true },
  ];
  return [`${indent}${scalar(name)}:`, ...emulated, ...written(fields, `${indent}  `, explained)];
}

function modelLines(model: SpecContent['models'][number], explained: boolean): string[] {
  const { profile, sloMs, from, classes, rps, fastest } = model;
  const all = `[${classes.map(scalar).join(', ')}]`;
  const others = classes.filter((name) => name !== fastest).map(scalar);
  const share = fastest === undefined ? '{}' : `{ ${scalar(fastest)}: 0.5 }`;
  const fields: Field[] = [
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

function ownMargins(sloMs: number): Field[] {
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

function reasonLines(
  { times, latencyUs, what, deviceClass, virtual, batch }: SloReason,
  name: string,
): string[] {
  const size = virtual === 1 ? '' : `1/${virtual} of `;
  const latency = `${Number((latencyUs / 1000).toPrecision(3))} ms`;
  return [
    `    # The SLO of ${scalar(name)} is a proposal: ${times} × ${latency}, the fastest latency in its profile`,
    `    # (${what}, batch ${batch}, on ${size}${scalar(deviceClass)}). Put in what your users need.`,
  ];
}

function plannerLines(): string[] {
  const objective = 'or cost, power: these meet each rps with the cheapest devices';
  const fields: Field[] = [
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

/** written writes fields, with their explanations unless an earlier part of the spec has them. */
function written(fields: readonly Field[], indent: string, explained = true): string[] {
  return fields.map(({ text, why, isOption }) => {
    const line = `${indent}${isOption ? '#' : ''}${text}`;
    return why === undefined || !explained ? line : `${line.padEnd(EXPLAINED_AT)}  # ${why}`;
  });
}

/** A text of these characters that begins with a letter means itself in YAML, also within a list. */
const PLAIN = /^[A-Za-z][\w./-]*$/;
const WORDS = /^(true|false|yes|no|on|off|null|y|n)$/i;

/**
 * JSON leaves these characters as they are, but YAML takes some for line breaks, and terminals and editors obey them.
 */
const OBEYED = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\ufeff]/gu;

/** scalar writes a text as a YAML scalar. JSON's quoted strings are YAML's too, and break no line. */
function scalar(text: string): string {
  if (PLAIN.test(text) && !WORDS.test(text)) return text;
  return JSON.stringify(text).replaceAll(
    OBEYED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
