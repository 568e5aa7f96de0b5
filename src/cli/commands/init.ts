import { Command, Option } from 'commander';
import type { BegunKind, ExampleName } from '../../api/index.js';
import type { Fault } from '../../formats/index.js';
import { EXIT, type ExitCode } from '../exit.js';
import { positiveNumber, withJson } from '../options.js';
import { fileOf, STDOUT } from '../output.js';
import { action, type Context } from '../run.js';

const KINDS: readonly string[] = ['pooled', 'pipeline', 'cascade', 'workflow'] satisfies BegunKind[];
const EXAMPLES: readonly string[] = ['pooled', 'pipeline', 'cascade', 'workflow'] satisfies ExampleName[];

interface Options {
  kind?: BegunKind;
  example?: ExampleName;
  fromKubectl?: string;
  fromRay?: string;
  slo?: number;
  cluster?: string;
  useCluster?: string;
  records?: string;
  force?: boolean;
  output?: string;
}

/** initCommand makes `plan init`, which begins a spec from profiles or a cluster from nodes, with comments on every field. */
export function initCommand(): Command {
  return withJson(
    new Command('init')
      .description(
        'Begin a spec from profiles: their devices, an SLO for each model, and every option explained in comments. Or begin a cluster from the nodes of Kubernetes or Ray, or write an example that can be solved.',
      )
      .argument(
        '[profile...]',
        'profiles, one per model, of a pipeline in the order of its stages, of a workflow in that of its calls; for an ONNX file, its profile <model>.profile.json',
      )
      .addOption(new Option('--kind <kind>', 'kind of spec (pooled)').choices(KINDS))
      .addOption(
        new Option('--example <name>', 'write this example, in place of a spec from profiles').choices(
          EXAMPLES,
        ),
      )
      .option(
        '--from-kubectl <file>',
        'begin a cluster, without a profile, from what kubectl get nodes -o json prints; - is stdin',
      )
      .option(
        '--from-ray <file>',
        'begin a cluster from what ray list nodes --format json prints; - is stdin',
      )
      .option(
        '--slo <ms>',
        'latency objective of every model, or of the pipeline, cascade or workflow (default: 5 × the fastest latency of its profile; of a pipeline or workflow the sum)',
        positiveNumber,
      )
      .option('--cluster <file>', 'write the devices to a file of their own, instead of into the spec')
      .option(
        '--use-cluster <file>',
        'a cluster that exists, which the spec names in place of proposed devices',
      )
      .option('--records <file>', 'the records of a cascade, where there are any')
      .option('--force', 'replace files that exist; those of an example replace none')
      .option(
        '-o, --output <file>',
        'write the spec or cluster here (YAML); - is stdout. Of an example: the folder (its name)',
      )
      .action(action<[string[]], Options>(begin)),
  );
}

async function begin(context: Context, options: Options, paths: string[]): Promise<ExitCode> {
  await refuseUnfit(options, paths);
  if (options.example !== undefined) return example(context, options.example, options.output);
  const isCluster = options.fromKubectl !== undefined || options.fromRay !== undefined;
  return isCluster ? beginCluster(context, options) : beginSpec(context, options, paths);
}

/** refuseUnfit refuses what does not go together: of an example, of nodes and of profiles something else is begun each. */
async function refuseUnfit(options: Options, paths: readonly string[]): Promise<void> {
  const { InputError } = await import('../../formats/index.js');
  const { example, fromKubectl, fromRay } = options;
  const isCluster = fromKubectl !== undefined || fromRay !== undefined;
  const faults = await (example === undefined
    ? isCluster
      ? clusterFaults(options, paths)
      : specFaults(options, paths)
    : exampleFaults(options, paths));
  const what = isCluster && example === undefined ? 'begin a cluster' : 'begin a spec';
  if (faults.length > 0) throw new InputError(what, faults);
}

async function specFaults({ output }: Options, paths: readonly string[]): Promise<Fault[]> {
  const { fault, option } = await import('../../formats/index.js');
  return [
    ...(paths.length > 0
      ? []
      : [fault(`no profile is named; give some, or ${option('example')} pooled to begin with`)]),
    ...(output === undefined ? [fault('is needed: it names the spec', option('output'))] : []),
  ];
}

