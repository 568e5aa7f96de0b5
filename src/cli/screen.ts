/** What a stream says of itself, as far as it matters here. */
export interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** Columns assumed of a terminal that does not say how wide it is: those of the first video terminals, and of most since. */
const COLUMNS_UNTOLD = 80;

/** Columns of text that goes to a file or a pipe. */
const COLUMNS_OFF_TERMINAL = 120;

/** How many columns a stream has. A terminal whose size nobody set says 0. */
export function columnsOf({ isTTY, columns }: Screen): number {
  if (isTTY !== true) return COLUMNS_OFF_TERMINAL;
  return Number.isSafeInteger(columns) && Number(columns) > 0 ? Number(columns) : COLUMNS_UNTOLD;
}

/** Whether a stream's last line may be drawn again and again: on a terminal that can move its cursor, watched by a person. */
export function isRedrawn({ isTTY }: Screen, env: NodeJS.ProcessEnv = process.env): boolean {
  return isTTY === true && env.TERM !== 'dumb' && !env.CI;
}

/**
 * Whether text on a stream may be coloured: on terminals that can, and everywhere that FORCE_COLOR asks for it. NO_COLOR
 * forbids it whatever else is set. Both count only where they are not empty.
 */
export function isColoured({ isTTY }: Screen, env: NodeJS.ProcessEnv = process.env): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return !['0', 'false'].includes(env.FORCE_COLOR);
  return isTTY === true && env.TERM !== 'dumb';
}
