import {
  attempted,
  checkWritable,
  emittedHead,
  everyInput,
  loadArtifact,
  oneErrorOf,
  outputFiles,
  profileInputs,
  relativePath,
  replacingFaults,
  sha256OfFile,
  writeWhole,
} from '../../artifacts/index.js';
import {
  type ArtifactTypes,
  commandText,
  type Fault,
  fault,
  InputError,
  type Loaded,
  MissingError,
  type OpenCluster,
  option,
} from '../../formats/index.js';

import { profilePathOf } from '../profile.js';
import { BEGINNINGS, type BegunKind } from './begun.js';
import { begunFileFaults } from './begun-files.js';
import {
  commonRps,
  type ProposedClass,
  type ProposedModel,
  proposedClasses,
  proposedModel,
  type WholeSlo,
  wholeSlo,
} from './proposal.js';
import type { SpecContent } from './spec-lines.js';

/** InitOptions says which spec is begun, and where it is written. */
export interface InitOptions {
  readonly kind: BegunKind;
  /**
   * The SLO in milliseconds of every model, or of a pipeline or cascade. By default it is five times the fastest latency in a
   * model's profile: of a pipeline the sum, and of a cascade the largest.
   */
  readonly slo?: number | undefined;
  /** The file that the cluster is written to; it stands in the spec by default. */
  readonly cluster?: string | undefined;
  /** A cluster's file that exists and that the spec names, in place of devices proposed from the profiles. It stays as it is. */
  readonly useCluster?: string | undefined;
  /** The records of a cascade, which are then read too; by default the spec names `records.csv` beside it. */
  readonly records?: string | undefined;
  /** force says whether files that exist are replaced. */
  readonly force?: boolean | undefined;
  /** The file that the spec is written to; nothing is written without it. */
  readonly output?: string | undefined;
}

/** InitSpec is a spec that was begun. */
export interface InitSpec {
  /** The spec's YAML, with its comments. */
  readonly text: string;
  /** The spec that the text holds, with the schema and the version of the format. */
  readonly spec: ArtifactTypes[BegunKind];
  readonly cluster: OpenCluster;
  readonly models: readonly ProposedModel[];
  /** The SLO of a pipeline or cascade as a whole. */
  readonly slo?: WholeSlo;
  /** The notes on what is to be done to the spec before it can be solved. */
  readonly notes: readonly string[];
  /** lacksRecords says whether records are to be made before the spec can be solved. */
  readonly lacksRecords: boolean;
}

function recordsFaults({ records, kind }: InitOptions, takesRecords: boolean): Fault[] {
  if (records === undefined || takesRecords) return [];
  return [fault(`is for cascades, and the kind is ${kind}`, option('records'))];
}

/**
 * initSpec begins a spec from profiles: their classes, a count for each, an SLO for each model, and every field that a
 * spec may have, with an explanation. It writes the spec and the cluster where they are named; a cluster that exists
 * already is only read (`useCluster`). `plan solve` can read them as they are.
 * @param paths profiles, or models (`.onnx`) whose profile lies in the working folder under its default name
 * @throws InputError with every fault of the profiles and options, where a file exists and `force` is not set, or where
 *   one would replace an input; MissingError where only files or profiles are missing
 */
