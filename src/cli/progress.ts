import type { Ora } from 'ora';
import type { ProgressStep } from '../api/index.js';
import { harmlessLine } from './harmless.js';
import { columnsOf, isColoured } from './screen.js';
import type { Terminal } from './terminal.js';

const QUIET_BETWEEN_LINES_MS = 10_000;

/** The number of columns that the spinner takes before its text. */
const SPINNER_COLUMNS = 2;

/**
 * Progress shows the progress of long work on stderr: one line that is redrawn on a terminal, and a new line
 * every ten seconds elsewhere.
 */
export class Progress {
  private spinner: Ora | undefined;
  private lastLineAt = Number.NEGATIVE_INFINITY;
  /** Off a terminal: the text of the latest step, and what prints it once it is time for a line. */
  private latest = '';
  private waiting: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(private readonly terminal: Terminal) {}

  /** start begins the line that is redrawn, where there is one. */
  async start(): Promise<this> {
    if (this.terminal.animated) {
      const { default: ora } = await import('ora');
      // The program handles Ctrl-C itself, so the spinner must not swallow it.
      const ours = { isEnabled: true, discardStdin: false, hideCursor: false } as const;
      const { stderr } = this.terminal;
      const color = isColoured(stderr) && 'cyan';
      if (!this.stopped) this.spinner = ora({ ...ours, stream: sized(stderr), color }).start();
    }
    return this;
  }

  /**
   * show shows a step in place of the earlier one. Off a terminal, of the steps within ten seconds of the last line the
   * latest one comes when these are over.
   */
  show(step: ProgressStep): void {
    if (this.stopped) return;
    const text = harmlessLine(describe(step));
    if (this.spinner) {
      this.spinner.text = clipped(text, columnsOf(this.terminal.stderr) - SPINNER_COLUMNS);
      return;
    }
    if (this.terminal.animated) return;
    this.latest = text;
    const waitMs = this.lastLineAt + QUIET_BETWEEN_LINES_MS - performance.now();
    if (waitMs <= 0) this.line();
    // A step that comes just as these are over is newer.
    else this.waiting ??= setTimeout(() => this.line(), waitMs + 1).unref();
  }

  /** line prints the latest step as a line of its own. */
  private line(): void {
    clearTimeout(this.waiting);
    this.waiting = undefined;
    this.lastLineAt = performance.now();
    this.terminal.note(this.latest);
  }

  /** note prints a remark that stays, above the line that is redrawn. */
  note(text: string): void {
    this.spinner?.clear();
    this.terminal.note(text);
  }

  /** stop removes the line. Later steps are not shown. */
  stop(): void {
    if (this.stopped) return;
    this.stopped = true;
    clearTimeout(this.waiting);
    this.spinner?.stop();
  }
}

/**
 * sized gives the stream as the spinner is to see it. The spinner divides by the number of columns, and would
 * clear lines without end where that is 0.
 */
function sized(stream: NodeJS.WriteStream): NodeJS.WritableStream {
  const seen = {
    isTTY: stream.isTTY,
    get columns() {
      return columnsOf(stream);
    },
    get rows() {
      return stream.rows;
    },
    write: stream.write.bind(stream),
    cursorTo: stream.cursorTo.bind(stream),
    moveCursor: stream.moveCursor.bind(stream),
    clearLine: stream.clearLine.bind(stream),
    once: stream.once.bind(stream),
    removeListener: stream.removeListener.bind(stream),
  };
  return seen as unknown as NodeJS.WritableStream;
}

/**
 * clipped cuts a text to a number of columns. A line that wraps would have to be cleared as several lines, and some
 * terminals do not have that many.
 */
function clipped(text: string, columns: number): string {
  if (text.length <= columns) return text;
  return columns < 1 ? '' : `${text.slice(0, columns - 1)}…`;
}

function describe({ doing, fraction, leftMs }: ProgressStep): string {
  const percent = fraction === undefined ? '' : `${Math.floor(fraction * 100)} % · `;
  const left = leftMs === undefined || leftMs < 1 ? '' : ` · about ${duration(leftMs)} left`;
  return `${percent}${doing}${left}`;
}

/** duration writes a span of time as people say it: `850 ms`, `12 s`, `3 min 5 s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
