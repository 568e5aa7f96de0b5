import { csvLines, decodedText, inSteps, readWhole } from '../artifacts/index.js';
import { pushAll } from '../collections/index.js';
import {
  type Fault,
  fault,
  firstFaults,
  option,
  type PipelinePlan,
  type PlannedStage,
  sha256Of,
  type ToldFaults,
} from '../formats/index.js';
import { conditionalEdges, planOf, type StagePlan, verdictChoices } from '../plans/index.js';
import type { VerdictOf } from '../simulator/index.js';

/** Longer records are taken for a mistake: this holds a few million requests. */
const MOST_BYTES = 64 * 1024 * 1024;

/** VerdictRecords holds what the models of a pipeline's stages said of recorded requests. It is plain data. */
export interface VerdictRecords {
  readonly requests: number;
  /** The verdict of each stage on each request, by stage; empty for stages without edges that depend on a verdict. */
  readonly verdicts: readonly Int32Array[];
}

/**
 * recordedFates says of each request what was recorded of one: of the first request the first line, and after the last
 * line the first again. All rows of a request have its fate.
 */
export function recordedFates({ requests, verdicts }: VerdictRecords): VerdictOf {
  return (order, _row, stage) => (verdicts[stage] as Int32Array)[order % requests] as number;
}

/**
 * readVerdicts reads recorded verdicts from a CSV file.
 * @param told where every fault of the file is added, also where it is missing or the plan has no use for it
 * @returns undefined after a fault
 */
export async function readVerdicts(
  path: string,
  plan: StagePlan,
  told: ToldFaults,
): Promise<{ records: VerdictRecords; file: { path: string; sha256: string } } | undefined> {
  const { pipeline } = planOf(plan).world(plan);
  if (pipeline === undefined) {
    told.add(
      fault(
        'is for pipelines with edges that depend on a verdict, and the plan has none',
        option('verdicts'),
      ),
    );
    return undefined;
  }
  try {
    const bytes = await readWhole(path, MOST_BYTES);
    const found = await recordsFrom(decodedText(bytes, path), pipeline);
    if ('requests' in found) return { records: found, file: { path, sha256: sha256Of(bytes) } };
    told.addAll(firstFaults(found.faults).map(({ path: at, message }) => placed(path, at, message)));
  } catch (error) {
    told.addOfFile(path, error);
  }
  return undefined;
}

function placed(path: string, at: string, message: string): Fault {
  return fault(message, at === '' ? path : `${path} ${at}`);
}

/**
 * recordsFrom makes records of a CSV text: a header that names every conditional edge, as `detect>read`, and then a line
 * per request, of 0 and 1. Cells of stages that the request did not reach may be empty, and of an exclusive list exactly
 * one edge is taken.
 */
export async function recordsFrom(
  text: string,
  plan: Pick<PipelinePlan, 'stages' | 'exclusive'>,
): Promise<VerdictRecords | { readonly faults: Fault[] }> {
  const lines = await csvLines(text);
  if ('faults' in lines) return lines;
  const [header, ...requests] = lines;
  const names = header?.record ?? [];
  const edges = plan.stages.flatMap((stage) =>
    conditionalEdges(stage).map(({ to }) => `${stage.name}>${to}`),
  );
  const faults = headerFaults(names, edges);
  if (requests.length === 0) faults.push(fault('it has no line of a request'));
  if (faults.length > 0) return { faults };
  const verdicts = plan.stages.map(
    (stage) => new Int32Array(conditionalEdges(stage).length > 0 ? requests.length : 0),
  );
  const reader = new LineReader(plan, names);
  await inSteps(requests, ({ record, info }, request) => {
    for (const message of reader.read(record)) faults.push(fault(message, `line ${info.lines}`));
    for (const [stage, verdict] of reader.verdicts.entries())
      if ((verdicts[stage] as Int32Array).length > 0) (verdicts[stage] as Int32Array)[request] = verdict;
  });
  return faults.length > 0 ? { faults } : { requests: requests.length, verdicts };
}

