import { inSteps, readCsvTable } from '../artifacts/index.js';
import { grownCapacity, grownColumn } from '../collections/index.js';
import { decimalOf, type Fault, fault, type LineCells } from '../formats/index.js';
import type { ClassLimit } from './class-limit.js';

/** Longer texts are taken for a mistake: this holds some ten million lines. */
export const MOST_RECORD_BYTES = 256 * 1024 * 1024;

const COLUMNS = ['sample', 'model', 'prediction', 'label', 'certainty'] as const;
/** The columns that are read of the lines of models that nobody asks for. */
const OF_OTHERS = ['sample', 'label'] as const;
/** Sorts of faults for which a line is not read: a field that is missing then may be in that line. */
const REFUSED = ['cells', 'empty'];
/** Of like faults, so many are reported one by one. */
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
 * It takes time by the length of the text, and is read in steps (`inSteps`).
 * @param wanted the models that the records must have; of the lines of others only the labels are read
 * @param limit how many classes there are, where that is known
 * @returns every fault where there are any: lines that are missing or doubled, labels of one sample that differ, numbers
 *   that are no classes, certainties that are no numbers
 */
export async function recordsOf(
  text: string,
  wanted?: readonly string[],
  limit?: ClassLimit,
): Promise<FamilyRecords | { readonly faults: Fault[] }> {
  const reader = new RecordReader(wanted, limit);
  const faults = await readCsvTable(text, { columns: COLUMNS, what: 'sample' }, (cells, line) =>
    reader.read(cells, line),
  );
  return faults.length > 0 ? { faults } : reader.records();
}

/** Names gives each class or sample a number, from 0 on, in the order in which they come. */
class Names {
  readonly all: string[] = [];
  private readonly numbers = new Map<string, number>();

  numberOf(name: string): number {
    const before = this.numbers.get(name);
    if (before !== undefined) return before;
    this.numbers.set(name, this.all.length);
    return this.all.push(name) - 1;
  }
}

/** Answers are what one model says of each sample, by the sample's number. Line 0 is none. */
class Answers {
  line = new Int32Array(0);
  prediction = new Int32Array(0);
  certainty = new Float64Array(0);

  set(
    sample: number,
    { line, prediction, certainty }: { line: number; prediction: number; certainty: number },
  ): void {
    if (sample >= this.line.length) {
      const capacity = grownCapacity(this.line.length, sample + 1);
      this.line = grownColumn(this.line, capacity);
      this.prediction = grownColumn(this.prediction, capacity);
      this.certainty = grownColumn(this.certainty, capacity);
    }
    this.line[sample] = line;
    this.prediction[sample] = prediction;
    this.certainty[sample] = certainty;
  }
}

/** RecordReader reads lines one after another, and keeps the faults that it finds. */
class RecordReader {
  private readonly faults = new FaultsAlike();
  private readonly samples = new Names();
  private readonly classes = new Names();
  /** The label of each sample, and the line that gave it first. */
  private label = new Int32Array(0);
  private line = new Int32Array(0);
  private readonly answers = new Map<string, Answers>();

  constructor(
    private readonly wanted: readonly string[] | undefined,
    private readonly limit: ClassLimit | undefined,
  ) {}

