import {
  checkWritable,
  emittedHead,
  type Fault,
  fault,
  InputError,
  type InputFile,
  type InputPath,
  inputFile,
  type LoadDocument,
  option,
  outputFiles,
  refuseReplacing,
  saveArtifact,
  ToldFaults,
} from '../artifacts/index.js';
import {
  describeServer,
  driveLoad,
  type LoadOptions,
  type LoadSchedule,
  type RemoteModel,
} from '../loadgen/index.js';
import {
  arrivalsOf,
  describedWorkload,
  namedTrace,
  type RatedModel,
  resolvedWorkload,
  type SimulatedLoadOptions,
  silenceNs,
  type TraceFileOptions,
} from '../simulation/index.js';
import { type PriorityShare, priorityShares, processFaults } from '../workload/index.js';
import { type LabelledLoad, labelledLoad, type SampledLoad, sampledLoad } from './labelled-load.js';
import { silenceWarnings } from './simulate.js';

/** LoadServerOptions holds the load for a server: one that is drawn, or traces. */
export interface LoadServerOptions
  extends Omit<LoadOptions, 'rps' | 'durationS' | 'schedule' | 'priorities'>,
    Pick<TraceFileOptions, 'traceFormat'> {
  /** The rate in requests per second; of traces the mean rate, also as `model=300` for one model each. */
  readonly rps?: number | readonly string[] | undefined;
  /** The seconds during which requests are sent; by default the whole trace. Faults call it `duration`, its flag. */
  readonly durationS?: number | undefined;
  /** Trace files, as a simulation takes them: `day.csv` is for all models, `detector=day.csv` is for one. */
  readonly traces?: readonly string[] | undefined;
  /** Files of sample requests that are sent in turn, in place of random ones; and the file of their labels. */
  readonly samples?: readonly string[] | undefined;
  readonly labels?: string | undefined;
  /** Which priorities requests send, and their shares, such as `1=0.1,2=0.9`; by default none is sent. */
  readonly priorities?: string | undefined;
  /** The file that the report is written to as JSON; when it is left out, nothing is written. */
  readonly output?: string | undefined;
}

/**
 * loadServer drives a server with an open-loop load, reports what came back, and writes the report where an output is
 * named. Without traces, `rps` and `durationS` are needed. With traces, requests come at the times and for the models
 * that `simulatePlan` has with the same traces, rate, duration and seed.
 * @throws InputError with every fault of options and traces; MissingError where the server lacks a model
 */
export async function loadServer(url: string, options: LoadServerOptions): Promise<LoadDocument> {
  const { output, rps, durationS, traces = [], traceFormat, samples, labels, priorities, ...rest } = options;
  if (output !== undefined && output !== '') await checkWritable(output);
  const traced = traces.length > 0;
  const drawn = traced ? undefined : await drawnLoad(options);
  await refuseReplacing(`load ${url}`, outputFiles({ output }), sampleFiles(options));
  const load = drawn ?? (await tracedLoad(url, options));
  const { silentNs = 0, inputs = [], ...asked } = load;
  const sampled = await sampledOf(url, options);
  const labelled = sampled && 'check' in sampled ? sampled : undefined;
  const answers = sampled && { inputs: sampled.inputs, ...(labelled && { check: labelled.check }) };
  const { shares } = askedPriorities(options);
  const driven = await driveLoad(url, {
    ...rest,
    ...asked,
    ...answers,
    ...(shares && { priorities: shares }),
  });
  const report: LoadDocument = {
    ...emittedHead('load-report', [
      ...inputs,
      ...(sampled?.files ?? []).map(({ role, file }) => inputFile(role, file, output)),
    ]),
    ...driven,
    ...describedLabels(labelled),
  };
  report.warnings.push(...silenceWarnings(silentNs, asked.durationS));
  if (output !== undefined) await saveArtifact<'load-report'>(output, report);
  return report;
}

/** sampleFiles lists the samples and labels that a load reads. */
function sampleFiles({ samples = [], labels }: Pick<LoadServerOptions, 'samples' | 'labels'>): InputPath[] {
  return [
    ...samples.map((path) => ({ what: 'the samples', path })),
    ...(labels === undefined ? [] : [{ what: 'the labels', path: labels }]),
  ];
}

async function sampledOf(
  url: string,
  { samples = [], labels, model, rows = 1 }: LoadServerOptions,
): Promise<SampledLoad | LabelledLoad | undefined> {
  if (samples.length === 0 && labels === undefined) return undefined;
  if (rows !== 1)
    throw new InputError(`load ${url}`, [
      fault(`is ${rows}; a sample is sent by itself, as one row`, option('rows')),
    ]);
  const remote = await describeServer(url, model);
  return labels === undefined
    ? sampledLoad(url, samples, remote)
    : labelledLoad(url, { samples, labels }, remote);
}