/** clusterFaults refuses what says more than nodes: a cluster has no models. */
async function clusterFaults(options: Options, paths: readonly string[]): Promise<Fault[]> {
  const { fault, option } = await import('../../formats/index.js');
  const { fromKubectl, fromRay, output } = options;
  return [
    ...(fromKubectl !== undefined && fromRay !== undefined
      ? [
          fault(
            `is given beside ${option('fromKubectl')}: a cluster is begun from one of them`,
            option('fromRay'),
          ),
        ]
      : []),
    ...(await specOptionFaults(options)),
    ...paths.map((path) => fault('is a profile, and a cluster of nodes is begun without any', path)),
    ...(output === undefined ? [fault('is needed: it names the cluster', option('output'))] : []),
  ];
}

async function exampleFaults(options: Options, paths: readonly string[]): Promise<Fault[]> {
  const { fault, option } = await import('../../formats/index.js');
  const { fromKubectl, fromRay, force, output } = options;
  return [
    ...(await specOptionFaults(options)),
    ...(force === undefined ? [] : [fault(BEGUN_ONLY, option('force'))]),
    ...Object.entries({ fromKubectl, fromRay }).flatMap(([name, path]) =>
      path === undefined ? [] : [fault('tells nodes, and an example has a cluster of its own', option(name))],
    ),
    ...paths.map((path) => fault('is a profile, of which no example is made', path)),
    ...(output === STDOUT
      ? [fault('is stdout; an example has several files: name a folder', option('output'))]
      : []),
  ];
}

const BEGUN_ONLY = 'is for specs that are begun from profiles';

async function specOptionFaults(options: Options): Promise<Fault[]> {
  const { fault, option } = await import('../../formats/index.js');
  const { kind, slo, cluster, useCluster, records } = options;
  return Object.entries({ kind, slo, cluster, useCluster, records }).flatMap(([name, value]) =>
    value === undefined ? [] : [fault(BEGUN_ONLY, option(name))],
  );
}

async function beginCluster({ terminal }: Context, options: Options): Promise<ExitCode> {
  const { initCluster } = await import('../../api/index.js');
  const { commandText } = await import('../../formats/index.js');
  const { foundDevicesTable } = await import('../../report/index.js');
  const { fromKubectl, fromRay, force, output = STDOUT } = options;
  const begun = await initCluster({ fromKubectl, fromRay, force, output: fileOf(output) });
  terminal.document(begun.cluster);
  await terminal.table(foundDevicesTable(begun));
  await terminal.textArtifact('cluster', output, [begun.text]);
  for (const note of begun.notes) await terminal.warn(note);
  if (output === STDOUT) return EXIT.done;
  const next = ['init', 'model.profile.json', '--use-cluster', output, '-o', 'spec.yaml'];
  terminal.note(`next: ${commandText(next)}`);
  return EXIT.done;
}

async function example({ terminal }: Context, name: ExampleName, output?: string): Promise<ExitCode> {
  const { writeExample } = await import('../../api/index.js');
  const { emittedHead } = await import('../../artifacts/index.js');
  const { commandText } = await import('../../formats/index.js');
  const { folder, files } = await writeExample(name, output);
  terminal.document({ ...emittedHead('example', []), folder, files });
  for (const file of files) terminal.line(file);
  terminal.line(`example: ${folder}`);
  terminal.note(
    `next: ${commandText(['solve', `${folder.replace(/\/+$/, '')}/spec.yaml`, '-o', 'plan.json'])}`,
  );
  return EXIT.done;
}

async function beginSpec({ terminal }: Context, options: Options, paths: string[]): Promise<ExitCode> {
  const { initSpec } = await import('../../api/index.js');
  const { commandText } = await import('../../formats/index.js');
  const { proposalLine, proposalTable, proposedDevicesTable } = await import('../../report/index.js');
  const { kind = 'pooled', slo, cluster, useCluster, records, force, output = STDOUT } = options;
  const given = { kind, slo, cluster, useCluster, records, force, output: fileOf(output) };
  const begun = await initSpec(paths, given);
  terminal.document(begun.spec);
  await terminal.table(proposalTable(begun));
  const whole = proposalLine(begun);
  if (whole !== undefined) terminal.line(whole);
  terminal.line();
  await terminal.table(proposedDevicesTable(begun));
  if (cluster !== undefined) terminal.line(`cluster: ${cluster}`);
  await terminal.textArtifact('spec', output, [begun.text]);
  for (const note of begun.notes) await terminal.warn(note);
  if (output === STDOUT) return EXIT.done;
  const next = begun.lacksRecords ? recorded(output) : ['solve', output, '-o', 'plan.json'];
  terminal.note(`next: ${commandText(next)}`);
  return EXIT.done;
}

/** recorded is the command that makes the records of a cascade. */
function recorded(spec: string): string[] {
  return ['profile', spec, '--samples', 'samples.npy', '--labels', 'labels.csv'];
}
