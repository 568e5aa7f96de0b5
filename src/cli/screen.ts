/** Screen holds the properties of a stream that matter here. */
export interface Screen {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The width that is assumed of a terminal that does not tell its own. Most terminals open with it. */
const COLUMNS_UNTOLD = 80;

/** The width of text that goes to a file or a pipe. */
const COLUMNS_OFF_TERMINAL = 120;

/**
 * columnsOf gives the number of columns of a stream: 120 for a file or a pipe, and 80 for a terminal that does not tell
 * its own. A terminal whose size nobody has set says 0.
 */
export function columnsOf({ isTTY, columns }: Screen): number {
  if (isTTY !== true) return COLUMNS_OFF_TERMINAL;
  return Number.isSafeInteger(columns) && Number(columns) > 0 ? Number(columns) : COLUMNS_UNTOLD;
}

/**
 * isRedrawn says whether a stream's last line may be redrawn: on a terminal that can move its cursor (TERM is not
 * `dumb`) and that a person watches (CI is not set).
 */
export function isRedrawn({ isTTY }: Screen, env: NodeJS.ProcessEnv = process.env): boolean {
  return isTTY === true && env.TERM !== 'dumb' && !env.CI;
}

/**
 * isColoured says whether text on a stream may be coloured: on terminals that can do so, and wherever FORCE_COLOR
 * asks for it. NO_COLOR forbids it, whatever else is set. Both count only when they are not empty.
 */
export function isColoured({ isTTY }: Screen, env: NodeJS.ProcessEnv = process.env): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR) return !['0', 'false'].includes(env.FORCE_COLOR);
  return isTTY === true && env.TERM !== 'dumb';
}
