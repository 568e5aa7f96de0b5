/** The number of characters after which a test calls the screen flooded. */
const FLOOD_CALLS = 10_000;

/** CLEARED stands in what is written where a line was cleared. */
export const CLEARED = '<cleared>';

/** FakeScreen is a terminal that keeps its input, and refuses to be flooded. */
export class FakeScreen {
  isTTY: boolean | undefined = true;
  rows = 24;
  written = '';
  /** The number of lines that one redraw clears: those since the cursor last stood at the left edge. */
  clearedAtOnce = 0;
  mostClearedAtOnce = 0;
  private calls = 0;

  constructor(public columns: number | undefined) {}

  /** stream gives the screen as the stream that a command writes to. */
  get stream(): NodeJS.WriteStream {
    return this as unknown as NodeJS.WriteStream;
  }

  write(text: string): boolean {
    this.called();
    this.written += text;
    return true;
  }

  cursorTo(): boolean {
    this.called();
    this.clearedAtOnce = 0;
    return true;
  }

  moveCursor(): boolean {
    this.called();
    return true;
  }

  clearLine(): boolean {
    this.called();
    this.written += CLEARED;
    this.clearedAtOnce += 1;
    this.mostClearedAtOnce = Math.max(this.mostClearedAtOnce, this.clearedAtOnce);
    return true;
  }

  once(): this {
    return this;
  }

  removeListener(): this {
    return this;
  }

  private called(): void {
    this.calls += 1;
    if (this.calls > FLOOD_CALLS) throw new Error('the screen is flooded');
  }
}
