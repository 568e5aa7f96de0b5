import { FilesRead, parseArtifact, relativePath, schemaModeline } from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import {
  type ArtifactKind,
  type ArtifactTypes,
  BYTES_PER_GIB,
  type Cluster,
  countedCluster,
  InputError,
  type Loaded,
  type OpenCluster,
} from '../../formats/index.js';
import { resolvePooled } from '../../milp/index.js';
import { weightBytes } from '../../pipeline/index.js';
import { bytesPerRow } from '../../plans/index.js';
import { describedSpec, type SpecKind } from '../../specs/index.js';
import { cascadeText } from './cascade-text.js';
import { pipelineText } from './pipeline-text.js';
import { pooledText } from './pooled-text.js';
import type { ProposedModel } from './proposal.js';
import { clusterText, type SpecContent } from './spec-lines.js';
import { workflowText } from './workflow-text.js';

/** Asked is what a spec is begun from. */
export interface Asked {
  readonly task: string;
  readonly profiles: readonly Loaded<'profile'>[];
  readonly content: SpecContent;
  /** The cluster that the spec names, where that exists already. */
  readonly existing?: Loaded<'cluster'> | undefined;
  readonly options: {
    readonly kind: BegunKind;
    readonly cluster?: string | undefined;
    readonly records?: string | undefined;
    readonly output?: string | undefined;
  };
}

/** BegunKind is a kind of spec that can be begun from profiles. */
export type BegunKind = SpecKind;

/** Begun is the text of a spec, what it says, and what its person should know. */
export interface Begun {
  readonly texts: Texts;
  readonly spec: ArtifactTypes[BegunKind];
  readonly cluster: OpenCluster;
  readonly notes?: readonly string[];
  /** lacksRecords says whether records are to be made before the spec can be solved. */
  readonly lacksRecords?: boolean;
}

interface Texts {
  readonly spec: string;
  readonly cluster: string | undefined;
}

/** Beginning is how a spec of a kind is begun. */
interface Beginning {
  /** Writes its text, and reads it as `plan solve` will. @throws InputError where profiles cannot be planned with */
  readonly begin: (asked: Asked) => Promise<Begun>;
  /** How its SLO follows from those of its models; absent where each model has its own. */
  readonly sloFrom?: 'sum' | 'largest';
  /** isPriced says whether plans are compared by what devices cost. */
  readonly isPriced?: boolean;
  readonly takesRecords?: boolean;
}

/** BEGINNINGS says how a spec of each kind is begun. */
export const BEGINNINGS: { readonly [K in BegunKind]: Beginning } = {
  pooled: {
    begin: async (asked) => readBack(asked, textsOf(asked, pooledText(asked.content))),
  },
  pipeline: { begin: pipelineBegun, sloFrom: 'sum', isPriced: true },
  cascade: { begin: cascadeBegun, sloFrom: 'largest', takesRecords: true },
  workflow: { begin: workflowBegun, sloFrom: 'sum' },
};

/** The file of a cascade's records, where none is named. */
const RECORDS = 'records.csv';

function textsOf({ content, options: { kind, output, cluster } }: Asked, text: string): Texts {
  return {
    spec: withModeline(text, schemaModeline(kind, output)),
    cluster:
      cluster === undefined
        ? undefined
        : withModeline(clusterText(content), schemaModeline('cluster', cluster)),
  };
}

/**
 * pipelineBegun begins a pipeline whose stages follow one another as their profiles were given. Where their tensors do not
 * fit so, nobody but its person knows the graph, and no stage leads to another.
 */
async function pipelineBegun(asked: Asked): Promise<Begun> {
  const names = stageNames(asked.content.models);
  const begun = (next: (i: number) => string[]): Promise<Begun> => {
    const stages = names.map((name, i) => ({ name, next: next(i) }));
    return solvable(asked, textsOf(asked, pipelineText({ ...asked.content, stages })));
  };
  if (names.length === 1) return begun(() => []);
  try {
    return await begun((i) => names.slice(i + 1, i + 2));
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const apart = await begun(() => []);
    return {
      ...apart,
      notes: ['the tensors of these models do not fit in a row: say by next where results go'],
    };
  }
}

/** stageNames makes the names of models into those of stages, each its own. */
function stageNames(models: readonly ProposedModel[]): string[] {
  const plain = models.map(({ name }) => name.replaceAll(/[^A-Za-z0-9_-]/g, '-').slice(0, 56) || 'stage');
  return plain.map((name, i) => (plain.indexOf(name) === i ? name : `${name}-${i + 1}`));
}

