import { Command, Option } from 'commander';
import type { ExampleName, SpecKind } from '../../api/index.js';
import { EXIT, type ExitCode } from '../exit.js';
import { positiveNumber, withJson } from '../options.js';
import { fileOf, STDOUT } from '../output.js';
import { action, type Context } from '../run.js';

const KINDS: readonly string[] = ['pooled', 'pipeline', 'cascade'] satisfies SpecKind[];
const EXAMPLES: readonly string[] = ['pooled', 'pipeline', 'cascade'] satisfies ExampleName[];

interface Options {
  kind?: SpecKind;
  example?: ExampleName;
  slo?: number;
  cluster?: string;
  records?: string;
  force?: boolean;
  output?: string;
}

/** initCommand makes `plan init`, which begins a spec from profiles, with comments that explain every field. */
export function initCommand(): Command {
  return withJson(
    new Command('init')
      .description(
        'Begin a spec from profiles: their devices, an SLO for each model, and every option explained in comments. Or write an example that can be solved.',
      )
      .argument(
        '[profile...]',
        'profiles, one per model, of a pipeline in the order of its stages; for an ONNX file, its profile <model>.profile.json',
      )
      .addOption(new Option('--kind <kind>', 'kind of spec (pooled)').choices(KINDS))
      .addOption(
        new Option('--example <name>', 'write this example, in place of a spec from profiles').choices(
          EXAMPLES,
        ),
      )
      .option(
        '--slo <ms>',
        'latency objective of every model, or of the pipeline or cascade (default: 5 × the fastest latency of its profile; of a pipeline the sum)',
        positiveNumber,
      )
      .option('--cluster <file>', 'write the devices to a file of their own, instead of into the spec')
      .option('--records <file>', 'the records of a cascade, where there are any')
      .option('--force', 'replace files that exist; those of an example replace none')
      .option(
        '-o, --output <file>',
        'write the spec here (YAML); - is stdout. Of an example: the folder (its name)',
      )
      .action(action<[string[]], Options>(begin)),
  );
}

async function begin(context: Context, options: Options, paths: string[]): Promise<ExitCode> {
  await refuseUnfit(options, paths);
  return options.example === undefined
    ? beginSpec(context, options, paths)
    : example(context, options.example, options.output);
}

/** refuseUnfit refuses what does not go together: an example is written as it is, and a spec needs profiles. */
async function refuseUnfit(options: Options, paths: readonly string[]): Promise<void> {
  const { fault, InputError, option } = await import('../../artifacts/index.js');
  const { example, kind, slo, cluster, records, force, output } = options;
  const unfit = Object.entries({ kind, slo, cluster, records, force }).flatMap(([name, value]) =>
    value === undefined ? [] : [fault('is for specs that are begun from profiles', option(name))],
  );
  const faults =
    example === undefined
      ? [
          ...(paths.length > 0
            ? []
            : [fault(`no profile is named; give some, or ${option('example')} pooled to begin with`)]),
          ...(output === undefined ? [fault('is needed: it names the spec', option('output'))] : []),
        ]
      : [
          ...unfit,
          ...paths.map((path) => fault('is a profile, of which no example is made', path)),
          ...(output === STDOUT
            ? [fault('is stdout; an example has several files: name a folder', option('output'))]
            : []),
        ];
  if (faults.length > 0) throw new InputError('begin a spec', faults);
}

async function example({ terminal }: Context, name: ExampleName, output?: string): Promise<ExitCode> {
  const { writeExample } = await import('../../api/index.js');
  const { commandText, emittedHead } = await import('../../artifacts/index.js');
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
  const { commandText } = await import('../../artifacts/index.js');
  const { proposalLine, proposalTable, proposedDevicesTable } = await import('../../report/index.js');
  const { kind = 'pooled', slo, cluster, records, force, output = STDOUT } = options;
  const begun = await initSpec(paths, { kind, slo, cluster, records, force, output: fileOf(output) });
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
