import type { ChalkInstance } from 'chalk';
import { columnsOf, isRedrawn } from './screen.js';

/** A table as report builds it: column heads and rows of cells; numbers are aligned right. */
export interface TableView {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const NARROWEST_WRAPPED = 24;
const PADDING = 2;

/**
 * Where a command speaks: its result on stdout, everything else on stderr. With `json`, stdout carries one JSON document
 * and nothing more.
 */
export class Terminal {
  private printed = false;

  constructor(
    private readonly stdout: NodeJS.WriteStream,
    readonly stderr: NodeJS.WriteStream,
    readonly json: boolean,
  ) {}

  /** Whether progress may redraw its line. */
  get animated(): boolean {
    return isRedrawn(this.stderr);
  }

  /** One line of the result, for people; silent with `json`. */
  line(text = ''): void {
    if (!this.json) this.stdout.write(`${text}\n`);
  }

  /** A table of the result, for people; silent with `json`. */
  async table(view: TableView): Promise<void> {
    if (this.json) return;
    const { table, getBorderCharacters } = await import('table');
    const style = await this.style(this.stdout);
    const heads = view.columns.map((column) => style.bold(column));
    const widths = columnWidths(view, columnsOf(this.stdout));
    const text = table([heads, ...view.rows.map((row) => [...row])], {
      border: getBorderCharacters('void'),
      columnDefault: { paddingLeft: 0, paddingRight: PADDING },
      columns: widths.map((width, i) => ({
        width,
        wrapWord: true,
        alignment: isNumeric(view, i) ? 'right' : 'left',
      })),
      drawHorizontalLine: () => false,
    });
    this.stdout.write(text.replaceAll(/ +$/gm, ''));
  }

  /** The one JSON document of the result; silent without `json`. */
  document(value: unknown): void {
    if (!this.json || this.printed) return;
    this.printed = true;
    this.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
  }

  /** Something to know that is not the result. */
  note(text: string): void {
    this.stderr.write(`${text}\n`);
  }

  async warn(text: string): Promise<void> {
    const style = await this.style(this.stderr);
    this.stderr.write(`${style.yellow('warning:')} ${text}\n`);
  }

  async error(text: string): Promise<void> {
    const style = await this.style(this.stderr);
    this.stderr.write(`${style.red('error:')} ${text}\n`);
  }

  /** Colours for a stream: none where it is no terminal or NO_COLOR is set. */
  private async style(stream: NodeJS.WriteStream): Promise<ChalkInstance> {
    const { Chalk } = await import('chalk');
    const plain = process.env.NO_COLOR ? true : stream.isTTY !== true && !process.env.FORCE_COLOR;
    return new Chalk(plain ? { level: 0 } : {});
  }
}

/** Natural widths; where they do not fit, the widest column is wrapped. */
function columnWidths({ columns, rows }: TableView, available: number): number[] {
  const widths = columns.map((head, i) =>
    Math.max(head.length, 1, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  const total = widths.reduce((sum, width) => sum + width + PADDING, 0);
  const widest = widths.indexOf(Math.max(...widths));
  if (total > available)
    widths[widest] = Math.max(NARROWEST_WRAPPED, (widths[widest] ?? 0) - (total - available));
  return widths;
}

function isNumeric({ rows }: TableView, column: number): boolean {
  return rows.every((row) => /^[-+]?[\d., ]+( ?[%×a-zA-Zµ/]{1,4})?$|^—?$/.test(row[column] ?? ''));
}
