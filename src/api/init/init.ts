import { lstat } from 'node:fs/promises';
import {
  type Cluster,
  checkWritable,
  countedCluster,
  emittedHead,
  everyInput,
  type Fault,
  fault,
  InputError,
  type Loaded,
  loadArtifact,
  MissingError,
  type OutputPath,
  option,
  outputFiles,
  type PooledSpec,
  parseArtifact,
  profileInputs,
  relativePath,
  replacingFaults,
  schemaModeline,
  sha256OfFile,
  writeWhole,
} from '../../artifacts/index.js';
import { resolvePooled } from '../../milp/index.js';
import type { SpecKind } from '../../specs/index.js';
import { profilePathOf } from '../profile.js';
import { type ProposedClass, type ProposedModel, proposedClasses, proposedModel } from './proposal.js';
import { clusterText, type SpecContent, specText } from './spec-text.js';

/** Beginning is how a spec of a kind is begun. */
interface Beginning {
  readonly text: (content: SpecContent) => string;
  /** Reads the texts as `plan solve` will. @throws InputError where profiles cannot be planned with */
  readonly readBack: typeof readBack;
}

/** BEGINNINGS says of which kinds a spec can be begun; others are written by hand. */
const BEGINNINGS: { readonly [K in SpecKind]: Beginning | undefined } = {
  pooled: { text: specText, readBack },
  pipeline: undefined,
  cascade: undefined,
};

/** InitOptions says which spec is begun, and where it is written. */
export interface InitOptions {
  readonly kind: SpecKind;
  /** The SLO of every model in milliseconds; by default five times the fastest latency in its profile. */
  readonly slo?: number | undefined;
  /** The file that the cluster is written to; it stands in the spec by default. */
  readonly cluster?: string | undefined;
  /** Whether files that exist are replaced. */
  readonly force?: boolean | undefined;
  /** The file that the spec is written to; nothing is written without it. */
  readonly output?: string | undefined;
}

/** InitSpec is a spec that was begun. */
export interface InitSpec {
  /** The spec's YAML, with its comments. */
  readonly text: string;
  /** What the text says, with the schema and the version of the format. */
  readonly spec: PooledSpec;
  readonly cluster: Cluster;
  readonly models: readonly ProposedModel[];
}

/**
 * initSpec begins a spec from profiles: their classes, a count for each, an SLO for each model, and every field that a
 * spec may have, with an explanation. It writes the spec and the cluster where they are named. `plan solve` can read
 * them as they are.
 * @param paths profiles, or models (`.onnx`) whose profile lies in the working folder under its default name
 * @throws InputError with every fault of the profiles and options, where a file exists and `force` is not set, or where
 *   one would replace an input; MissingError where only files or profiles are missing
 */
export async function initSpec(paths: readonly string[], options: InitOptions): Promise<InitSpec> {
  const { output, cluster, slo } = options;
  const task = 'begin a spec';
  const beginning = BEGINNINGS[options.kind];
  if (beginning === undefined)
    throw new InputError(task, [
      fault(`is ${options.kind}, and no spec of that kind is begun`, option('kind')),
    ]);
  const outputs = outputFiles({ output, cluster });
  for (const { path } of outputs) if (path !== '') await checkWritable(path);
  const profiles = await everyInput<Loaded<'profile'>[]>(task, paths.map(loadedProfile));
  const inputs = profiles.flatMap((profile) => profileInputs(profile, 'a profile of the spec'));
  const models = profiles.map((profile) => proposedModel(profile, slo));
  const classes = proposedClasses(profiles.map(({ value }) => value));
  const faults = [
    ...(await replacingFaults(outputs, inputs)),
    ...outputs.flatMap(nameFaults),
    ...(options.force ? [] : (await Promise.all(outputs.map(existsFault))).flat()),
    ...sloFaults(slo),
    ...namesakeFaults(models),
    ...sizeFaults(classes),
    ...models.flatMap(({ sloMs, path }) =>
      sloMs > 0 || slo !== undefined ? [] : [fault('has no latencies', path)],
    ),
  ];
  if (faults.length > 0) throw new InputError(task, faults);
  const content: SpecContent = {
    classes,
    models: models.map((model) => ({ ...model, profile: relativePath(model.path, output) })),
    ...(cluster === undefined ? {} : { cluster: relativePath(cluster, output) }),
  };
  const texts = {
    spec: withModeline(beginning.text(content), schemaModeline(options.kind, output)),
    cluster:
      cluster === undefined
        ? undefined
        : withModeline(clusterText(content), schemaModeline('cluster', cluster)),
  };
  const read = await beginning.readBack(texts, profiles, task);
  // The spec comes last, so that every file it names exists when the spec does.
  if (cluster !== undefined && texts.cluster !== undefined) await writeWhole(cluster, texts.cluster);
  if (output !== undefined) await writeWhole(output, texts.spec);
  const { $schema, version } = emittedHead(options.kind, []);
  const { kind, ...rest } = read.spec;
  return { text: texts.spec, ...read, spec: { $schema, kind, version, ...rest }, models };
}

/** withModeline puts the comment by which editors find the schema into the first line, where there is one. */
function withModeline(text: string, modeline: string | undefined): string {
  return modeline === undefined ? text : `${modeline}\n${text}`;
}

async function loadedProfile(path: string): Promise<Loaded<'profile'>> {
  if (!/\.onnx$/i.test(path)) return loadArtifact(path, ['profile']);
  const expected = profilePathOf(path);
  const command = `plan profile ${path} -o ${expected}`;
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

/** nameFaults refuses names by which the file would not be read as YAML. */
function nameFaults({ field, path }: OutputPath): Fault[] {
  if (path === '' || /\.ya?ml$/i.test(path)) return [];
  return [fault(`${path} would hold YAML; name a file that ends in .yaml or .yml`, option(field))];
}

async function existsFault({ field, path }: OutputPath): Promise<Fault[]> {
  const found = path === '' ? undefined : await lstat(path).catch(() => undefined);
  if (found === undefined) return [];
  return [
    fault(
      `${path} exists already, and its contents would be lost; ${option('force')} replaces it`,
      option(field),
    ),
  ];
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

/** readBack reads the texts as `plan solve` will, and refuses profiles that cannot be planned with. */
async function readBack(
  texts: { readonly spec: string; readonly cluster: string | undefined },
  profiles: readonly Loaded<'profile'>[],
  task: string,
): Promise<{ spec: PooledSpec; cluster: Cluster }> {
  const spec = parseArtifact(texts.spec, 'spec.yaml', ['pooled']).value;
  const cluster =
    texts.cluster === undefined
      ? (spec.cluster as Cluster)
      : countedCluster(parseArtifact(texts.cluster, 'cluster.yaml', ['cluster']).value, 'cluster.yaml');
  const measured = profiles.map(({ value, path }) => ({ profile: value, path }));
  try {
    resolvePooled(spec, { cluster, profiles: measured, where: 'the profiles' });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const advice = profiles.some(({ value }) => value.measurement?.complete === false)
      ? 'A profile is not complete: go on with `plan profile` and its option `--resume`.'
      : error.advice;
    throw new InputError(task, error.faults, advice);
  }
  return { spec, cluster };
}
