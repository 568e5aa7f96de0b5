import { itemAt } from '../collections/index.js';
import { type Fault, fault } from '../formats/index.js';
import { type ShareFigure, shareOf } from '../metrics/index.js';
import type { RunPipeline } from '../pipeline/index.js';
import { conditionalEdges, verdictChoices } from '../plans/index.js';
import { NOT_REACHED, type RowVerdicts } from './run-samples.js';

/** CountedStage says how many samples came to a stage, and where they went on. */
export interface CountedStage {
  readonly name: string;
  readonly visits: number;
  /** The share of the samples that came to it: its scale factor. */
  readonly scaleFactor: ShareFigure;
  /** The edges that depend on its verdict, in the order of the spec. */
  readonly edges: readonly CountedEdge[];
}

/** CountedEdge says for how many of the samples that came to its stage an edge was taken. */
export interface CountedEdge {
  readonly to: string;
  /** Its index in the stage's `next`. */
  readonly at: number;
  readonly taken: number;
  readonly of: number;
  /** The share, absent where no sample came to the stage. */
  readonly share?: ShareFigure;
  /** The share to six digits, as specs have it: those of an exclusive list sum to 1. */
  readonly probability: number;
}

/** Below this number of decisions a share is hardly known: it may be off by 0.18 in either direction. */
const LEAST_DECISIONS = 30;
const ROUNDED = 1e6;

/** countVerdicts counts what the stages' verdicts chose. Stages stand in the order of the spec. */
export function countVerdicts(rows: readonly RowVerdicts[], pipeline: RunPipeline): CountedStage[] {
  return pipeline.stages.map((stage, i) => {
    const verdicts = rows.flatMap((row) => (row[i] === NOT_REACHED ? [] : [itemAt(row, i)]));
    const of = verdicts.length;
    const taken = conditionalEdges(stage).map(
      (_, bit) => verdicts.filter((verdict) => (verdict & (1 << bit)) !== 0).length,
    );
    const probabilities = roundedShares(taken, of, verdictChoices(stage, pipeline.exclusive));
    return {
      name: stage.name,
      visits: of,
      scaleFactor: shareOf(of, rows.length),
      edges: conditionalEdges(stage).map((edge, bit): CountedEdge => {
        const count = itemAt(taken, bit);
        return {
          to: edge.to,
          at: stage.next.indexOf(edge),
          taken: count,
          of,
          ...(of > 0 ? { share: shareOf(count, of) } : {}),
          probability: itemAt(probabilities, bit),
        };
      }),
    };
  });
}

/** roundedShares rounds shares so that those of an exclusive list still sum to 1: the largest takes up the difference. */
function roundedShares(
  taken: readonly number[],
  of: number,
  choices: ReturnType<typeof verdictChoices>,
): number[] {
  const rounded = taken.map((count) => (of === 0 ? 0 : Math.round((ROUNDED * count) / of)));
  for (const { isExclusive, edges } of choices) {
    if (!isExclusive || of === 0) continue;
    const bits = edges.map(({ bit }) => bit);
    const largest = bits.reduce((best, bit) => (itemAt(taken, bit) > itemAt(taken, best) ? bit : best));
    const others = bits.reduce((sum, bit) => (bit === largest ? sum : sum + itemAt(rounded, bit)), 0);
    rounded[largest] = ROUNDED - others;
  }
  return rounded.map((millionths) => millionths / ROUNDED);
}

/** unplannable tells every edge of which the samples say too little to plan by. */
export function unplannable(stages: readonly CountedStage[]): Fault[] {
  return stages.flatMap(({ name, edges }, i) =>
    edges.flatMap(({ to, at, taken, of, share }) => {
      const tell = (message: string): Fault[] => [
        fault(`${name}>${to} ${message}`, `/stages/${i}/next/${at}`),
      ];
      if (share === undefined) return tell(`is not known: no sample came to ${name}`);
      if (of < LEAST_DECISIONS)
        return tell(
          `was decided for ${of} samples; give as many that at least ${LEAST_DECISIONS} come to ${name}`,
        );
      if (taken === 0)
        return tell(
          `was taken by none of ${of} samples, so it is rarer than ${percent(share.high)}; give samples that take it, or leave the edge out`,
        );
      if (taken === of)
        return tell(
          `was taken by all of ${of} samples, so at least by ${percent(share.low)}; give samples that do not take it, or leave its condition out`,
        );
      return [];
    }),
  );
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(2))} %`;
}

/**
 * verdictLines writes what the models chose as CSV, as `plan simulate --verdicts` reads it: a line for each row, with a cell
 * for each edge, empty where the row did not come to its stage.
 */
export function verdictLines(rows: readonly RowVerdicts[], { stages }: RunPipeline): string {
  const edges = stages.flatMap((stage, i) =>
    conditionalEdges(stage).map(({ to }, bit) => ({ name: `${stage.name}>${to}`, stage: i, bit })),
  );
  const lines = rows.map((row) =>
    edges.map(({ stage, bit }) => {
      const verdict = itemAt(row, stage);
      return verdict === NOT_REACHED ? '' : String((verdict >> bit) & 1);
    }),
  );
  return [edges.map(({ name }) => name), ...lines].map((cells) => `${cells.join(',')}\n`).join('');
}
