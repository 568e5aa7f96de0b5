import { stripVTControlCharacters } from 'node:util';
import { largestOf } from '../collections/index.js';

/** TableView is a table as `report` builds it: headings of columns, rows of cells, and which columns may be left out. */
export interface TableView {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly spare?: readonly string[];
}

/** The number of blanks between two columns. */
const GAP = 2;

/** A cell that is longer than this may be broken into lines of this length. */
const SHORTEST_LINE = 16;

/** A record has lines of at least this length, however narrow the screen is. Shorter ones could not be read. */
const SHORTEST_RECORD = 10;

/**
 * tableText writes a table as text that is no wider than the screen. Numbers are aligned right. Where the columns do
 * not fit side by side, the widest are wrapped. Where that is not enough, the least wanted of the columns that may be
 * left out are, and a line below names them. Where not even the others fit, a row becomes a record: one line
 * `heading: cell` below the other. A record may be wider than a screen of less than 10 columns.
 * @param options.columns the number of columns of the screen
 * @param options.head sets off the heading of a column
 */
export async function tableText(
  view: TableView,
  { columns, head }: { columns: number; head: (text: string) => string },
): Promise<string> {
  const { table, getBorderCharacters } = await import('table');
  const layout = { border: getBorderCharacters('void'), drawHorizontalLine: () => false } as const;
  const lineText = (lines: readonly string[]): string => {
    const width = Math.max(columns, SHORTEST_RECORD);
    const cells = lines.map((line) => [line]);
    return unpadded(table(cells, { ...layout, columns: [{ width, wrapWord: true, ...UNPADDED }] }));
  };
  const fitted = fittedTo(view, columns);
  if (fitted === undefined) {
    const lines = recordLines(view, { width: Math.max(columns, SHORTEST_RECORD), head });
    return lines.length === 0 ? '' : lineText(lines);
  }
  const { shown, widths, leftOut } = fitted;
  const text = table([shown.columns.map(head), ...shown.rows.map((row) => [...row])], {
    ...layout,
    columnDefault: { paddingLeft: 0, paddingRight: GAP },
    columns: widths.map((width, i) => ({
      width,
      wrapWord: true,
      alignment: isNumeric(shown, i) ? 'right' : 'left',
    })),
  });
  const named = `left out to fit ${columns} columns: ${leftOut.join(', ')}; --json has all`;
  return unpadded(text) + (leftOut.length === 0 ? '' : lineText([named]));
}

/** Fitted is what of a table fits a screen: the columns that are shown with their widths, and the heads of the others. */
interface Fitted {
  readonly shown: TableView;
  readonly widths: readonly number[];
  readonly leftOut: readonly string[];
}

/**
 * fittedTo leaves out columns, the least wanted first, until the others fit side by side. A column that went
 * early comes back where the room that a later column left is enough for it.
 * @returns undefined where not even those fit that may not be left out
 */
function fittedTo(view: TableView, available: number): Fitted | undefined {
  const { spare = [] } = view;
  const without = (heads: readonly string[]): Fitted | undefined => {
    const shown = withoutColumns(view, heads);
    const widths = columnWidths(shown, available);
    return widths && { shown, widths, leftOut: heads };
  };
  const present = spare.filter((head) => view.columns.includes(head));
  const least = [...present.keys(), present.length].find((most) => without(present.slice(0, most)));
  if (least === undefined) return undefined;
  const needed = present
    .slice(0, least)
    .reduceRight<readonly string[]>(
      (heads, head) =>
        without(heads.filter((one) => one !== head)) ? heads.filter((one) => one !== head) : heads,
      present.slice(0, least),
    );
  return without(needed);
}

function withoutColumns({ columns, rows }: TableView, heads: readonly string[]): TableView {
  if (heads.length === 0) return { columns, rows };
  const kept = columns.map((head) => !heads.includes(head));
  const only = (cells: readonly string[]): string[] => cells.filter((_, i) => kept[i]);
  return { columns: only(columns), rows: rows.map(only) };
}

/**
 * hangingText breaks a text into lines that are no wider than the screen, between words; those after the first stand as far
 * in as its beginning behind `head`.
 */
export async function hangingText(head: string, text: string, columns: number): Promise<string> {
  const { table, getBorderCharacters } = await import('table');
  const width = Math.max(SHORTEST_RECORD, columns - stripVTControlCharacters(head).length - 1);
  return unpadded(
    table([[head, text]], {
      border: getBorderCharacters('void'),
      drawHorizontalLine: () => false,
      columns: [
        { ...UNPADDED, paddingRight: 1 },
        { ...UNPADDED, width, wrapWord: true },
      ],
    }),
  );
}

/** wrappedText breaks a text into lines that are no wider than the screen, between words. */
export async function wrappedText(text: string, columns: number): Promise<string> {
  const { table, getBorderCharacters } = await import('table');
  const width = Math.max(columns, SHORTEST_RECORD);
  return unpadded(
    table([[text]], {
      border: getBorderCharacters('void'),
      drawHorizontalLine: () => false,
      columns: [{ width, wrapWord: true, ...UNPADDED }],
    }),
  );
}

const UNPADDED = { paddingLeft: 0, paddingRight: 0 } as const;

function unpadded(text: string): string {
  return text.replaceAll(/ +$/gm, '');
}

/**
 * recordLines writes rows one below the other, with a blank line between two. It leaves out empty cells. A cell
 * that is too long for the rest of its line begins a line of its own.
 */
function recordLines(
  { columns, rows }: TableView,
  { width, head }: { width: number; head: (text: string) => string },
): string[] {
  const told = (cell: string, name = ''): string[] => {
    if (cell === '') return [];
    const fits = name.length + 2 + cell.length <= width;
    return fits ? [`${head(`${name}:`)} ${cell}`] : [head(`${name}:`), cell];
  };
  return rows.flatMap((row, i) => [
    ...(i === 0 ? [] : ['']),
    ...row.flatMap((cell, column) => told(cell, columns[column])),
  ]);
}

/**
 * columnWidths gives each column its natural width where all fit. Else the widest columns shrink.
 * @returns undefined where the columns cannot fit
 */
function columnWidths(view: TableView, available: number): number[] | undefined {
  const widths = view.columns.map((head, i) => Math.max(1, head.length, longestCell(view, i)));
  const least = view.columns.map((_, i) => leastWidth(view, i));
  const budget = available - GAP * (widths.length - 1);
  if (sum(least) > budget) return undefined;
  while (sum(widths) > budget) {
    const spare = widths.map((width, i) => (width > (least[i] ?? 0) ? width : 0));
    const widest = spare.indexOf(largestOf(spare));
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** leastWidth breaks no word of a heading, and no cell that fits into the shortest line. */
function leastWidth(view: TableView, column: number): number {
  const words = (view.columns[column] ?? '').split(' ').map((word) => word.length);
  return Math.max(1, largestOf(words), Math.min(longestCell(view, column), SHORTEST_LINE));
}

function longestCell({ rows }: TableView, column: number): number {
  return rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0);
}

function isNumeric({ rows }: TableView, column: number): boolean {
  return rows.every((row) => /^[-+]?[\d., ]+( ?[%×a-zA-Zµ/]{1,4})?$|^—?$/.test(row[column] ?? ''));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