  /** @param cells those of the columns, in their order, or why the line has others */
  read(cells: LineCells, line: number): void {
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
    const at = this.samples.numberOf(sample);
    this.checkLabel(at, label, line);
    if (!isWanted) return;
    this.checkClass('prediction', prediction, line);
    const ofModel = this.answers.get(model) ?? new Answers();
    this.answers.set(model, ofModel);
    const before = ofModel.line[at] ?? 0;
    const value = decimalOf(certainty);
    if (before > 0) {
      const said = this.classes.all[ofModel.prediction[at] as number];
      const sure = ofModel.certainty[at];
      const isSame = said === prediction && sure === value;
      const told = isSame
        ? `says again what ${model} says of sample ${sample}, after line ${before}`
        : `says of sample ${sample} by ${model} otherwise than line ${before}: ${prediction} with certainty ${certainty}, and there ${said} with ${sure}`;
      this.faults.add(isSame ? 'doubled' : 'contradictory', told, line);
      return;
    }
    if (!Number.isFinite(value))
      this.faults.add(
        'certainty',
        `the certainty is "${certainty}", which is no finite decimal number`,
        line,
      );
    // A figure that is given wrongly is not missing too.
    ofModel.set(at, { line, prediction: this.classes.numberOf(prediction), certainty: value });
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

  private checkLabel(sample: number, name: string, line: number): void {
    const label = this.classes.numberOf(name);
    if (sample >= this.line.length) {
      const capacity = grownCapacity(this.line.length, sample + 1);
      this.line = grownColumn(this.line, capacity);
      this.label = grownColumn(this.label, capacity);
    }
    const [before, said] = [this.line[sample] as number, this.label[sample] as number];
    if (before === 0) {
      this.line[sample] = line;
      this.label[sample] = label;
    } else if (said !== label) {
      const [which, other] = [this.samples.all[sample], this.classes.all[said]];
      const told = `the label of sample ${which} is ${name}, and on line ${before} it is ${other}`;
      this.faults.add('label', told, line);
    }
  }

  async records(): Promise<FamilyRecords | { readonly faults: Fault[] }> {
    const models = this.wanted ?? [...this.answers.keys()];
    const count = this.samples.all.length;
    const correct: Uint8Array[] = [];
    const certainty: Float64Array[] = [];
    for (const model of models) {
      const has = this.answers.get(model);
      if (has === undefined) {
        const known = [...this.answers.keys()].join(', ') || 'none';
        this.faults.add('model', `there is no line of the model ${model}; there are lines of ${known}`);
        continue;
      }
      const right = new Uint8Array(count);
      await inSteps(this.samples.all, (sample, at) => {
        right[at] = has.prediction[at] === this.label[at] ? 1 : 0;
        if ((has.line[at] ?? 0) > 0) return;
        this.faults.add(
          'missing',
          `${model} has no answer to sample ${sample}, which other lines name`,
          this.line[at],
        );
      });
      correct.push(right);
      certainty.push(has.certainty.slice(0, count));
    }
    const faults = [...this.unlikeStarts(models), ...this.faults.all()];
    return faults.length > 0 ? { faults } : { samples: count, models, correct, certainty };
  }

  /**
   * unlikeStarts finds models whose samples count from another number than those of the first, which explains all that
   * is missing.
   */
  private unlikeStarts(models: readonly string[]): Fault[] {
    if (!this.faults.has('missing') || REFUSED.some((sort) => this.faults.has(sort))) return [];
    const leastOf = (model: string): number => {
      const { line } = this.answers.get(model) ?? new Answers();
      return this.samples.all.reduce(
        (least, sample, at) => ((line[at] ?? 0) > 0 ? Math.min(least, decimalOf(sample)) : least),
        Number.POSITIVE_INFINITY,
      );
    };
    const [first, ...others] = models.map((model) => ({ model, least: leastOf(model) }));
    return others.flatMap(({ model, least }) =>
      first !== undefined &&
      least !== first.least &&
      [least, first.least].every((one) => one === 0 || one === 1)
        ? [
            fault(
              `the samples of ${model} count from ${least}, and those of ${first.model} from ${first.least}: number both alike`,
            ),
          ]
        : [],
    );
  }
}

/** FaultsAlike collects faults, and of each sort lists only the first few. */
class FaultsAlike {
  private readonly found = new Map<string, { readonly first: Fault[]; more: number }>();

  add(sort: string, message: string, line?: number): void {
    const of = this.found.get(sort) ?? { first: [], more: 0 };
    this.found.set(sort, of);
    if (of.first.length < MOST_ALIKE) of.first.push(fault(message, line === undefined ? '' : `line ${line}`));
    else of.more += 1;
  }

  has(sort: string): boolean {
    return this.found.has(sort);
  }

  all(): Fault[] {
    return [...this.found.values()].flatMap(({ first, more }) => [
      ...first,
      ...(more > 0 ? [fault(`there are ${more} more faults like the last one`)] : []),
    ]);
  }
}
