import {
  attempted,
  checkReadable,
  checkWritable,
  emittedHead,
  type InputPath,
  inputFile,
  oneErrorOf,
  outputFiles,
  refuseReplacing,
  saveArtifact,
} from '../artifacts/index.js';
import { pushAll } from '../collections/index.js';
import {
  type Emitted,
  type Fault,
  fault,
  type GateVerdicts,
  InputError,
  type InputFile,
  type LoadDocument,
  listed,
  option,
  ToldFaults,
  toldBeyond,
} from '../formats/index.js';
import {
  type ClientAccess,
  type ClientAccessOptions,
  describeServer,
  driveLoad,
  type LoadOptions,
  type LoadSchedule,
  type RemoteModel,
  readClientAccess,
} from '../loadgen/index.js';
import {
  arrivalsOf,
  describedWorkload,
  namedTrace,
  processFaults,
  type RatedModel,
  resolvedWorkload,
  type SimulatedLoadOptions,
} from '../simulation/index.js';
import { type PriorityShare, priorityShares } from '../workload/index.js';
import { attainmentChecks, refuseNoShare } from './gates.js';
import { type LabelledLoad, labelledLoad, type SampledLoad, sampledLoad } from './labelled-load.js';
import { loadWarnings } from './simulate.js';

/** LoadServerOptions holds the load for a server: one that is drawn, or traces. */
export interface LoadServerOptions
  extends Omit<LoadOptions, 'rps' | 'durationS' | 'schedule' | 'priorities' | 'access'>,
    ClientAccessOptions,
    Pick<SimulatedLoadOptions, 'traceFormat' | 'from' | 'to'> {
  /** The rate in requests per second; of traces the mean rate, also as `model=300` for one model each. */
  readonly rps?: number | readonly string[] | undefined;
  /** The seconds during which requests are sent; by default the whole trace. Faults call it `duration`, its flag. */
  readonly durationS?: number | undefined;
  /** Trace files, as a simulation takes them: `day.csv` is for all models, `detector=day.csv` is for one. */
  readonly traces?: readonly string[] | undefined;
  /** Files of sample requests that are sent in turn, in place of random ones; and the file of their labels. */
  readonly samples?: readonly string[] | undefined;
  readonly labels?: string | undefined;
  /** The priorities that requests send, and their shares, such as `1=0.1,2=0.9`; by default none is sent. */
  readonly priorities?: string | undefined;
  /** The share in time, of all requests and of each model, that `checks` of the report judges. It needs an SLO. */
  readonly failUnder?: number | undefined;
  /** The file that the report is written to as JSON; when it is left out, nothing is written. */
  readonly output?: string | undefined;
  /** Called with the report before it is written, as a load is not repeated where the disk is full. */
  readonly onReport?: ((report: LoadDocument) => Promise<void>) | undefined;
}

/**
 * loadServer drives a server with an open-loop load, reports what came back, and writes the report where an output is
 * named. Without traces, `rps` and `durationS` are needed. With traces, requests come at the times and for the models
 * that `simulatePlan` has with the same traces, rate, duration and seed.
 * @throws InputError with every fault of options and traces; MissingError where the server lacks a model
 */
export async function loadServer(url: string, given: LoadServerOptions): Promise<LoadDocument> {
  const { access, drawn } = await checkedOptions(url, given);
  const options: WithAccess = { ...given, access };
  const {
    output,
    rps,
    durationS,
    traces = [],
    traceFormat,
    from,
    to,
    samples,
    labels,
    priorities,
    onReport,
    failUnder,
    ...rest
  } = options;
  await refuseReplacing(`load ${url}`, outputFiles({ output }), sampleFiles(options));
  const load = drawn ?? (await tracedLoad(url, options));
  const { warnings = [], inputs = [], sentTo, ...asked } = load;
  if (failUnder !== undefined) await refuseWithoutSlo(url, options, sentTo);
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
    ...loadChecks(driven, failUnder),
  };
  pushAll(report.warnings, warnings);
  pushAll(report.warnings, access.warnings);
  await onReport?.(report);
  if (output !== undefined) await saveArtifact<'load-report'>(output, report);
  return report;
}

