import { itemAt } from '../collections/index.js';
import { ExecutionError, type Executor, type Tensors } from '../execution/index.js';
import { fault, InputError } from '../formats/index.js';
import type { RunPipeline } from '../pipeline/index.js';
import { conditionalEdges, requestKey } from '../plans/index.js';
import { feedsOf, keepOutputs, RowInFlight, StackMemory, stageTensors } from '../runtime/index.js';

/** RunOptions is what running samples takes besides them. */
export interface RunOptions {
  readonly executor: Pick<Executor, 'load' | 'run'>;
  /** The ONNX file of each stage's model, in the order of the stages, as it is served. */
  readonly files: readonly string[];
  readonly signal?: AbortSignal | undefined;
  /** onRow hears after each row how many are done. */
  readonly onRow?: ((done: number) => void) | undefined;
}

/** NOT_REACHED stands in place of the verdict on a row that did not come to a stage. */
export const NOT_REACHED = -1;

/** RowVerdicts holds the verdict of each stage on a row: the bits of the edges taken, or NOT_REACHED. */
export type RowVerdicts = Int32Array;

/**
 * runSamples sends rows through the models of a pipeline one by one, each along the edges that its verdicts take, as a
 * server does. Models after which nothing is chosen are not run, as nothing is counted of what they give.
 * @throws InputError where a model fails for a row; the signal's reason on abort
 */
export async function runSamples(
  rows: readonly Tensors[],
  pipeline: RunPipeline,
  { executor, files, signal, onRow }: RunOptions,
): Promise<RowVerdicts[]> {
  const runner = new StageRunner(pipeline);
  const models: (number | undefined)[] = [];
  for (const [stage, file] of files.entries())
    models.push(runner.mustRun(stage) ? (await executor.load(file)).model : undefined);
  const verdicts: RowVerdicts[] = [];
  for (const inputs of rows) {
    const run = async (stage: number, feeds: Tensors, fetches: readonly string[]): Promise<Tensors> => {
      signal?.throwIfAborted();
      try {
        return (await executor.run(models[stage] as number, feeds, fetches)).outputs;
      } catch (error) {
        if (!(error instanceof ExecutionError)) throw error;
        const said = `${pipeline.stages[stage]?.name} failed: ${error.message}`;
        throw new InputError('run the samples', [fault(said, `sample ${verdicts.length + 1}`)]);
      }
    };
    verdicts.push(await runner.walk(inputs, run));
    onRow?.(verdicts.length);
  }
  return verdicts;
}

type RunStage = (stage: number, feeds: Tensors, fetches: readonly string[]) => Promise<Tensors>;

class StageRunner {
  private readonly tensors: ReturnType<typeof stageTensors>;
  private readonly isNeeded: readonly boolean[];

  constructor(private readonly pipeline: RunPipeline) {
    this.tensors = stageTensors(pipeline);
    this.isNeeded = neededStages(pipeline);
  }

  /** mustRun says whether something is chosen by a stage's model or after it. */
  mustRun(stage: number): boolean {
    return itemAt(this.isNeeded, stage);
  }

  async walk(inputs: Tensors, run: RunStage): Promise<RowVerdicts> {
    const { order, entries, edges } = this.pipeline.graph;
    const names = Object.keys(inputs);
    const row = new RowInFlight(
      inputs,
      names.map((name) => ({ name })),
      names.map(requestKey),
    );
    const reached = new Set(entries);
    const verdicts = new Int32Array(edges.length).fill(NOT_REACHED);
    for (const stage of order) {
      if (!reached.has(stage)) continue;
      const verdict = this.mustRun(stage) ? await this.verdictOf(row, stage, run) : 0;
      verdicts[stage] = verdict;
      for (const { to, bit } of edges[stage] ?? [])
        if (bit === undefined || (verdict & (1 << bit)) !== 0) reached.add(to);
    }
    return verdicts;
  }

  private async verdictOf(row: RowInFlight, stage: number, run: RunStage): Promise<number> {
    const tensors = itemAt(this.tensors, stage);
    const feeds = feedsOf([row], tensors, new StackMemory());
    const outputs = await run(
      stage,
      feeds,
      tensors.outputs.map(({ spec }) => spec.name),
    );
    return keepOutputs([row], tensors, outputs)[0] ?? 0;
  }
}

function neededStages({ graph, stages }: RunPipeline): boolean[] {
  const needed = stages.map((stage) => conditionalEdges(stage).length > 0);
  for (const stage of graph.order.toReversed())
    if ((graph.edges[stage] ?? []).some(({ to }) => needed[to])) needed[stage] = true;
  return needed;
}