function describedLabels(labelled: LabelledLoad | undefined): Pick<LoadDocument, 'labelled'> {
  if (labelled === undefined) return {};
  const { samples, answered, right } = labelled.counted();
  return {
    labelled: { samples, answered, right, ...(answered === 0 ? {} : { accuracy: right / answered }) },
  };
}

interface AskedLoad {
  readonly rps: number;
  readonly durationS: number;
  readonly schedule?: LoadSchedule;
  /** The time at the end without requests, because the traces end before. */
  readonly silentNs?: number;
  /** The traces that were read. */
  readonly inputs?: readonly InputFile[];
}

/** askedPriorities reads which priorities requests are to send. */
function askedPriorities({ priorities }: Pick<LoadServerOptions, 'priorities'>): {
  readonly shares?: readonly PriorityShare[];
  readonly faults?: readonly Fault[];
} {
  return priorities === undefined ? {} : priorityShares(priorities);
}

async function drawnLoad(options: LoadServerOptions): Promise<AskedLoad> {
  const { rps, durationS, arrivals, cv, traceFormat } = options;
  const faults: Fault[] = [];
  const [text, ...more] = typeof rps === 'number' ? [String(rps)] : (rps ?? []);
  const rate = Number(text);
  const needed = `is needed, or ${option('traces')}`;
  if (text === undefined) faults.push(fault(needed, option('rps')));
  else if (text.trim() === '' || !(rate > 0 && Number.isFinite(rate)))
    faults.push(fault('is not a rate above 0, such as 500', option('rps', `"${text}"`)));
  if (more.length > 0)
    faults.push(fault(`is given ${1 + more.length} times; without a trace there is one rate`, option('rps')));
  if (durationS === undefined) faults.push(fault(needed, option('duration')));
  if (traceFormat !== undefined) faults.push(fault(`is for ${option('traces')}`, option('traceFormat')));
  faults.push(...processFaults(arrivals, cv), ...(askedPriorities(options).faults ?? []));
  if (faults.length > 0) throw new InputError('drive a load', faults);
  return { rps: rate, durationS: durationS as number };
}

async function tracedLoad(url: string, options: LoadServerOptions): Promise<AskedLoad> {
  const {
    output,
    arrivals,
    cv,
    durationS: duration,
    rps,
    seed = 0,
    signal,
    traces = [],
    traceFormat,
  } = options;
  const remote = await describeServer(url, options.model);
  const told = new ToldFaults();
  const rates = typeof rps === 'number' ? [String(rps)] : rps;
  const asked: SimulatedLoadOptions = { arrivals, cv, duration, rps: rates, signal, traces, traceFormat };
  told.add(...(await shareFaults(remote, traces, rates)), ...(askedPriorities(options).faults ?? []));
  const models = remote.map(ratedModel);
  const load = await resolvedWorkload(models, asked, told);
  if (load === undefined || told.count > 0) throw told.error(`load ${url}`);
  await refuseReplacing(
    `load ${url}`,
    outputFiles({ output }),
    load.files.map(({ path }) => ({ what: 'the trace', path })),
  );
  const { workload } = load;
  const { durationS, models: rated } = describedWorkload(workload, models);
  return {
    rps: rated.reduce((sum, model) => sum + model.rps, 0),
    durationS,
    schedule: { arrivals: arrivalsOf(workload, models, seed), models: models.map(({ name }) => name) },
    silentNs: silenceNs(workload),
    inputs: load.files.map((file) => inputFile('trace', file, output)),
  };
}

/**
 * ratedModel gives a model that is described without a plan the weight 0: it has no share of a common load, but can
 * have one of its own.
 */
function ratedModel({ name, plannedRps, weight }: RemoteModel): RatedModel {
  return { name, throughputRps: plannedRps ?? 1, weight: weight ?? 0 };
}

/** shareFaults refuses to share a load among models whose shares the server does not tell. */
async function shareFaults(
  remote: readonly RemoteModel[],
  traces: readonly string[],
  rates: readonly string[] = [],
): Promise<Fault[]> {
  if (remote.length < 2 || remote.every(({ plannedRps }) => plannedRps !== undefined)) return [];
  const names = remote.map(({ name }) => name);
  const said = 'the server does not say how its models share a load';
  const isShared = traces.some((text) => namedTrace(names, text).name === undefined);
  return [
    ...(isShared ? [fault(`${said}: name each, as model=file`, option('traces'))] : []),
    ...(!isShared && rates.some((text) => !text.includes('='))
      ? [fault(`${said}: name each, as model=300`, option('rps'))]
      : []),
  ];
}