function headerFaults(names: readonly string[], edges: readonly string[]): Fault[] {
  const at = 'line 1';
  const unknown = names.filter((name) => !edges.includes(name));
  const twice = names.filter((name, i) => edges.includes(name) && names.indexOf(name) < i);
  const missing = edges.filter((edge) => !names.includes(edge));
  return [
    ...unknown.map((name) =>
      fault(`there is no edge "${name}" that depends on a verdict; there are ${edges.join(', ')}`, at),
    ),
    ...[...new Set(twice)].map((name) => fault(`the column ${name} is given twice`, at)),
    ...missing.map((edge) => fault(`lacks a column ${edge}`, at)),
  ];
}

/** LineReader reads the lines of requests, one after another. */
class LineReader {
  /** The verdicts of the stages on the last request. */
  readonly verdicts: Int32Array;
  private readonly isReached: boolean[];
  /** Requests enter at every stage that no edge leads to. */
  private readonly isEntry: readonly boolean[];
  private readonly stages: readonly {
    readonly edges: readonly { readonly column: number; readonly name: string; readonly to: number }[];
    readonly always: readonly number[];
    readonly exclusive: readonly (readonly number[])[];
  }[];

  constructor(
    { stages, exclusive = [] }: Pick<PipelinePlan, 'stages' | 'exclusive'>,
    names: readonly string[],
  ) {
    const indexOf = (name: string) => stages.findIndex((stage) => stage.name === name);
    this.verdicts = new Int32Array(stages.length);
    this.isReached = stages.map(() => false);
    const led = new Set(stages.flatMap(({ next }) => next.map(({ to }) => to)));
    this.isEntry = stages.map(({ name }) => !led.has(name));
    this.stages = stages.map((stage: PlannedStage) => {
      const edges = conditionalEdges(stage);
      const always = stage.next.filter((edge) => !edges.includes(edge));
      const lists = verdictChoices(stage, exclusive).filter(({ isExclusive }) => isExclusive);
      return {
        edges: edges.map(({ to }) => {
          const name = `${stage.name}>${to}`;
          return { name, column: names.indexOf(name), to: indexOf(to) };
        }),
        always: always.map(({ to }) => indexOf(to)),
        exclusive: lists.map((list) => list.edges.map(({ bit }) => bit).sort((a, b) => a - b)),
      };
    });
  }

  /** read reads a line into `verdicts`, and gives what is wrong with it. */
  read(record: readonly string[]): string[] {
    const faults: string[] = [];
    const columns = this.stages.reduce((sum, { edges }) => sum + edges.length, 0);
    if (record.length > columns) faults.push(`has ${record.length} cells; the header has ${columns}`);
    // Stages stand before those that they lead to.
    this.isEntry.forEach((isEntry, stage) => {
      this.isReached[stage] = isEntry;
    });
    this.stages.forEach(({ edges, always, exclusive }, stage) => {
      const isReached = this.isReached[stage] as boolean;
      let verdict = 0;
      edges.forEach(({ column, name, to }, bit) => {
        const cell = record[column] ?? '';
        if (cell === '1') verdict |= 1 << bit;
        else if (cell !== '0' && (cell !== '' || isReached))
          faults.push(
            cell === '' ? `${name} is empty; it must be 0 or 1` : `${name} is "${cell}"; it must be 0 or 1`,
          );
        if (cell === '1' && isReached) this.isReached[to] = true;
      });
      if (isReached) {
        for (const to of always) this.isReached[to] = true;
        pushAll(
          faults,
          exclusive.flatMap((list) =>
            exclusiveFaults(
              list.map((bit) => edges[bit]!.name),
              list,
              verdict,
            ),
          ),
        );
      }
      this.verdicts[stage] = verdict;
    });
    return faults;
  }
}

function exclusiveFaults(names: readonly string[], list: readonly number[], verdict: number): string[] {
  const taken = list.filter((bit) => (verdict & (1 << bit)) !== 0).length;
  if (taken === 1) return [];
  return [`takes ${taken} of ${names.join(', ')}, which are exclusive: exactly one must be 1`];
}