/** CheckedOptions are what options come to, before the server is asked anything. */
interface CheckedOptions {
  readonly access: ClientAccess;
  /** The load, where no trace says it. */
  readonly drawn: AskedLoad | undefined;
}

/** checkedOptions checks what can be checked without the server. @throws InputError with every fault */
async function checkedOptions(url: string, options: LoadServerOptions): Promise<CheckedOptions> {
  const { output = '', traces = [], samples = [], labels, failUnder } = options;
  const task = `load ${url}`;
  const errors: InputError[] = [];
  const access = await attempted(errors, accessTo(url, options));
  await attempted(errors, (async () => refuseNoShare(task, failUnder))());
  if (output !== '') await attempted(errors, checkWritable(output));
  for (const path of [...samples, ...(labels === undefined ? [] : [labels])])
    await attempted(errors, checkReadable(path));
  const drawn = traces.length > 0 ? undefined : await attempted(errors, drawnLoad(options));
  if (access === undefined || errors.length > 0) throw oneErrorOf(task, errors);
  return { access, drawn };
}

/**
 * refuseWithoutSlo refuses to judge a share in time where nothing says what is in time, before anything is sent.
 * @throws InputError which names the models that the server reports no SLO of
 */
async function refuseWithoutSlo(
  url: string,
  options: WithAccess,
  sentTo: AskedLoad['sentTo'],
): Promise<void> {
  if (options.sloMs !== undefined) return;
  const without = (await describeServer(url, options)).filter(
    ({ name, sloMs }) => sloMs === undefined && sentTo?.includes(name) !== false,
  );
  if (without.length === 0) return;
  const names = listed(without.map(({ name }) => name));
  throw new InputError(
    `judge the share of requests in time at ${url}`,
    [fault(`needs an SLO, and the server tells none of ${names}`, option('failUnder'))],
    `Say with ${option('slo')} within how many milliseconds an answer is in time.`,
  );
}

/** loadChecks judges a load that was not interrupted: no request may fail, and enough of them must be in time. */
function loadChecks(
  { complete, attainment, models = [], failed }: Omit<LoadDocument, keyof Emitted | 'kind'>,
  failUnder: number | undefined,
): GateVerdicts {
  if (complete === false) return {};
  const shares = models.map((model) => ({ name: model.name, value: model.attainment }));
  return {
    checks: [
      ...attainmentChecks(failUnder, { value: attainment }, shares),
      { what: 'failedRequests', threshold: 0, value: failed, held: failed === 0 },
    ],
  };
}

/** WithAccess is these options with what the files of `ClientAccessOptions` come to. */
type WithAccess = LoadServerOptions & { readonly access: ClientAccess };

async function accessTo(url: string, options: LoadServerOptions): Promise<ClientAccess> {
  const told = new ToldFaults();
  const access = await readClientAccess(url, options, told);
  if (access === undefined) throw told.error(`load ${url}`);
  return access;
}

/** Times are whole nanoseconds, which a double holds for 104 days. */
const MOST_DURATION_S = 8_640_000;
/** A client sends some ten thousand requests/s. Far more would only wait in its memory. */
const MOST_SENT_RPS = 1_000_000;

/** rateFaults refuses a rate that no client sends. */
function rateFaults(rps: number, place: ReturnType<typeof option>): Fault[] {
  if (!(rps > MOST_SENT_RPS)) return [];
  const [asked, most] = toldBeyond(rps, MOST_SENT_RPS);
  return [fault(`asks for ${asked} requests/s; at most ${most} are sent`, place)];
}

