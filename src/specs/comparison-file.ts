import { stringify as csv } from 'csv-stringify/sync';
import { emittedHead, jsonText, writeWhole } from '../artifacts/index.js';
import {
  type CompareRow,
  type ComparisonDocument,
  fault,
  type GateVerdicts,
  InputError,
  type InputFile,
} from '../formats/index.js';
import { mixText } from './mixes.js';

interface ComparisonHead extends GateVerdicts {
  /** The number of cases that were asked for. */
  readonly cases: number;
  readonly notes: readonly string[];
  readonly currency: string | undefined;
  readonly inputs: InputFile[];
}

/** comparisonDocument makes the document of a comparison. It is complete where each of the `cases` has a row. */
export function comparisonDocument(
  rows: readonly CompareRow[],
  { cases, notes, currency, inputs, checks }: ComparisonHead,
): ComparisonDocument {
  const complete = rows.length === cases;
  const told = notes.length === 0 ? {} : { notes };
  const judged = checks === undefined ? {} : { checks };
  const priced = currency === undefined ? {} : { currency };
  return { ...emittedHead('comparison', inputs), ...judged, complete, cases, ...told, ...priced, rows };
}

/**
 * refuseUnknownEnding refuses to write a comparison to a path that ends in neither `.json` nor `.csv`. Capitals count
 * as small letters.
 * @throws InputError where the path ends in neither
 */
export function refuseUnknownEnding(path: string): void {
  if (!/\.(json|csv)$/i.test(path))
    throw new InputError(`write ${path}`, [fault('its name ends in neither .json nor .csv')]);
}

/**
 * saveComparison writes a comparison as CSV where the name ends in `.csv`, and else as JSON. The CSV has the rows
 * alone, without figures by model and utilisations by class. The file appears whole or not at all.
 * @throws as `writeWhole` does
 */
export async function saveComparison(path: string, document: ComparisonDocument): Promise<void> {
  const text = /\.csv$/i.test(path) ? csvText(document.rows) : jsonText(document);
  await writeWhole(path, text);
}

const COLUMNS: readonly [string, (row: CompareRow) => string | number | undefined][] = [
  ['mix', ({ mix }) => mixText(mix)],
  ['unlimited', ({ unlimited }) => unlimited?.join(' ')],
  ['slo', ({ slo }) => slo],
  ['sloMs', ({ sloMs }) => sloMs.join(' ')],
  ['sloAccuracy', ({ sloAccuracy }) => sloAccuracy],
  ['margin', ({ margin }) => margin],
  ['status', ({ status }) => status],
  ['objective', ({ objective }) => objective?.kind],
  ['value', ({ objective }) => objective?.value],
  ['bound', ({ objective }) => objective?.bound],
  ['gap', ({ objective }) => objective?.gap],
  ['attainment', ({ attainment }) => attainment],
  ['p99Ms', ({ p99Ms }) => p99Ms],
  ['accuracy', ({ accuracy }) => accuracy],
  ['accuracyLow', ({ accuracyInterval }) => accuracyInterval?.low],
  ['accuracyHigh', ({ accuracyInterval }) => accuracyInterval?.high],
  ['samples', ({ accuracyInterval }) => accuracyInterval?.samples],
  ['p95Ms', ({ p95Ms }) => p95Ms],
  ['smallestFeasibleSloMs', ({ smallestFeasibleSloMs }) => smallestFeasibleSloMs],
  ['throughputRps', ({ throughputRps }) => throughputRps],
  ['heldRps', ({ heldRps }) => heldRps],
  ['used', ({ used }) => (used === undefined ? undefined : mixText(used))],
  ['hourlyCost', ({ hourlyCost }) => hourlyCost],
  ['costPerMillionRequests', ({ costPerMillionRequests }) => costPerMillionRequests],
  ['costPerMillionHeld', ({ costPerMillionHeld }) => costPerMillionHeld],
  ['utilisation', ({ utilisation }) => utilisation],
  ['frontier', ({ frontier }) => (frontier === undefined ? undefined : String(frontier))],
  ['reasons', ({ reasons }) => reasons?.join('; ')],
];

function csvText(rows: readonly CompareRow[]): string {
  const cells = rows.map((row) => COLUMNS.map(([, cell]) => cell(row)));
  // Names that a spreadsheet would run as a formula are escaped.
  return csv([COLUMNS.map(([name]) => name), ...cells], { escape_formulas: true });
}
