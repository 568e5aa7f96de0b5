/** Beyond this, two whole numbers that follow one another may be the same double. */
export const MOST_WHOLE = Number.MAX_SAFE_INTEGER;

const WHOLE = /^[+-]?(?:\d[\d_]*|0x[\da-f]+|0o[0-7]+|0b[01]+)$/i;

/** isHugeWhole says whether a text is a whole number, written digit by digit, that a double may not hold. */
export function isHugeWhole(text: string): boolean {
  return text.length > 12 && WHOLE.test(text) && Math.abs(Number(text.replaceAll('_', ''))) > MOST_WHOLE;
}

/**
 * HUGE says why a whole number is refused that a double may not hold. It is written behind the number as the
 * file has it.
 */
export const HUGE = `whole numbers beyond ${MOST_WHOLE} (2^53 - 1) are not told apart; give one nearer to 0`;