/** sampleFiles lists the files besides traces that a load reads. */
function sampleFiles({ samples = [], labels, ...access }: LoadServerOptions): InputPath[] {
  const { tokenFile, sslCertfile, sslKeyfile, sslCaCerts } = access;
  const named = [tokenFile, sslCertfile, sslKeyfile, sslCaCerts].filter((path) => path !== undefined);
  return [
    ...named.map((path) => ({ what: 'what lets the client in', path })),
    ...samples.map((path) => ({ what: 'the samples', path })),
    ...(labels === undefined ? [] : [{ what: 'the labels', path: labels }]),
  ];
}

async function sampledOf(
  url: string,
  { samples = [], labels, rows = 1, ...options }: WithAccess,
): Promise<SampledLoad | LabelledLoad | undefined> {
  if (samples.length === 0 && labels === undefined) return undefined;
  if (rows !== 1)
    throw new InputError(`load ${url}`, [
      fault(`is ${rows}; a sample is sent by itself, as one row`, option('rows')),
    ]);
  const remote = await describeServer(url, options);
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
  /** The models that get requests; where it is absent, all of the server. */
  readonly sentTo?: readonly string[];
  /** The warnings about the traces. */
  readonly warnings?: readonly string[];
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
  const { rps, durationS, arrivals, cv } = options;
  const faults: Fault[] = [];
  const [text, ...more] = typeof rps === 'number' ? [String(rps)] : (rps ?? []);
  const rate = Number(text);
  const needed = `is needed, or ${option('traces')}`;
  if (text === undefined) faults.push(fault(needed, option('rps')));
  else if (text.includes('='))
    faults.push(
      fault(
        `is the rate of one model of a trace; without ${option('traces')} there is one rate, such as 500`,
        option('rps', `"${text}"`),
      ),
    );
  else if (text.trim() === '' || !(rate > 0 && Number.isFinite(rate)))
    faults.push(fault('is not a rate above 0, such as 500', option('rps', `"${text}"`)));
  else pushAll(faults, rateFaults(rate, option('rps')));
  if (more.length > 0)
    faults.push(fault(`is given ${1 + more.length} times; without a trace there is one rate`, option('rps')));
  if (durationS === undefined) faults.push(fault(needed, option('duration')));
  else if (durationS > MOST_DURATION_S)
    faults.push(
      fault(`is ${durationS} s; a load lasts ${MOST_DURATION_S} s (100 days) at most`, option('duration')),
    );
  for (const name of ['traceFormat', 'from', 'to'] as const)
    if (options[name] !== undefined) faults.push(fault(`is for ${option('traces')}`, option(name)));
  pushAll(faults, [...processFaults(arrivals, cv), ...(askedPriorities(options).faults ?? [])]);
  if (faults.length > 0) throw new InputError('drive a load', faults);
  return { rps: rate, durationS: durationS as number };
}

async function tracedLoad(url: string, options: WithAccess): Promise<AskedLoad> {
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
    from,
    to,
  } = options;
  const remote = await describeServer(url, options);
  const told = new ToldFaults();
  const rates = typeof rps === 'number' ? [String(rps)] : rps;
  const spread = { arrivals, cv, duration, rps: rates };
  const asked: SimulatedLoadOptions = { ...spread, signal, traces, traceFormat, from, to };
  told.addAll([...(await shareFaults(remote, traces, rates)), ...(askedPriorities(options).faults ?? [])]);
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
  const rate = rated.reduce((sum, model) => sum + model.rps, 0);
  const faults = rateFaults(rate, option('traces'));
  if (faults.length > 0) throw new InputError(`load ${url}`, faults);
  return {
    rps: rate,
    durationS,
    schedule: { arrivals: arrivalsOf(workload, models, seed), models: models.map(({ name }) => name) },
    sentTo: rated.filter((model) => model.rps > 0).map(({ name }) => name),
    warnings: loadWarnings(workload, durationS),
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

/** shareFaults refuses to share a load among models whose shares the server does not report. */
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
