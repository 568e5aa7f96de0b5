import { schemaModeline } from '../../../artifacts/index.js';
import { counted, listed } from '../../../formats/index.js';
import { NETWORK_GBPS, type SpecLine, scalar, written } from '../spec-lines.js';
import type { FoundClass } from './classes.js';

/** A line that names nodes is about so long. */
const LINE_LETTERS = 100;

/**
 * foundClusterText writes a cluster file of the classes that nodes have. Figures that nodes do not give are
 * proposed or an option, with an explanation.
 * @param of which program told the nodes, and where the file will lie
 */
export function foundClusterText(
  classes: readonly FoundClass[],
  of: { readonly source: string; readonly output: string | undefined },
): string {
  const modeline = schemaModeline('cluster', of.output);
  const aliased = new Set(classes.map(({ as }) => as));
  const lines = [
    ...(modeline === undefined ? [] : [modeline]),
    `# This is a cluster: the devices that specs plan with, as ${of.source} told its nodes. A line such as "#version: …",`,
    '# with no space after the "#", is an option: remove the "#" to set it.',
    'kind: cluster',
    ...written(
      [
        { text: 'version: "1.0"', why: "the format's version", isOption: true },
        {
          text: `networkGbps: ${NETWORK_GBPS}`,
          why: 'a proposal, as nodes do not tell it: effective bandwidth of a server, each direction',
        },
        { text: 'currency: USD', why: 'of all prices; it is shown beside them', isOption: true },
      ],
      '',
    ),
    'devices:',
    ...classes.flatMap((one, i) =>
      foundClassLines(one, { explained: i === 0, hasAliases: aliased.has(one.name) }),
    ),
  ];
  return `${lines.join('\n')}\n`;
}

/** The figures of a class that only specs of workflows need, and that nodes do not have. */
const FOR_WORKFLOWS: readonly SpecLine[] = [
  { text: 'gpuLinkGbps: 2400', why: 'between devices of a server; for workflows', isOption: true },
  { text: 'loadGBps: 20', why: "from a server's memory to a device; for workflows", isOption: true },
  { text: 'hostMemoryGiB: 512', why: 'what a server keeps of components; for workflows', isOption: true },
  { text: 'diskGBps: 2', why: "from a server's disk to its memory; for workflows", isOption: true },
];

/** foundClassLines writes a class. A class that has aliases cannot be an alias. */
function foundClassLines(
  one: FoundClass,
  { explained, hasAliases }: { readonly explained: boolean; readonly hasAliases: boolean },
): string[] {
  const { name, as, count, perServer, virtual, memoryGiB, servers } = one;
  const fields: SpecLine[] = [
    ...(hasAliases
      ? []
      : [
          {
            text: `as: ${scalar(as ?? profiledName(name))}`,
            why: 'the class of the profiles whose figures it has, where that is called otherwise',
            isOption: as === undefined,
          },
        ]),
    { text: `count: ${count}`, why: 'devices that can be used' },
    { text: `perServer: ${perServer}`, why: 'devices in one server, which share its link' },
    virtual === undefined
      ? { text: 'virtual: [1]', why: 'v divides a device into v virtual ones; [1, 2] where MPS is set up' }
      : { text: `virtual: [${virtual}]`, why: 'its nodes divide each device into so many by MPS' },
    {
      text: `linkGbps: ${NETWORK_GBPS}`,
      why: "a server's link, where it is not networkGbps",
      isOption: true,
    },
    {
      text: `memoryGiB: ${memoryGiB ?? 24}`,
      why: 'memory of one device; weights that do not fit are not planned',
      isOption: memoryGiB === undefined,
    },
    { text: 'hourlyCost: 1', why: 'of one device; nodes do not tell it', isOption: true },
    { text: 'powerWatts: 100', why: 'of one device; the objective power needs it', isOption: true },
    { text: 'taken: 0', why: 'devices that others use already; nodes do not tell it', isOption: true },
    ...FOR_WORKFLOWS,
  ];
  // A figure that one class lacks may be known of the first, whose line then has another explanation.
  const isOdd = ({ text }: SpecLine) =>
    (as !== undefined && text.startsWith('as:')) || text === `virtual: [${virtual}]`;
  return [
    `  # ${nodesText(servers)}`,
    `  ${scalar(name)}:`,
    ...fields.flatMap((field) => written([field], '    ', explained || isOdd(field))),
  ];
}

/** profiledName guesses what a class may be called in profiles: A10G of NVIDIA-A10G. */
function profiledName(name: string): string {
  if (name.includes('-MIG-')) return 'profiled';
  const model = /^(?:nvidia-)?(?:tesla-)?([a-z]+\d+[a-z]*)\b/i.exec(name)?.[1]?.toUpperCase();
  return model === undefined || model === name ? 'profiled' : model;
}

/** nodesText names the types of a class's machines, and its nodes as far as a line has room. */
function nodesText(servers: FoundClass['servers']): string {
  const machines = [...new Set(servers.flatMap(({ machine }) => machine ?? []))].sort();
  const head = `${counted(servers.length, 'node')}${machines.length === 0 ? '' : ` of ${listed(machines)}`}: `;
  const names = servers.map(({ name }) => name);
  let fitting = 1;
  while (
    fitting < names.length &&
    head.length + names.slice(0, fitting + 1).join(', ').length <= LINE_LETTERS
  )
    fitting++;
  const more = names.length - fitting;
  return `${head}${names.slice(0, fitting).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
