import type { ChalkInstance } from 'chalk';
import { harmless, harmlessLine } from './harmless.js';
import { columnsOf, isColoured, isRedrawn } from './screen.js';
import { type TableView, tableText } from './table-text.js';

/**
 * Where a command speaks: its result on stdout, everything else on stderr. With `json`, stdout carries one JSON document
 * and nothing more. Names and messages of others are part of what is said, so all text for people is made harmless here.
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
    if (!this.json) this.stdout.write(`${harmless(text)}\n`);
  }

  /** A table of the result, for people; silent with `json`. */
  async table(view: TableView): Promise<void> {
    if (this.json) return;
    const style = await this.style(this.stdout);
    const columns = columnsOf(this.stdout);
    const shown = {
      columns: view.columns.map(harmlessLine),
      rows: view.rows.map((row) => row.map(harmlessLine)),
    };
    this.stdout.write(await tableText(shown, { columns, head: (text) => style.bold(text) }));
  }

  /** The one JSON document of the result; silent without `json`. */
  document(value: unknown): void {
    if (!this.json || this.printed) return;
    this.printed = true;
    this.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
  }

  /** Something to know that is not the result. */
  note(text: string): void {
    this.stderr.write(`${harmless(text)}\n`);
  }

  async warn(text: string): Promise<void> {
    const style = await this.style(this.stderr);
    this.stderr.write(`${style.yellow('warning:')} ${harmless(text)}\n`);
  }

  async error(text: string): Promise<void> {
    const style = await this.style(this.stderr);
    this.stderr.write(`${style.red('error:')} ${harmless(text)}\n`);
  }

  /** Colours for a stream: none where they would be out of place. */
  private async style(stream: NodeJS.WriteStream): Promise<ChalkInstance> {
    const { Chalk } = await import('chalk');
    return new Chalk({ level: isColoured(stream) ? 1 : 0 });
  }
}
