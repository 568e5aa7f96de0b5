/** TableView is a table as `report` builds it: headings of columns, and rows of cells. */
export interface TableView {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The number of blanks between two columns. */
const GAP = 2;

/** A cell that is longer than this may be broken into lines of this length. */
const SHORTEST_LINE = 16;

/** A record has lines of at least this length, however narrow the screen is. Shorter ones could not be read. */
const SHORTEST_RECORD = 10;

/**
 * tableText writes a table as text that is no wider than the screen. Numbers are aligned right. Where the columns do
 * not fit side by side, the widest are wrapped. Where that is not enough, a row becomes a record: one line `heading:
 * cell` below the other. A record may be wider than a screen of less than 10 columns.
 * @param options.columns the number of columns of the screen
 * @param options.head sets off the heading of a column
 */
export async function tableText(
  view: TableView,
  { columns, head }: { columns: number; head: (text: string) => string },
): Promise<string> {
  const { table, getBorderCharacters } = await import('table');
  const layout = { border: getBorderCharacters('void'), drawHorizontalLine: () => false } as const;
  const widths = columnWidths(view, columns);
  if (widths === undefined) {
    const width = Math.max(columns, SHORTEST_RECORD);
    const lines = recordLines(view, { width, head }).map((line) => [line]);
    if (lines.length === 0) return '';
    return unpadded(table(lines, { ...layout, columns: [{ width, wrapWord: true, ...UNPADDED }] }));
  }
  const text = table([view.columns.map(head), ...view.rows.map((row) => [...row])], {
    ...layout,
    columnDefault: { paddingLeft: 0, paddingRight: GAP },
    columns: widths.map((width, i) => ({
      width,
      wrapWord: true,
      alignment: isNumeric(view, i) ? 'right' : 'left',
    })),
  });
  return unpadded(text);
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
    const widest = spare.indexOf(Math.max(...spare));
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

/** leastWidth breaks no word of a heading, and no cell that fits into the shortest line. */
function leastWidth(view: TableView, column: number): number {
  const words = (view.columns[column] ?? '').split(' ').map((word) => word.length);
  return Math.max(1, ...words, Math.min(longestCell(view, column), SHORTEST_LINE));
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
