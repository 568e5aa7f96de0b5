import type { ProposedClass, ProposedModel, SloReason, WholeSlo } from './proposal.js';

/** SpecContent is the content of a spec. */
export interface SpecContent {
  readonly classes: readonly ProposedClass[];
  readonly models: readonly (ProposedModel & {
    /** The profile's path as the spec names it. */
    readonly profile: string;
  })[];
  /** The cluster's file as the spec names it; the cluster stands in the spec where there is none. */
  readonly cluster?: string | undefined;
  /** The SLO of a pipeline or cascade as a whole; absent where each model has its own. */
  readonly slo?: WholeSlo;
  /** The rate that is proposed for all models. */
  readonly rps: number;
  /** isPriced says whether plans are compared by what devices cost, so that each class needs a price. */
  readonly isPriced?: boolean;
  /**
   * The memory of devices of workflows, which hold several components and load them, for each class that does
   * not say its own.
   */
  readonly memoryGiB?: number;
}

/** NETWORK_GBPS is the bandwidth that is proposed for servers: a common one, and a cautious one for devices of one machine. */
export const NETWORK_GBPS = 10;

/** LOAD_GBPS is proposed for what components are loaded at: what a PCIe 3.0 x16 link gives, less its overheads. */
const LOAD_GBPS = 12;

/** Explanations begin at this column. */
const EXPLAINED_AT = 34;

/** SpecLine is a line of the spec: a value with its explanation. An option is commented out. */
export interface SpecLine {
  readonly text: string;
  readonly why?: string | undefined;
  readonly isOption?: boolean;
}

/** beginning gives the first lines of a spec. */
export function beginning(kind: string): string[] {
  return [
    '# This is a spec for `plan solve`. It says which models are served, under which latency objectives, on which',
    '# devices. A line such as "#version: …", with no space after the "#", is an option: remove the "#" to set it.',
    `kind: ${kind}`,
    ...written([{ text: 'version: "1.0"', why: "the format's version", isOption: true }], ''),
  ];
}

