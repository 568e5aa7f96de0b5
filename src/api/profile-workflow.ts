import {
  checkReadable,
  eachRun,
  emittedHead,
  everyInput,
  inputFile,
  loadArtifact,
  loadSpec,
  outputFiles,
  pathFrom,
  profileInputs,
  refuseReplacing,
  sha256OfFile,
  specInputs,
  withTemporaryFolder,
  writeWhole,
} from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import { writeStages } from '../deploy/index.js';
import { checkOnnxRuntime } from '../execution/index.js';
import {
  counted,
  type Fault,
  type FaultPlace,
  fault,
  InputError,
  type Loaded,
  listed,
  MissingError,
  option,
  type PipelineProfile,
  type Run,
  type SampledRuns,
  shown,
  ToldFaults,
  type WorkflowEntry,
} from '../formats/index.js';
import { type CalledComponent, RunRecorder, readSamples, type SampleFile } from '../samples/index.js';
import { refusing, usedOrTold } from '../specs/index.js';
import { modelOfProfile } from './deploy.js';
import { withHostExecutor } from './host-executor.js';
import { checkOutputs, measureMissing, type ProfilePipelineOptions } from './profile-pipeline.js';

/** ProfileWorkflowOptions says of which workflow sample requests are, where several have a program. */
export interface ProfileWorkflowOptions extends ProfilePipelineOptions {
  readonly workflow?: string | undefined;
}

/**
 * profileWorkflow measures the models of a spec's components whose profiles are missing, runs the program of a workflow on sample
 * requests, and writes what it called as recorded runs: where the spec looks for them, or where an output is named. Runs of other
 * workflows in that file stay there.
 * @throws InputError with every fault of the spec, the program or the samples, also where the output would replace an input, or
 *   the program fails for a sample; MissingError where files are only missing
 */
export async function profileWorkflow(
  path: string,
  options: ProfileWorkflowOptions,
): Promise<PipelineProfile> {
  const task = `profile ${path}`;
  const spec = await usedOrTold(path, loadSpec(path, ['workflow']), (one) =>
    withCheckedOptions(one, options),
  );
  const { samples = [] } = options;
  const named = spec.value.components.map(({ profile }) => pathFrom(path, profile));
  const paths = [...new Set(named)];
  const measured = await measureMissing(paths, path, {
    ...options,
    whatFor: 'to record what a program calls',
  });
  const loaded = await everyInput<Loaded<'profile'>[]>(
    task,
    paths.map((one) => loadArtifact(one, ['profile'])),
  );
  const head = [...specInputs(spec, undefined), ...loaded.map((one) => inputFile('profile', one, undefined))];
  const base = {
    name: spec.value.workflows.map(({ name }) => name).join(', '),
    profiles: paths.map((one) => ({ path: one, measured: measured.includes(one) })),
  };
  if (samples.length === 0) return { ...emittedHead('pipeline-profile', head), ...base, warnings: [] };
  const asked = askedWorkflow(spec, options);
  await refuseReplacing(
    task,
    outputFiles({ output: asked.output }),
    loaded.flatMap((one) => profileInputs(one)),
  );
  const profiles = named.map((one) => itemAt(loaded, paths.indexOf(one)));
  const recorded = await runsOf(spec, { profiles, asked }, options);
  await writeWhole(asked.output, await withOthers(asked, recorded.runs), { isUpdate: true });
  const files = [...recorded.files, recorded.program].map((file) => inputFile('samples', file, undefined));
  return {
    ...emittedHead('pipeline-profile', [...head, ...files]),
    ...base,
    recorded: figuresOf(asked, recorded),
    warnings:
      recorded.withoutCalls === 0
        ? []
        : [
            `${counted(recorded.withoutCalls, 'sample')} called no component, and ${recorded.withoutCalls === 1 ? 'is' : 'are'} in no run`,
          ],
  };
}

/** AskedWorkflow is the workflow that samples are of, its program, and where its runs are written. */
interface AskedWorkflow {
  readonly name: string;
  readonly program: string;
  readonly output: string;
}

/**
 * askedWorkflow finds the workflow that samples are of.
 * @throws InputError where the workflow is not named, it has no program, or nobody says where its runs are to
 * be written
 */
function askedWorkflow(
  { path, value: { workflows } }: Loaded<'workflow'>,
  { workflow, output }: ProfileWorkflowOptions,
): AskedWorkflow {
  const task = `profile ${path}`;
  const programmed = workflows.filter(({ program }) => program !== undefined);
  const names = listed(programmed.map(({ name }) => name));
  const found = workflow === undefined ? programmed : workflows.filter(({ name }) => name === workflow);
  const refused = (message: string, at: FaultPlace = ''): InputError =>
    new InputError(task, [fault(message, at)]);
  if (programmed.length === 0)
    throw refused('no workflow has a program that could run on samples', '/workflows');
  if (found.length === 0)
    throw refused(
      `is ${shown(workflow as string)}; the workflows with a program are ${names}`,
      option('workflow'),
    );
  if (found.length > 1) throw refused(`samples are of one workflow: name it, ${names}`, option('workflow'));
  const [{ name, program, runs }] = found as [WorkflowEntry];
  if (program === undefined)
    throw refused(
      `is ${name}, which has no program; ${names} ${programmed.length === 1 ? 'has' : 'have'} one`,
      option('workflow'),
    );
  if (output === undefined && runs === undefined)
    throw refused(
      `${name} names no runs: say there where they are written, or give ${option('output')}`,
      `/workflows/${workflows.findIndex((one) => one.name === name)}/runs`,
    );
  return { name, program: pathFrom(path, program), output: output ?? pathFrom(path, runs as string) };
}

