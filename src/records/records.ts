import { csvTable, decimalOf, type Fault, fault } from '../artifacts/index.js';
import type { ClassLimit } from './class-limit.js';

/** Longer texts are taken for a mistake: this holds some ten million lines. */
export const MOST_RECORD_BYTES = 256 * 1024 * 1024;

const COLUMNS = ['sample', 'model', 'prediction', 'label', 'certainty'] as const;
/** What is read of the lines of models that nobody asks for. */
const OF_OTHERS = ['sample', 'label'] as const;
/** Of like faults, so many are told one by one. */
const MOST_ALIKE = 5;

/**
 * FamilyRecords holds, for each model of a family, whether it is right about each sample, and how certain it is. Samples
 * stand in the order of the file. It is plain data.
 */
export interface FamilyRecords {
  readonly samples: number;
  readonly models: readonly string[];
  /** 1 where the model's prediction is the sample's label, by model and sample. */
  readonly correct: readonly Uint8Array[];
  /** The certainty of the model's prediction, by model and sample. */
  readonly certainty: readonly Float64Array[];
}

/**
 * recordsOf makes records of a CSV text: a header with the columns sample, model, prediction, label and certainty in any
 * order, and a line for each sample and model. Predictions and labels are class numbers or names, and are compared as text.
 * It takes time by the length of the text.
 * @param wanted the models that the records must have; of the lines of others only the labels are read
 * @param limit how many classes there are, where that is known
 * @returns every fault where there are any: lines that are missing or doubled, labels of one sample that differ, numbers
 *   that are no classes, certainties that are no numbers
 */
export function recordsOf(
  text: string,
  wanted?: readonly string[],
  limit?: ClassLimit,
): FamilyRecords | { readonly faults: Fault[] } {
  const table = csvTable(text, COLUMNS, 'sample');
  if ('faults' in table) return table;
  const reader = new RecordReader(wanted, limit);
  for (const line of table.lines) reader.read(table.cellsOf(line), line.info.lines);
  return reader.records();
}

/** What one model says of one sample. */
interface Answer {
  readonly isCorrect: boolean;
  readonly prediction: string;
  readonly certainty: number;
  readonly line: number;
}

/** RecordReader reads lines one after another, and keeps the faults that it finds. */
class RecordReader {
  private readonly faults = new FaultsAlike();
  private readonly samples = new Map<string, { readonly label: string; readonly line: number }>();
  private readonly answers = new Map<string, Map<string, Answer>>();

  constructor(
    private readonly wanted: readonly string[] | undefined,
    private readonly limit: ClassLimit | undefined,
  ) {}

  /** @param cells those of the columns, in their order, or why the line has others */
  read(cells: readonly string[] | { readonly wrong: string }, line: number): void {
    if ('wrong' in cells) {
      this.faults.add('cells', cells.wrong, line);
      return;
    }
    const [sample, model, prediction, label, certainty] = cells as [string, string, string, string, string];
    const isWanted = this.wanted?.includes(model) ?? true;
    const needed: readonly string[] = isWanted || model === '' ? COLUMNS : OF_OTHERS;
    const empty = COLUMNS.filter((column, i) => needed.includes(column) && cells[i] === '');
    if (empty.length > 0) {
      this.faults.add('empty', `has no ${empty.join(', ')}`, line);
      return;
    }
    this.checkClass('label', label, line);
    this.checkLabel(sample, label, line);
    if (!isWanted) return;
    this.checkClass('prediction', prediction, line);
    const ofModel = this.answers.get(model) ?? new Map<string, Answer>();
    this.answers.set(model, ofModel);
    const before = ofModel.get(sample);
    const value = decimalOf(certainty);
    if (before !== undefined) {
      const isSame = before.prediction === prediction && before.certainty === value;
      const said = isSame
        ? `says again what ${model} says of sample ${sample}, after line ${before.line}`
        : `says of sample ${sample} by ${model} otherwise than line ${before.line}: ${prediction} with certainty ${certainty}, and there ${before.prediction} with ${before.certainty}`;
      this.faults.add(isSame ? 'doubled' : 'contradictory', said, line);
      return;
    }
    if (!Number.isFinite(value))
      this.faults.add(
        'certainty',
        `the certainty is "${certainty}", which is no finite decimal number`,
        line,
      );
    // What is said wrongly is not missing too.
    ofModel.set(sample, { isCorrect: prediction === label, prediction, certainty: value, line });
  }

  /** checkClass refuses numbers that no class has, so that `2.0` and `2` are not taken for two classes. */
  private checkClass(what: 'label' | 'prediction', name: string, line: number): void {
    const { model, classes } = this.limit ?? {};
    if (/^(0|[1-9]\d*)$/.test(name)) {
      if (classes !== undefined && Number(name) >= classes)
        this.faults.add(
          `${what} beyond`,
          `the ${what} is ${name}, and ${model} tells ${classes} classes, from 0 on`,
          line,
        );
    } else if (!Number.isNaN(Number(name)))
      this.faults.add(
        what,
        `the ${what} is ${name}, which is no class: classes are whole numbers from 0, or names`,
        line,
      );
  }

  private checkLabel(sample: string, label: string, line: number): void {
    const before = this.samples.get(sample);
    if (before === undefined) this.samples.set(sample, { label, line });
    else if (before.label !== label) {
      const said = `the label of sample ${sample} is ${label}, and on line ${before.line} it is ${before.label}`;
      this.faults.add('label', said, line);
    }
  }

  records(): FamilyRecords | { readonly faults: Fault[] } {
    const models = this.wanted ?? [...this.answers.keys()];
    for (const model of models) {
      const has = this.answers.get(model);
      if (has === undefined) {
        const known = [...this.answers.keys()].join(', ') || 'none';
        this.faults.add('model', `there is no line of the model ${model}; there are lines of ${known}`);
        continue;
      }
      for (const [sample, { line }] of this.samples)
        if (!has.has(sample))
          this.faults.add('missing', `${model} says nothing of sample ${sample}, which is there`, line);
    }
    const faults = this.faults.all();
    if (faults.length > 0) return { faults };
    const ofModels = models.map((model) => this.answers.get(model) as Map<string, Answer>);
    const samples = [...this.samples.keys()];
    return {
      samples: samples.length,
      models,
      correct: ofModels.map((of) => Uint8Array.from(samples, (s) => (of.get(s)?.isCorrect ? 1 : 0))),
      certainty: ofModels.map((of) => Float64Array.from(samples, (s) => of.get(s)?.certainty as number)),
    };
  }
}

/** FaultsAlike collects faults, and of each sort lists only the first few. */
class FaultsAlike {
  private readonly found = new Map<string, Fault[]>();

  add(sort: string, message: string, line?: number): void {
    const of = this.found.get(sort) ?? [];
    this.found.set(sort, of);
    of.push(fault(message, line === undefined ? '' : `line ${line}`));
  }

  all(): Fault[] {
    return [...this.found.values()].flatMap((of) => [
      ...of.slice(0, MOST_ALIKE),
      ...(of.length > MOST_ALIKE
        ? [fault(`there are ${of.length - MOST_ALIKE} more faults like the last one`)]
        : []),
    ]);
  }
}