/** cascadeBegun begins a cascade. Without its records, which profiling it writes, only its own fields can be checked. */
async function cascadeBegun(asked: Asked): Promise<Begun> {
  const { content, options } = asked;
  const { records, output } = options;
  const names = stageNames(content.models);
  const models = content.models.map((model, i) => ({ ...model, name: itemAt(names, i) }));
  const named = records === undefined ? RECORDS : relativePath(records, output);
  const texts = textsOf(asked, cascadeText({ ...content, models, records: named }));
  if (records !== undefined) return solvable(asked, texts);
  const spec = parseArtifact(texts.spec, 'spec.yaml', ['cascade']).value;
  const notes = [
    'the records of its models are still to be made, by plan profile of this spec with samples and labels',
  ];
  return { texts, spec, cluster: clusterIn(asked, texts, spec.cluster), lacksRecords: true, notes };
}

/**
 * workflowBegun begins a workflow that calls the models one after another. Only the program knows which calls
 * it makes in truth.
 */
async function workflowBegun(asked: Asked): Promise<Begun> {
  const { content, profiles } = asked;
  const names = stageNames(content.models);
  const weights = profiles.map(({ value }) => weightBytes(value));
  const allGiB = weights.reduce<number>((sum, bytes) => sum + (bytes ?? BYTES_PER_GIB), 0) / BYTES_PER_GIB;
  const components = profiles.map(({ value }, i) => ({
    name: itemAt(names, i),
    outputBytes: value.blocks.at(-1)?.cutBytes ?? 0,
    hasWeights: weights[i] !== undefined,
  }));
  const requestBytes = (profiles[0]?.value.model.inputs ?? []).reduce(
    (sum, input) => sum + (bytesPerRow(input) ?? 0),
    0,
  );
  // A device has room for the inputs of its batches beside the components.
  const made = { ...asked, content: { ...content, memoryGiB: Math.ceil(2 * allGiB) } };
  const text = workflowText({ ...made.content, components, requestBytes });
  return {
    ...(await solvable(made, textsOf(made, text))),
    notes: [
      'the workflow calls its models one after another: say what yours does, by chain, runs or program',
    ],
  };
}

/** solvable reads the texts as `plan solve` will. @throws InputError with the faults that it would find */
async function solvable(asked: Asked, texts: Texts): Promise<Begun> {
  const { task, profiles, existing } = asked;
  const { kind, output = 'spec.yaml', cluster: clusterPath } = asked.options;
  const { value } = parseArtifact(texts.spec, 'spec.yaml', [kind]);
  const cluster = clusterIn(asked, texts, value.cluster);
  const begun = { sha256: '' };
  const files: Loaded<ArtifactKind>[] = [...profiles, ...(existing === undefined ? [] : [existing])];
  if (clusterPath !== undefined) files.push({ ...begun, kind: 'cluster', value: cluster, path: clusterPath });
  try {
    await describedSpec({ ...begun, kind, value, path: output } as Loaded<SpecKind>, new FilesRead(files));
  } catch (error) {
    // Faults of a cluster that exists already are reported of its file.
    if (!(error instanceof InputError) || existing !== undefined) throw error;
    throw new InputError(task, error.faults, error.advice);
  }
  return { texts, spec: value, cluster };
}

/** clusterIn is the cluster that the texts have, in the spec or in a file of its own, or one that exists already. */
function clusterIn({ existing }: Asked, texts: Texts, inSpec: string | OpenCluster): OpenCluster {
  if (existing !== undefined) return existing.value;
  if (texts.cluster !== undefined) return parseArtifact(texts.cluster, 'cluster.yaml', ['cluster']).value;
  return inSpec as OpenCluster;
}

/** withModeline puts the comment by which editors find the schema into the first line, where there is one. */
function withModeline(text: string, modeline: string | undefined): string {
  return modeline === undefined ? text : `${modeline}\n${text}`;
}

/** readBack reads the texts as `plan solve` will, and refuses profiles that cannot be planned with. */
async function readBack(asked: Asked, texts: Texts): Promise<Begun> {
  const { profiles, task, existing } = asked;
  const spec = parseArtifact(texts.spec, 'spec.yaml', ['pooled']).value;
  const cluster = countedCluster(
    clusterIn(asked, texts, spec.cluster as Cluster),
    existing?.path ?? 'cluster.yaml',
  );
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
  return { texts, spec, cluster };
}