/** withCheckedOptions gives a spec once its samples are there and its runs can be written. @throws InputError with every fault */
async function withCheckedOptions(
  spec: Loaded<'workflow'>,
  options: ProfileWorkflowOptions,
): Promise<Loaded<'workflow'>> {
  const { samples = [] } = options;
  const { path, value } = spec;
  const task = `profile ${path}`;
  const read = [path, ...value.components.map(({ profile }) => pathFrom(path, profile)), ...samples];
  const asked = samples.length === 0 ? undefined : askedWorkflow(spec, options);
  const inputs = [...read, ...(asked === undefined ? [] : [asked.program])];
  await everyInput(task, [
    refusing(() => refuseUnused(task, options)),
    checkOutputs(
      task,
      outputFiles({ output: asked?.output }),
      inputs.map((one) => ({ what: 'a file of the workflow', path: one })),
    ),
    ...samples.map(checkReadable),
    ...(asked === undefined ? [] : [checkReadable(asked.program)]),
  ]);
  return spec;
}

/** refuseUnused refuses options of which nothing could be written. */
function refuseUnused(
  task: string,
  { samples = [], output, verdicts, workflow }: ProfileWorkflowOptions,
): void {
  const faults: Fault[] = [];
  if (verdicts !== undefined)
    faults.push(fault('is for pipelines; what a program calls is recorded as runs', option('verdicts')));
  for (const [field, value] of Object.entries({ output, workflow }))
    if (value !== undefined && samples.length === 0)
      faults.push(fault(`is for what samples call: give ${option('samples')} too`, option(field)));
  if (faults.length > 0) throw new InputError(task, faults);
}

/** RunsOfSamples are the runs of samples, and the files that they were made from. */
interface RunsOfSamples {
  readonly runs: readonly Run[];
  readonly withoutCalls: number;
  readonly samples: number;
  readonly files: readonly SampleFile[];
  readonly program: SampleFile;
}

/** runsOf runs the program with the models as a bundle would hold them. */
async function runsOf(
  spec: Loaded<'workflow'>,
  { profiles, asked }: { readonly profiles: readonly Loaded<'profile'>[]; readonly asked: AskedWorkflow },
  { samples = [], signal, onProgress }: ProfileWorkflowOptions,
): Promise<RunsOfSamples> {
  checkOnnxRuntime();
  onProgress?.({ doing: 'reading the models' });
  const distinct = [...new Set(profiles)];
  const read = await everyInput(
    `profile ${spec.path}`,
    distinct.map((profile) => modelOfProfile(profile, { ...(signal && { signal }) })),
  );
  const models = profiles.map((profile) => itemAt(read, distinct.indexOf(profile)));
  return withTemporaryFolder('samples', async (folder) => {
    const stages = spec.value.components.map(({ name }, i) => {
      const { inputs = [], outputs = [] } = itemAt(profiles, i).value.model;
      return { name, outputs, inputs: inputs.map((input) => ({ ...input, from: [] })) };
    });
    const deployed = models.map((model) => model.deployed);
    const written = await writeStages(folder, { stages, models: deployed, signal });
    const components = written.stages.map(
      (stage): CalledComponent => ({ ...stage, file: `${folder}/${stage.file}` }),
    );
    return withHostExecutor(signal, async (executor) => {
      const recorder = await RunRecorder.start(asked.program, {
        application: asked.name,
        components,
        executor,
        signal,
        onRow: (done) => onProgress?.({ doing: `sample ${done}` }),
      });
      try {
        const told = new ToldFaults();
        const { rows, files } = await readSamples(samples, { inputs: recorder.inputs }, told);
        if (told.count > 0) throw told.error(`profile ${spec.path}`);
        const { runs, withoutCalls } = await recorder.record(rows);
        return { runs, withoutCalls, samples: rows.length, files, program: await digestOf(asked.program) };
      } finally {
        await recorder.close();
      }
    });
  });
}

async function digestOf(path: string): Promise<SampleFile> {
  return { path, sha256: await sha256OfFile(path) };
}

/** withOthers gives the lines of a file of runs: those of other workflows that it has already, then the new ones. */
async function withOthers({ output, name }: AskedWorkflow, runs: readonly Run[]): Promise<string> {
  const kept: Run[] = [];
  const keep = (run: Run): readonly Fault[] => {
    if (run.application !== name) kept.push(run);
    return [];
  };
  try {
    await eachRun(output, keep);
  } catch (error) {
    if (!(error instanceof MissingError)) throw error;
  }
  return [...kept, ...runs].map((run) => `${JSON.stringify(run)}\n`).join('');
}

function figuresOf({ name, output }: AskedWorkflow, { runs, samples }: RunsOfSamples): SampledRuns {
  const calls = new Map<string, number>();
  for (const { tasks } of runs)
    for (const { component } of tasks) calls.set(component, (calls.get(component) ?? 0) + 1);
  return {
    workflow: name,
    runs: output,
    samples,
    components: [...calls].map(([component, count]) => ({ name: component, calls: count })).sort(byName),
  };
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
