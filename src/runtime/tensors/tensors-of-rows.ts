import { itemAt } from '../../collections/index.js';
import type { TensorData, Tensors } from '../../execution/index.js';
import type { TensorSpec } from '../../formats/index.js';
import type { FedInput } from '../../plans/index.js';
import type { LiveModel, StageTensors } from '../bundle/pool-work.js';
import { type StackMemory, splitRows, stackRows } from './rows.js';
import type { AnsweredBy, RowInFlight } from './rows-in-flight.js';

/** AnsweredRow is a row that has ended, with the tensors that it came to. */
export type AnsweredRow = Pick<RowInFlight, 'tensors' | 'answered'>;

/** RowsAnswer is what a request is answered with. */
export interface RowsAnswer {
  /** The number of the request's rows. */
  readonly rows: number;
  readonly outputs: Tensors;
  /** The names of outputs that no row of the request came to. */
  readonly notTaken: readonly string[];
  /** The rows that an output has, counted from 0, where it does not have all of the request. */
  readonly rowsOf: Readonly<Record<string, readonly number[]>>;
  /** The model of a cascade that answers each row; empty of others. */
  readonly answeredBy: readonly AnsweredBy[];
}

/**
 * feedsOf joins the rows' tensors into the inputs of a batch.
 * @throws Error where a row lacks an input, or the tensors do not fit together
 */
export function feedsOf(
  rows: readonly RowInFlight[],
  { inputs }: Pick<StageTensors, 'inputs'>,
  memory: StackMemory,
): Tensors {
  return Object.fromEntries(
    inputs.map((input) => {
      const parts = rows.map((row) => fed(row, input));
      return [input.spec.name, stackRows(parts, input.spec, memory)];
    }),
  );
}

function fed({ tensors }: RowInFlight, { spec, from }: FedInput): TensorData {
  for (const key of from) if (tensors[key] !== undefined) return tensors[key];
  throw new Error(`a row carries no ${spec.name}`);
}

/**
 * keepOutputs splits a batch's outputs among its rows.
 * @returns the verdicts on the rows; none where the stage gives none
 * @throws Error where an output is missing, or does not say where a row goes on
 */
export function keepOutputs(
  rows: readonly RowInFlight[],
  work: Pick<StageTensors, 'outputs' | 'fork' | 'answers'>,
  given: Tensors,
): number[] {
  const { outputs, fork } = work;
  const split = outputs.map(({ spec }) => {
    const tensor = given[spec.name];
    if (tensor === undefined) throw new Error(`the model gave no ${spec.name}`);
    return splitRows(tensor, spec, rows.length);
  });
  const verdicts = rows.map((row, k) =>
    keepOfRow(
      row,
      work,
      split.map((parts) => itemAt(parts, k)),
    ),
  );
  return fork === undefined ? [] : verdicts;
}

function keepOfRow(
  row: RowInFlight,
  { outputs, fork, answers }: Pick<StageTensors, 'outputs' | 'fork' | 'answers'>,
  parts: readonly TensorData[],
): number {
  const { tensors } = row;
  outputs.forEach(({ key }, i) => {
    tensors[key] = itemAt(parts, i);
  });
  if (fork === undefined) return 0;
  const verdict = fork.verdictOn(
    Object.fromEntries(outputs.map(({ spec }, i) => [spec.name, itemAt(parts, i)])),
  );
  if (answers !== undefined) row.answered = { model: answers, certainty: verdict };
  outputs.forEach(({ endKey }, i) => {
    if (endKey === undefined) return;
    if (verdict === 0) tensors[endKey] = itemAt(parts, i);
    else delete tensors[endKey];
  });
  return verdict;
}

/**
 * answerOf joins what the rows of a request have come to. Rows that have gone different ways have different outputs.
 * @throws Error where an output is missing that every row must have, or the rows' tensors do not fit together
 */
export function answerOf(model: LiveModel, rows: readonly AnsweredRow[]): RowsAnswer {
  const outputs: Record<string, TensorData> = {};
  const rowsOf: Record<string, number[]> = {};
  const notTaken: string[] = [];
  model.outputs.forEach((spec, i) => {
    const key = itemAt(model.outputKeys, i);
    const having = rows.flatMap(({ tensors }, row) => (tensors[key] === undefined ? [] : [row]));
    const parts = having.map((row) => itemAt(rows, row).tensors[key]!);
    if (parts.length < rows.length && !model.mayLackOutputs)
      throw new Error(`the model gave no ${spec.name}`);
    if (parts.length === 0) notTaken.push(spec.name);
    else outputs[spec.name] = joined(parts, spec);
    if (parts.length > 0 && parts.length < rows.length) rowsOf[spec.name] = having;
  });
  const answeredBy = rows.flatMap(({ answered }) => answered ?? []);
  return { rows: rows.length, outputs, notTaken, rowsOf, answeredBy };
}

function joined(parts: readonly TensorData[], spec: TensorSpec): TensorData {
  const first = itemAt(parts, 0);
  if (parts.length === 1 || spec.batchAxis === undefined) return first;
  const { dtype, dims } = first;
  return stackRows(parts, { ...spec, dtype, shape: [...dims] });
}
