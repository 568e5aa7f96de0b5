import {
  attempted,
  checkWritable,
  emittedHead,
  heard,
  isStdin,
  oneErrorOf,
  outputFiles,
  parseArtifact,
  pause,
  readForeign,
  replacingFaults,
  specName,
  writeWhole,
} from '../../artifacts/index.js';
import type { Steps } from '../../collections/index.js';
import { type Fault, fault, InputError, type OpenCluster, option } from '../../formats/index.js';
import { begunFileFaults } from './begun-files.js';
import { foundClasses } from './found/classes.js';
import { foundClusterText } from './found/cluster-text.js';
import { kubernetesServers } from './found/kubernetes.js';
import { rayServers } from './found/ray.js';
import { FieldReader, type FoundDevices } from './found/servers.js';

/** InitClusterOptions says what tells the nodes of a cluster, one of both, and where the cluster is written. */
export interface InitClusterOptions {
  /** A file with the answer of `kubectl get nodes -o json` or `-o yaml`; `-` is stdin. */
  readonly fromKubectl?: string | undefined;
  /** A file with the answer of `ray list nodes --format json`, or of another interface of Ray; `-` is stdin. */
  readonly fromRay?: string | undefined;
  /** force says whether a file that exists is replaced. */
  readonly force?: boolean | undefined;
  /** The file that the cluster is written to; nothing is written without it. */
  readonly output?: string | undefined;
}

/** InitCluster is a cluster that was begun from nodes. */
export interface InitCluster {
  /** The cluster's YAML, with its comments. */
  readonly text: string;
  /** The cluster that the text holds, with the schema and the version of the format. */
  readonly cluster: OpenCluster;
  /** The notes on what was left out or guessed, and on what nodes do not have. */
  readonly notes: readonly string[];
}

/** Source is a program that tells nodes. */
interface Source {
  readonly option: 'fromKubectl' | 'fromRay';
  /** The command that tells them, as the file's comment and errors name it. */
  readonly command: string;
  readonly advice: string;
  readonly servers: (value: unknown, reader: FieldReader) => Steps<FoundDevices>;
}

const SOURCES: readonly Source[] = [
  {
    option: 'fromKubectl',
    command: 'kubectl get nodes',
    advice: 'Give what `kubectl get nodes -o json` prints, or `-o yaml` in a file that ends in .yaml.',
    servers: kubernetesServers,
  },
  {
    option: 'fromRay',
    command: 'Ray',
    advice:
      'Give what `ray list nodes --format json --limit 10000` prints, or the dashboard at /nodes?view=summary.',
    servers: rayServers,
  },
];

const NOT_TOLD =
  'networkGbps is a proposal, since nodes do not tell it: put in the bandwidth of your servers';

/**
 * initCluster begins a cluster from the nodes that Kubernetes or Ray reports: classes by the product of their GPUs, or by the
 * label `inferplan/class`, with counts, servers, memory and shares. It writes the cluster where that is named, and specs can
 * name it as it is. The same nodes, in any order, give the same bytes.
 * @throws InputError with every fault of the options and the nodes, where a file exists and `force` is not set, or where it
 *   would replace the input; MissingError where only the file is missing
 */
export async function initCluster(options: InitClusterOptions): Promise<InitCluster> {
  const task = 'begin a cluster';
  const { output, force } = options;
  const { source, path } = sourceOf(options, task);
  const outputs = outputFiles({ output });
  const errors: InputError[] = [];
  for (const one of outputs) if (one.path !== '') await attempted(errors, checkWritable(one.path));
  const inputs = isStdin(path) ? [] : [{ what: 'what tells the nodes', path }];
  const own = [...(await begunFileFaults(outputs, force)), ...(await replacingFaults(outputs, inputs))];
  if (own.length > 0) errors.push(new InputError(task, own));
  const found = await attempted(errors, foundIn(path, source));
  if (found === undefined || errors.length > 0) throw oneErrorOf(task, errors);
  await pause();
  const { classes, notes } = foundClasses(found.servers);
  const text = foundClusterText(classes, { source: source.command, output });
  await pause();
  const { value } = parseArtifact(text, 'cluster.yaml', ['cluster']);
  if (output !== undefined) await writeWhole(output, text);
  const { $schema, version } = emittedHead('cluster', []);
  const { kind, ...rest } = value;
  const cluster = { $schema, kind, version, ...rest } as OpenCluster;
  return { text, cluster, notes: [...found.notes, ...notes, NOT_TOLD] };
}

/** sourceOf is the program that tells the nodes. @throws InputError unless one is named */
function sourceOf(options: InitClusterOptions, task: string): { source: Source; path: string } {
  const named = SOURCES.flatMap((source) => {
    const path = options[source.option];
    return path === undefined ? [] : [{ source, path }];
  });
  const [first] = named;
  if (first !== undefined && named.length === 1) return first;
  const both = SOURCES.map((source) => option(source.option)).join(' and ');
  const said: Fault = fault(`${both} tell the nodes of a cluster: give one of them`);
  throw new InputError(task, [said]);
}

async function foundIn(path: string, { servers, advice }: Source): Promise<FoundDevices> {
  const reader = new FieldReader();
  const task = `read ${specName(path)}`;
  try {
    const found = await heard(servers(await readForeign(path), reader));
    if (reader.told.count === 0) return found;
  } catch (error) {
    throw advised(error, advice);
  }
  throw new InputError(task, reader.faults(), advice);
}

/** advised says with what is wrong in a file how it is made; a file that is not there needs no such words. */
function advised(error: unknown, advice: string): unknown {
  if (!(error instanceof InputError) || error.name !== 'InputError') return error;
  return new InputError(error.task, error.faults, error.advice ?? advice);
}
