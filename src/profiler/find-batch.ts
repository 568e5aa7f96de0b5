import { largestOf } from '../collections/index.js';
import {
  ExecutionError,
  firstLine,
  type MemoryGuard,
  OutOfMemoryError,
  type TensorInfo,
  type TensorMaker,
  type Tensors,
} from '../execution/index.js';
import { option, toldUp } from '../formats/index.js';
import { dataSizedTensors, liveTensors, type MeasuredShapes, type OnnxModel } from '../onnx/index.js';
import { type BindOptions, type BoundModel, bindModel } from './bind-model.js';
import { judgeRows, type RowsJudged, tensorsToKnow } from './find-rows.js';
import { findTensors, knownShapes, measureShapes, type Trial } from './find-tensors.js';
import { inferredBytes, memoryShortage } from './memory-need.js';
import { inputBatching, requestFor, stackRequests } from './requests.js';
import { ScratchExecutors } from './scratch-executors.js';
import { gathered, lightened, type Source, withScratch, writeData } from './source.js';
import type { Batching, PrepareOptions, TensorFinding } from './types.js';

/** Common is what all runs of one model are made with. */
export interface Common {
  readonly path: string;
  readonly options: PrepareOptions;
  readonly memory: MemoryGuard;
}

/** Found is a model as it was run, and what was found out about its tensors. */
export interface Found {
  readonly kind: 'batches';
  readonly model: OnnxModel;
  readonly source: Source;
  readonly request: Tensors;
  readonly tensors: ReadonlyMap<string, TensorFinding>;
  readonly fixedBatch: number | undefined;
  readonly measuredShapes: MeasuredShapes;
  /** The tolerance that was needed for rows that influence one another. */
  readonly batchTolerance: number | undefined;
  /** Why a batch would not be taken if it were not trusted; undefined where no trust was needed. */
  readonly trustBatch: string | undefined;
}

/** Bindings are the model bound without a tolerance for rows that influence one another, and with one. */
interface Bindings {
  readonly strict: BoundModel;
  /** Present where only scales that are taken from all rows of a batch stood against a symbolic batch. */
  readonly tolerant: BoundModel | undefined;
}

/**
 * bindForBatches makes a fixed batch symbolic, if that can be done. Where shapes of inner tensors are missing for that,
 * it runs the model once as it is and measures them.
 * @param bound the model as `bindModel` gives it without measured shapes
 */
export async function bindForBatches(
  bytes: Uint8Array,
  { bound, ...file }: Pick<BindOptions, 'name' | 'dims'> & { readonly bound: BoundModel },
  common: Common,
): Promise<Bindings> {
  let shapes: MeasuredShapes | undefined;
  const completed = async (tried: BoundModel, mixing: boolean): Promise<BoundModel> => {
    if (!tried.lacksShapes || tried.fileBatch === 0) return tried;
    shapes ??= await shapesAtFixedBatch(tried, common);
    return bindModel(bytes, { ...file, mixing, shapes });
  };
  const strict = await completed(bound, false);
  if (!strict.mixesSlightly) return { strict, tolerant: undefined };
  const tolerant = await completed(bindModel(bytes, { ...file, mixing: true }), true);
  return { strict, tolerant: tolerant.notSymbolic === undefined ? tolerant : undefined };
}

/**
 * shapesAtFixedBatch measures the shapes of all inner tensors whose size does not depend on the data; there
 * are none where the model does not run. The sizes that one request gives say nothing of the others where
 * elements set the size.
 */
async function shapesAtFixedBatch(bound: BoundModel, common: Common): Promise<MeasuredShapes> {
  const { model, source } = gathered(bound.model, common.path);
  const { feeds: given = {}, fill = {} } = common.options;
  const sized = dataSizedTensors(model, new Set(Object.keys(fill)));
  const inner = model.graph.nodes
    .flatMap(({ outputs }) => outputs)
    .filter((name) => name !== '' && !sized.has(name));
  const first = requestFor(bound.shaped, bound.batch, { which: 0, given, fill });
  try {
    return await withTrial({ model, source, requests: 1 }, common, (trial) =>
      measureShapes({ ...trial, first }, inner),
    );
  } catch (error) {
    if (!(error instanceof ExecutionError) || common.options.signal?.aborted) throw error;
    return {};
  }
}

type Attempt = Found | { readonly kind: 'fails'; readonly why: string };

/** tryBatching gives the tensors of a model that batches, or says why it does not. */
export async function tryBatching(bindings: Bindings, common: Common): Promise<Attempt> {
  const { batchTolerance, ...options } = common.options;
  if (bindings.tolerant === undefined && batchTolerance !== undefined) {
    // A tolerance that is not needed is not recorded, so that nothing says that rows influence one another.
    const found = await attempt(bindings, { ...common, options }, { namesMixing: false });
    if (found.kind === 'batches') return found;
  }
  return await attempt(bindings, common, { namesMixing: true });
}