/** clusterOfSpec gives the lines of the cluster in a spec: the devices themselves, or the name of their file. */
export function clusterOfSpec(content: SpecContent): string[] {
  const { cluster } = content;
  return cluster === undefined
    ? ['cluster:', ...clusterLines(content, '  ')]
    : ['# The devices stand in a file of their own.', `cluster: ${scalar(cluster)}`];
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

function clusterLines(content: SpecContent, indent: string): string[] {
  const { classes } = content;
  const network = 'effective bandwidth of a server, each direction; what cuts cost depends on it';
  return [
    ...written(
      [
        { text: `networkGbps: ${NETWORK_GBPS}`, why: network },
        { text: 'currency: USD', why: 'of all prices; it is shown beside them', isOption: true },
      ],
      indent,
    ),
    `${indent}# The classes are those of the profiles. A count of one for each model profiled there is a beginning:`,
    `${indent}# give the devices that you have, or that you think of buying.`,
    `${indent}devices:`,
    ...classes.flatMap((one, i) => classLines(one, content, { explained: i === 0, indent: `${indent}  ` })),
    ...aliasLines(content, `${indent}  `),
  ];
}

/** aliasLines gives, as an option, a class with the figures of the first one that was profiled. */
function aliasLines({ classes: [first], memoryGiB }: SpecContent, indent: string): string[] {
  if (first === undefined) return [];
  const more =
    memoryGiB === undefined
      ? 'powerWatts: 100'
      : `memoryGiB: ${first.memoryGiB ?? memoryGiB}, loadGBps: ${LOAD_GBPS}`;
  const text = `${scalar(`${first.name}-spot`)}: { as: ${scalar(first.name)}, count: 1, hourlyCost: 1, ${more} }`;
  return written([{ text, why: 'the same devices at another price', isOption: true }], indent);
}

function classLines(
  one: ProposedClass,
  content: SpecContent,
  { explained, indent }: { readonly explained: boolean; readonly indent: string },
): string[] {
  const { name, count, virtual, slowdown } = one;
  const emulated =
    slowdown === undefined ? [] : [`${indent}# emulated: ${slowdown} × slower than the device itself`];
  const fields: SpecLine[] = [
    { text: `count: ${count}`, why: 'physical devices' },
    ...(content.memoryGiB === undefined
      ? [
          {
            text: `virtual: [${virtual.join(', ')}]`,
            why: 'v divides a device into v virtual ones; these were profiled',
          },
        ]
      : []),
    { text: 'perServer: 1', why: 'devices in one server, which share its link', isOption: true },
    {
      text: `linkGbps: ${NETWORK_GBPS}`,
      why: "a server's link, where it is not networkGbps",
      isOption: true,
    },
    ...memoryFields(one, content),
    ...priceFields(content),
    { text: 'taken: 0', why: 'devices that others use already', isOption: true },
  ];
  return [`${indent}${scalar(name)}:`, ...emulated, ...written(fields, `${indent}  `, explained)];
}

function priceFields({ isPriced = false, memoryGiB }: SpecContent): SpecLine[] {
  const power = {
    text: 'powerWatts: 100',
    why: 'of one device; the objective power needs it',
    isOption: true,
  };
  if (isPriced) {
    const why = 'of one device: put in what yours cost; the cheapest plan is looked for';
    return [{ text: 'hourlyCost: 1', why }, power];
  }
  const text = 'hourlyCost: 1';
  if (memoryGiB === undefined)
    return [
      { text, why: 'of one device; the objective cost and plan compare need it', isOption: true },
      power,
    ];
  return [{ text, why: 'of one device; plan compare needs it', isOption: true }];
}

/** memoryFields gives the memory of a class, and, where its devices load components, how fast they come. */
function memoryFields({ memoryGiB }: ProposedClass, { memoryGiB: forAll }: SpecContent): SpecLine[] {
  if (forAll === undefined) {
    const why = 'memory of one device; weights that do not fit are not planned';
    return [{ text: `memoryGiB: ${memoryGiB ?? 1024}`, why, isOption: memoryGiB === undefined }];
  }
  const all = 'a proposal, which holds all components: put in the memory of one device';
  return [
    {
      text: `memoryGiB: ${memoryGiB ?? forAll}`,
      why: memoryGiB === undefined ? all : 'memory of one device, for components and outputs',
    },
    { text: `loadGBps: ${LOAD_GBPS}`, why: "gigabytes/s from the server's memory to a device: put in yours" },
    {
      text: 'hostMemoryGiB: 64',
      why: 'for components, of a server; the others come from its disk',
      isOption: true,
    },
    { text: 'diskGBps: 2', why: 'gigabytes/s from the disk; hostMemoryGiB needs it', isOption: true },
    { text: 'gpuLinkGbps: 100', why: 'gigabits/s between devices of one server', isOption: true },
  ];
}

/** reasonLines says in comments which latency a model's SLO was derived from. */
export function reasonLines(
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

/** written writes fields, with their explanations unless an earlier part of the spec has them. */
export function written(fields: readonly SpecLine[], indent: string, explained = true): string[] {
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
export function scalar(text: string): string {
  if (PLAIN.test(text) && !WORDS.test(text)) return text;
  return JSON.stringify(text).replaceAll(
    OBEYED,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** sloLines gives the lines of an SLO for all models, with the reason for it unless a person gave it. */
export function sloLines({ slo, models }: SpecContent, indent: string, field = 'sloMs'): string[] {
  if (slo === undefined) return [];
  const all = models.map(({ name, sloMs }) => `${scalar(name)} ${sloMs}`).join(', ');
  const reason = {
    sum: `the sum of 5 × the fastest latency of each model (${all})`,
    largest: `5 × the fastest latency of the slowest model (${all})`,
    given: undefined,
  }[slo.from];
  return [
    ...(reason === undefined
      ? []
      : [`${indent}# The SLO is a proposal: ${reason}.`, `${indent}# Put in what your users need.`]),
    ...written(
      [{ text: `${field}: ${slo.sloMs}`, why: 'the most that a request may take from end to end' }],
      indent,
    ),
  ];
}