export async function initSpec(paths: readonly string[], options: InitOptions): Promise<InitSpec> {
  const { output, cluster, useCluster, slo } = options;
  const task = 'begin a spec';
  const { begin, sloFrom, isPriced = false, takesRecords = false } = BEGINNINGS[options.kind];
  const errors: InputError[] = [];
  const outputs = outputFiles({ output, cluster });
  for (const { path } of outputs) if (path !== '') await attempted(errors, checkWritable(path));
  const ofFiles = await begunFileFaults(outputs, options.force);
  const own = [recordsFaults(options, takesRecords), ofFiles, sloFaults(slo), clusterFaults(options)].flat();
  if (own.length > 0) errors.push(new InputError(task, own));
  const profiles = await attempted(errors, everyInput<Loaded<'profile'>[]>(task, paths.map(loadedProfile)));
  const existing =
    useCluster === undefined ? undefined : await attempted(errors, loadArtifact(useCluster, ['cluster']));
  if (profiles === undefined) throw oneErrorOf(task, errors);
  const inputs = profiles.flatMap((profile) => profileInputs(profile, 'a profile of the spec'));
  if (useCluster !== undefined) inputs.push({ what: 'the cluster of the spec', path: useCluster });
  const models = profiles.map((profile) => proposedModel(profile, sloFrom === undefined ? slo : undefined));
  const classes = proposedClasses(profiles.map(({ value }) => value));
  const faults = [
    ...(await replacingFaults(outputs, inputs)),
    ...namesakeFaults(models),
    ...sizeFaults(classes),
    ...models.flatMap(({ sloMs, path }) =>
      sloMs > 0 || slo !== undefined ? [] : [fault('has no latencies', path)],
    ),
  ];
  if (faults.length > 0) errors.push(new InputError(task, faults));
  if (errors.length > 0) throw oneErrorOf(task, errors);
  const named = useCluster ?? cluster;
  const content: SpecContent = {
    classes,
    models: models.map((model) => ({ ...model, profile: relativePath(model.path, output) })),
    rps: commonRps(models),
    isPriced,
    ...(sloFrom === undefined ? {} : { slo: wholeSlo(models, sloFrom, slo) }),
    ...(named === undefined ? {} : { cluster: relativePath(named, output) }),
  };
  const begun = await begin({ task, profiles, content, existing, options });
  const { texts, notes = [], lacksRecords = false } = begun;
  // The spec comes last, so that every file it names exists when the spec does.
  if (cluster !== undefined && texts.cluster !== undefined) await writeWhole(cluster, texts.cluster);
  if (output !== undefined) await writeWhole(output, texts.spec);
  const { $schema, version } = emittedHead(options.kind, []);
  const { kind, ...rest } = begun.spec;
  const spec = { $schema, kind, version, ...rest } as ArtifactTypes[BegunKind];
  const { slo: told } = content;
  return {
    text: texts.spec,
    spec,
    cluster: begun.cluster,
    models,
    notes,
    lacksRecords,
    ...(told && { slo: told }),
  };
}

async function loadedProfile(path: string): Promise<Loaded<'profile'>> {
  if (!/\.onnx$/i.test(path)) return loadArtifact(path, ['profile']);
  const expected = profilePathOf(path);
  const command = commandText(['profile', path, '-o', expected]);
  const sha256 = await sha256OfFile(path);
  const profile = await loadArtifact(expected, ['profile']).catch((error: unknown) => {
    if (!(error instanceof MissingError)) throw error;
    const told = `is a model; a spec is made from its profile ${expected}, which does not exist`;
    throw new MissingError('begin a spec', [fault(told, path)], `Make it with: ${command}`);
  });
  if (profile.value.model.sha256 === sha256) return profile;
  const told = `${expected} is a profile of another version of this model`;
  throw new InputError('begin a spec', [fault(told, path)], `Make it again with: ${command}`);
}

function clusterFaults({ cluster, useCluster }: InitOptions): Fault[] {
  if (cluster === undefined || useCluster === undefined) return [];
  return [fault(`is given beside ${option('cluster')}, which writes another cluster`, option('useCluster'))];
}

function sloFaults(slo: number | undefined): Fault[] {
  if (slo === undefined || (slo > 0 && Number.isFinite(slo))) return [];
  return [fault(`is ${slo}; it must be above 0`, option('slo'))];
}

function namesakeFaults(models: readonly ProposedModel[]): Fault[] {
  return models.flatMap(({ name, path }, i) => {
    const first = models.find((model) => model.name === name) as ProposedModel;
    if (first === models[i]) return [];
    return [fault(`is of the model ${name}, as is ${first.path}: merge them with plan profile merge`, path)];
  });
}

/** sizeFaults refuses classes that two profiles measured at other virtual sizes only. */
function sizeFaults(classes: readonly ProposedClass[]): Fault[] {
  return classes.flatMap(({ name, virtual }) =>
    virtual.length > 0 ? [] : [fault('the profiles have no virtual size of it in common', `class ${name}`)],
  );
}
