/** noise is a small multiplicative generator: tests need numbers that differ, and the same ones each time. */
export function noise(seed: number): () => number {
  let state = seed % 2147483647 || 1;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}