/** @param how.namesMixing whether the reason of a failure names the node that mixes rows, which takes more runs */
async function attempt(
  { strict, tolerant }: Bindings,
  common: Common,
  how: { readonly namesMixing: boolean },
): Promise<Attempt> {
  const bound = tolerant ?? strict;
  if (bound.notSymbolic !== undefined) return { kind: 'fails', why: bound.notSymbolic };
  const tolerance = common.options.batchTolerance;
  try {
    const { found, mixing, rows } = await find(bound, common, { batching: true, ...how });
    const faults = mixedOutputs(found);
    const mixed = faults.length > 0 ? whyMixed(faults, mixing) : undefined;
    if (mixed !== undefined && !common.options.trustBatch) return { kind: 'fails', why: mixed };
    if (mixed !== undefined || rows !== undefined) return byRows(found, { ...rows, mixed }, common.options);
    if (tolerant === undefined || tolerance !== undefined) return found;
    return { kind: 'fails', why: `${strict.notSymbolic}; ${roundingOnly()}` };
  } catch (error) {
    if (!(error instanceof ExecutionError) || common.options.signal?.aborted) throw error;
    const said = error instanceof OutOfMemoryError ? error.why : error.message;
    return { kind: 'fails', why: `it does not run at batch 2: ${firstLine(said)}` };
  }
}

function roundingOnly(): string {
  return `outputs differ by rounding only on these inputs, and ${option('batchTolerance')} would allow that`;
}

/**
 * byRows gives what was found where rules or runs show that rows keep apart, or where that is trusted. No trust makes an
 * axis of the batch where there is none.
 */
function byRows(
  found: Found,
  {
    mixed,
    why,
    slightly,
    lost = [],
    unsettled,
  }: Partial<RowsJudged> & { readonly mixed: string | undefined },
  { trustBatch = false }: PrepareOptions,
): Attempt {
  const tensors = new Map(
    [...found.tensors].map(([name, finding]) => [name, settled(finding, unsettled?.has(name) ?? false)]),
  );
  const against = [mixed, why].filter((reason) => reason !== undefined);
  if (against.length === 0) return { ...found, tensors };
  const trusted = trustBatch ? withAxes(found, tensors) : undefined;
  const cannot = [...lost.map(({ told }) => told), ...(trusted?.lost ?? [])];
  if (trusted !== undefined && cannot.length === 0)
    return { ...found, tensors: trusted.tensors, trustBatch: against.join('; ') };
  if (trustBatch) against.push(`${cannot.join('; ')}, so that a batch's cannot be split among its requests`);
  else if (slightly) against.push(roundingOnly());
  return { kind: 'fails', why: against.join('; ') };
}

/** withAxes takes outputs for stacked that grow with the batch on one axis, whatever their values. */
function withAxes(
  { model }: Found,
  found: ReadonlyMap<string, TensorFinding>,
): { readonly tensors: Map<string, TensorFinding>; readonly lost: readonly string[] } {
  const tensors = new Map(found);
  const lost = model.graph.outputs.flatMap(({ name }) => {
    const finding = found.get(name);
    if (finding?.kind !== 'tensor' || finding.batching.kind !== 'mixed') return [];
    const { grows, why } = finding.batching;
    if (grows === undefined) return [`output ${name}: ${why}`];
    const spec = { ...finding.spec, batchAxis: grows };
    tensors.set(name, { ...finding, spec, batching: { kind: 'stacked', axis: grows } });
    return [];
  });
  return { tensors, lost };
}

/** settled takes no tensor for common to all requests only because two requests had the same. */
function settled(finding: TensorFinding, isUnsettled: boolean): TensorFinding {
  if (!isUnsettled || finding.kind !== 'tensor' || finding.batching.kind !== 'common') return finding;
  return {
    ...finding,
    batching: { kind: 'mixed', why: 'it is made of the rows of a batch and has no batch axis' },
  };
}

/** findUnbatched gives the tensors of a model that runs at one batch size only. */
export async function findUnbatched(bound: BoundModel, common: Common): Promise<Found> {
  return (await find(bound, common, { batching: false, namesMixing: false })).found;
}

type Mixed = Extract<Batching, { kind: 'mixed' }>;

interface MixedOutput {
  readonly name: string;
  readonly batching: Mixed;
}

function mixedOutputs({ model, tensors }: Found): MixedOutput[] {
  return model.graph.outputs.flatMap(({ name }) => {
    const finding = tensors.get(name);
    return finding?.kind === 'tensor' && finding.batching.kind === 'mixed'
      ? [{ name, batching: finding.batching }]
      : [];
  });
}

/** whyMixed says which outputs mix rows, by how much, where that begins, and what tolerance would allow it. */
function whyMixed(outputs: readonly MixedOutput[], mixing: string | undefined): string {
  const said = outputs.map(({ name, batching: { why, difference = Number.POSITIVE_INFINITY } }) =>
    Number.isFinite(difference)
      ? `output ${name}: ${why}, but differs from it by ${difference.toExponential(1)} of its largest value`
      : `output ${name}: ${why}`,
  );
  if (mixing !== undefined) said.push(`the first node that mixes rows is ${mixing}`);
  const most = largestOf(outputs.map(({ batching }) => batching.difference ?? Number.POSITIVE_INFINITY));
  if (most < MOST_TOLERANCE)
    said.push(`${option('batchTolerance')} would have to be ${toldUp(most, 2)} or more for these inputs`);
  return said.join('; ');
}

