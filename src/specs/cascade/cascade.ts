import {
  decodedText,
  everyInput,
  FilesRead,
  type InputPath,
  inputFile,
  pathFrom,
  profileInputs,
  readWhole,
  specInputs,
  withOwnFaults,
} from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import {
  aliasedProfiles,
  type Fault,
  firstFaults,
  InputError,
  type InputFile,
  type Loaded,
  type OpenCluster,
  type Profile,
  sha256Of,
} from '../../formats/index.js';
import {
  type CascadeFiles,
  cascadeSpecFaults,
  type LoadPoint,
  type ResolvedCascade,
  resolveCascade,
} from '../../gearplan/index.js';
import { servingFaults, unlikeModelFaults } from '../../plans/index.js';
import { classLimitOf, type FamilyRecords, MOST_RECORD_BYTES, recordsOf } from '../../records/index.js';
import { distributionOf } from './distribution.js';

/** Longer distributions are taken for a mistake. */
const MOST_DISTRIBUTION_BYTES = 16 * 1024 * 1024;

/** LoadedCascade is a cascade's spec, read with all files that it names, checked and resolved. */
export interface LoadedCascade {
  readonly spec: Loaded<'cascade'>;
  readonly files: CascadeFiles;
  readonly resolved: ResolvedCascade;
  /** The files that were read or named. No output may replace them. */
  readonly read: readonly InputPath[];
  /** inputs lists the files of a plan, with the profiles of the models that it uses: of all where none are named. */
  inputs(holder: string | undefined, used?: readonly string[]): InputFile[];
}

/** familyProfiles lists the profiles of a cascade's models. */
export function familyProfiles({ files }: LoadedCascade): Profile[] {
  return files.profiles.map(({ profile }) => profile);
}

/**
 * loadCascade reads the cluster, the profiles, the records and the distribution of loads of a cascade's spec, and resolves it.
 * @param readBefore other files that were read before
 * @throws InputError with every fault of the spec, of the files that it names, and of how they fit together;
 *   MissingError where files are only missing
 */
export async function loadCascade(
  spec: Loaded<'cascade'>,
  readBefore = new FilesRead(),
): Promise<LoadedCascade> {
  const { path } = spec;
  const task = `plan ${path}`;
  const serving = servingFaults({ serving: spec.value.serving, kind: 'gear-plan' });
  const own = [...cascadeSpecFaults(spec.value), ...serving];
  const read = await withOwnFaults(task, filesOf(spec, readBefore), () => own);
  const { cluster, profiles, records, distribution } = read;
  const names = spec.value.models.map(({ name }) => name);
  const files: CascadeFiles = {
    cluster: cluster.value,
    profiles: aliasedProfiles(profiles, cluster.value),
    records: records.value,
    ...(distribution === undefined ? {} : { distribution: distribution.value }),
  };
  const outcome = resolveCascade(spec.value, files);
  const tensors = profiles.map(({ value: { model } }, i) => ({
    name: itemAt(names, i),
    inputs: model.inputs,
    outputs: model.outputs,
  }));
  const faults = [...('faults' in outcome ? outcome.faults : []), ...serving, ...unlikeModelFaults(tensors)];
  if (!('resolved' in outcome) || faults.length > 0) throw new InputError(task, firstFaults(faults));
  return {
    spec,
    files,
    resolved: outcome.resolved,
    read: [
      { what: 'the spec', path },
      ...(cluster.file ? [{ what: 'the cluster of the spec', path: cluster.file.path }] : []),
      { what: 'the records of the spec', path: records.path },
      ...(distribution ? [{ what: 'the distribution of the spec', path: distribution.path }] : []),
      ...profiles.flatMap((profile) => profileInputs(profile, 'a profile of the spec')),
    ],
    inputs: (holder, used = spec.value.models.map(({ name }) => name)) => [
      ...specInputs(spec, holder),
      ...(cluster.file ? [inputFile('cluster', cluster.file, holder)] : []),
      inputFile('records', records, holder),
      ...(distribution ? [inputFile('distribution', distribution, holder)] : []),
      ...used.map((name) => inputFile('profile', itemAt(profiles, names.indexOf(name)), holder)),
    ],
  };
}

/** TextFile is what a file of text was read as. */
interface TextFile<T> {
  readonly value: T;
  readonly path: string;
  readonly sha256: string;
}

interface CascadeFilesRead {
  readonly cluster: { readonly value: OpenCluster; readonly file?: Loaded<'cluster'> };
  readonly profiles: readonly Loaded<'profile'>[];
  readonly records: TextFile<FamilyRecords>;
  readonly distribution: TextFile<readonly LoadPoint[]> | undefined;
}

async function filesOf(spec: Loaded<'cascade'>, files: FilesRead): Promise<CascadeFilesRead> {
  const { cluster, models, records, load } = spec.value;
  const names = models.map(({ name }) => name);
  const { distribution = 'zipf' } = load;
  const reading = models.map(({ profile }) => files.load(pathFrom(spec.path, profile), ['profile']));
  // Profiles that cannot be read are reported below, and say nothing of classes.
  const classLimit = Promise.allSettled(reading).then((read) =>
    classLimitOf(
      read.flatMap((one, i) => {
        const { name, output } = itemAt(models, i);
        return one.status === 'rejected' ? [] : [{ name, outputs: one.value.value.model.outputs, output }];
      }),
    ),
  );
  const [clusterRead, recordsRead, distributionRead, ...profiles] = await everyInput<
    [
      CascadeFilesRead['cluster'],
      CascadeFilesRead['records'],
      CascadeFilesRead['distribution'],
      ...Loaded<'profile'>[],
    ]
  >(`use the files that ${spec.path} names`, [
    typeof cluster === 'string'
      ? files.load(pathFrom(spec.path, cluster), ['cluster']).then((file) => ({ value: file.value, file }))
      : Promise.resolve({ value: cluster }),
    textFile(pathFrom(spec.path, records), MOST_RECORD_BYTES, async (text) => {
      const found = await recordsOf(text, names, await classLimit);
      return 'faults' in found ? found : { value: found };
    }),
    distribution === 'zipf' || distribution === 'uniform'
      ? Promise.resolve(undefined)
      : textFile(pathFrom(spec.path, distribution), MOST_DISTRIBUTION_BYTES, async (text) => {
          const found = await distributionOf(text);
          return 'faults' in found ? found : { value: found.points };
        }),
    ...reading,
  ]);
  return { cluster: clusterRead, records: recordsRead, distribution: distributionRead, profiles };
}

type Made<T> = { readonly value: T } | { readonly faults: readonly Fault[] };

/** textFile reads a file, and makes a value of its text. */
async function textFile<T>(
  path: string,
  mostBytes: number,
  made: (text: string) => Made<T> | Promise<Made<T>>,
): Promise<TextFile<T>> {
  const bytes = await readWhole(path, mostBytes);
  const found = await made(decodedText(bytes, path));
  if ('faults' in found) throw new InputError(`read ${path}`, firstFaults(found.faults));
  return { value: found.value, path, sha256: sha256Of(bytes) };
}
