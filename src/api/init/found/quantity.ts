/** The powers of ten of Kubernetes' decimal suffixes. */
const DECIMAL: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};

/** The binary suffixes, each 1024 times the one before. */
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))([KMGTPE]i|[numkMGTPE]|)(?:[eE]([+-]?\d{1,3}))?$/;

const MOST_LETTERS = 64;

/**
 * quantityOf gives the number that a quantity of Kubernetes stands for, such as 4, 3920m, 32386544Ki, 8k or 1e3. It is
 * undefined for what is no quantity. Kubernetes takes numbers without quotes as well.
 */
export function quantityOf(given: unknown): number | undefined {
  if (typeof given === 'number') return Number.isFinite(given) ? given : undefined;
  if (typeof given !== 'string' || given.length > MOST_LETTERS) return undefined;
  const [, digits, suffix = '', exponent] = QUANTITY.exec(given) ?? [];
  if (digits === undefined || (exponent !== undefined && suffix !== '')) return undefined;
  const power = exponent ?? DECIMAL[suffix];
  // A number in decimal is rounded once this way, so that 4000m is 4.
  const value =
    power === undefined
      ? Number(digits) * 1024 ** (BINARY.indexOf(suffix) + 1)
      : Number(`${digits}e${power}`);
  return Number.isFinite(value) ? value : undefined;
}
