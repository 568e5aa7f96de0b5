import { once } from 'node:events';
import type { ChalkInstance } from 'chalk';
import type { CiCase } from '../report/index.js';
import { harmless, harmlessLine } from './harmless.js';
import { STDOUT } from './output.js';
import { columnsOf, isColoured, isRedrawn } from './screen.js';
import { hangingText, type TableView, tableText, wrappedText } from './table-text.js';

/**
 * Terminal prints the output of a command: its result on stdout and everything else on stderr. Where stdout carries one
 * JSON document (`json`) or the artifact that a command makes, it carries nothing else. Text for people holds names and
 * messages from other sources, so all of it is made harmless here.
 */
export class Terminal {
  private printed = false;
  /**
   * The texts and tables that were shown to people, and the verdicts, where stdout carries these
   * (`verdicts`).
   */
  readonly told: (string | TableView)[] = [];
  readonly cases: CiCase[] = [];
  /** The remarks and warnings that were printed on stderr. */
  readonly remarked: string[] = [];

  constructor(
    private readonly stdout: NodeJS.WriteStream,
    readonly stderr: NodeJS.WriteStream,
    private readonly carries: {
      readonly json?: boolean;
      readonly artifact?: boolean;
      readonly verdicts?: boolean;
    } = {},
  ) {}

  /** screen is where people read the result: stderr where stdout carries an artifact. */
  private get screen(): NodeJS.WriteStream {
    return this.carries.artifact ? this.stderr : this.stdout;
  }

  /** animated says whether progress may redraw its line. */
  get animated(): boolean {
    return isRedrawn(this.stderr);
  }

  /** line prints one line of the result for people. It is silent with `json`. */
  line(text = ''): void {
    if (this.carries.verdicts) this.told.push(harmless(text));
    else if (!this.carries.json) this.screen.write(`${harmless(text)}\n`);
  }

  /** table prints a table of the result for people. It is silent with `json`. */
  async table(view: TableView): Promise<void> {
    if (this.carries.json) return;
    const style = await this.style(this.screen);
    const columns = columnsOf(this.screen);
    const shown = {
      columns: view.columns.map(harmlessLine),
      rows: view.rows.map((row) => row.map(harmlessLine)),
      ...(view.spare === undefined ? {} : { spare: view.spare.map(harmlessLine) }),
    };
    if (this.carries.verdicts) {
      this.told.push(shown);
      return;
    }
    this.screen.write(await tableText(shown, { columns, head: (text) => style.bold(text) }));
  }

  /** judge keeps verdicts for the reporter of a CI system. */
  judge(cases: readonly CiCase[]): void {
    for (const one of cases) this.cases.push(one);
  }

  /** raw prints text for another program on stdout as it is. */
  raw(text: string): void {
    this.stdout.write(text);
  }

  /** parts prints lines and tables of the result for people, in their order. It is silent with `json`. */
  async parts(parts: readonly (string | TableView)[]): Promise<void> {
    for (const part of parts) {
      if (typeof part === 'string') this.line(part);
      else await this.table(part);
    }
  }

  /** document prints the one JSON document of the result. It is silent without `json`, and after the first document. */
  document(value: unknown): void {
    if (!this.carries.json || this.printed) return;
    this.printed = true;
    this.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
  }

  /**
   * artifact says in which file an artifact is, or prints it where it goes to stdout. It is silent where there is
   * no output.
   */
  async artifact(what: string, output: string | undefined, value: object): Promise<void> {
    if (output !== undefined && output !== STDOUT) this.line(`${what}: ${output}`);
    if (output !== STDOUT) return;
    const { jsonText } = await import('../artifacts/index.js');
    this.stdout.write(jsonText(value));
  }

  /**
   * textArtifact says in which file a text is, or prints it piece by piece where it goes to stdout. It waits for a
   * reader that is slower, and stops where the reader has stopped.
   */
  async textArtifact(what: string, output: string, pieces: Iterable<string>): Promise<void> {
    if (output !== STDOUT) {
      this.line(`${what}: ${output}`);
      return;
    }
    try {
      for (const piece of pieces) {
        if (!this.stdout.write(piece)) await once(this.stdout, 'drain');
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
    }
  }

  /** note prints on stderr a useful remark that is not part of the result, also with `json`. */
  note(text: string): void {
    this.stderr.write(`${harmless(text)}\n`);
  }

  /** remarks prints remarks on the result on stderr, also with `json`, wrapped between words on a terminal. */
  async remarks(texts: readonly string[]): Promise<void> {
    for (const text of texts) {
      const shown = harmless(text);
      this.remarked.push(shown);
      const isWide = this.stderr.isTTY === true;
      this.stderr.write(isWide ? await wrappedText(shown, columnsOf(this.stderr)) : `${shown}\n`);
    }
  }

  /** warn prints a warning on stderr, also with `json`. */
  async warn(text: string): Promise<void> {
    this.remarked.push(`warning: ${harmless(text)}`);
    const style = await this.style(this.stderr);
    await this.headed(style.yellow('warning:'), text);
  }

  /** warnings prints warnings on stderr, those that say the same of several models or classes as one. */
  async warnings(texts: readonly string[]): Promise<void> {
    if (texts.length === 0) return;
    const { groupedWarnings } = await import('../report/index.js');
    for (const text of groupedWarnings(texts)) await this.warn(text);
  }

  /** headed prints a text behind a head on stderr, wrapped between words on a terminal. */
  private async headed(head: string, text: string): Promise<void> {
    const shown = harmless(text);
    if (this.stderr.isTTY) this.stderr.write(await hangingText(head, shown, columnsOf(this.stderr)));
    else this.stderr.write(`${head} ${shown}\n`);
  }

  /** error prints the message of an error on stderr, also with `json`. It sets no exit code. */
  async error(text: string): Promise<void> {
    const style = await this.style(this.stderr);
    this.stderr.write(`${style.red('error:')} ${harmless(text)}\n`);
  }

  /** style gives the colours for a stream, and none where they would be out of place. */
  private async style(stream: NodeJS.WriteStream): Promise<ChalkInstance> {
    const { Chalk } = await import('chalk');
    return new Chalk({ level: isColoured(stream) ? 1 : 0 });
  }
}