/** A difference as large as the values themselves is none to be tolerated. */
const MOST_TOLERANCE = 1;

interface FoundRows {
  readonly found: Found;
  readonly mixing: string | undefined;
  readonly rows: RowsJudged | undefined;
}

/** find runs the model; where outputs turn out to mix rows, it names the first node that does, if that is asked for. */
async function find(
  bound: BoundModel,
  common: Common,
  { batching, namesMixing }: { readonly batching: boolean; readonly namesMixing: boolean },
): Promise<FoundRows> {
  const { model, source } = gathered(bound.model, common.path);
  const { feeds: given = {}, fill = {}, batchTolerance: tolerance, trustBatch = false } = common.options;
  const request = (which: number, kind?: TensorMaker) =>
    requestFor(bound.shaped, bound.batch, { which, given, fill, ...(kind && { kind }) });
  const joined = (several: readonly Tensors[]) => stackRequests(several, inputBatching(bound.batch));
  const [first, second] = [request(0), request(1)];
  const both = batching ? joined([first, second]) : undefined;
  const fixedBatch = batching ? undefined : bound.batch.kind === 'fixed' ? bound.batch.size : 1;
  const requests = batching ? 2 : 1;
  return await withTrial({ model, source, requests }, common, async (common) => {
    const settled = new Set(Object.keys(fill));
    const trial: Trial = { ...common, first, second, both, settled, ...(tolerance && { tolerance }) };
    const live = liveTensors(model);
    const known = await knownShapes(trial, batching ? tensorsToKnow(bound, live) : live);
    const tensors = await findTensors(trial, live, known);
    const found: Found = {
      kind: 'batches',
      model,
      source,
      request: first,
      tensors,
      fixedBatch,
      measuredShapes: bound.shapes,
      batchTolerance: tolerance,
      trustBatch: undefined,
    };
    const mixes = mixedOutputs(found).length > 0;
    const mixing = mixes && namesMixing ? await firstMixing(trial, tensors) : undefined;
    // A fixed batch became symbolic only because the rules followed every row.
    if (!batching || bound.fileBatch !== undefined || (mixes && !trustBatch))
      return { found, mixing, rows: undefined };
    const requestsOf = { of: (kind: TensorMaker, which: number) => request(which, kind), joined };
    const judging = { mixing: tolerance !== undefined, found: tensors, known, requests: requestsOf };
    return { found, mixing, rows: await judgeRows(trial, bound, judging) };
  });
}

/**
 * firstMixing names the first node, in topological order, with an output in which requests influence one another. It
 * names none where the model does not run with all its tensors probed.
 */
async function firstMixing(
  trial: Trial,
  known: ReadonlyMap<string, TensorFinding>,
): Promise<string | undefined> {
  const { nodes } = trial.model.graph;
  const others = nodes.flatMap(({ outputs }) => outputs).filter((name) => name !== '' && !known.has(name));
  const rest = await findTensors(trial, others).catch((error: unknown) => {
    if (!(error instanceof ExecutionError) || trial.signal?.aborted) throw error;
    return new Map<string, TensorFinding>();
  });
  const found = new Map([...known, ...rest]);
  const mixes = (name: string) => {
    const finding = found.get(name);
    return finding?.kind === 'tensor' && finding.batching.kind === 'mixed'
      ? finding.batching.difference !== undefined
      : false;
  };
  const node = nodes.find(({ outputs }) => outputs.some(mixes));
  return node && `${node.op} ${JSON.stringify(node.name)}`;
}

/** withTrial starts an executor for runs of one model, and ends it. */
async function withTrial<T>(
  { model, source, requests }: { model: OnnxModel; source: Source; requests: number },
  common: Common,
  use: (trial: Omit<Trial, 'first' | 'second' | 'both'>) => Promise<T>,
): Promise<T> {
  const { signal, device, startExecutor: start } = common.options;
  const scratch = new ScratchExecutors(common.memory, start);
  const executor = await scratch.of(device);
  return await withScratch(async (folder) => {
    await writeData(folder, source);
    return await use({
      executor,
      model: await lightened(model, folder),
      folder,
      ...(signal === undefined ? {} : { signal }),
      checkFits: (inferred) => checkFits(model, inferred, { requests, ...common }),
    });
  }).finally(() => scratch.close());
}

/** checkFits throws before anything is run, where what ONNX Runtime infers shows that a run cannot fit in memory. */
function checkFits(
  model: OnnxModel,
  inferred: ReadonlyMap<string, TensorInfo>,
  { path, requests, memory }: Common & { readonly requests: number },
): void {
  const why = memoryShortage(model, inferredBytes(inferred, requests), { requests, memory });
  if (why !== undefined) throw new OutOfMemoryError(`Cannot run ${path}: ${why}`, why);
}
