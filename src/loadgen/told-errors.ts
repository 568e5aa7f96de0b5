import type { IncomingHttpHeaders } from 'node:http';
import { itemAt } from '../collections/index.js';

/**
 * errorIn gives the first line of what a server reports about an error as `error`, or as `detail` (FastAPI), cut to 200
 * characters. A page for a browser tells nothing.
 */
export function errorIn(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString();
  const cut = (told: string) => itemAt(told.split('\n', 1), 0).slice(0, 200);
  try {
    const { error, detail } = JSON.parse(text) as { error?: unknown; detail?: unknown };
    return cut([error, detail].find((told) => typeof told === 'string') ?? text);
  } catch {
    return /^\s*</.test(text) ? '' : cut(text);
  }
}

/** redirection tells where an answer sends its client, which it does not follow. */
export function redirection(status: number, { location }: IncomingHttpHeaders): string | undefined {
  if (status < 300 || status >= 400) return undefined;
  const where = location === undefined ? 'elsewhere' : `to ${location.slice(0, 200)}`;
  return `it redirects ${where}, which is not followed`;
}
