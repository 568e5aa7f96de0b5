import type { IncomingMessage } from 'node:http';
import { createGunzip, createInflate, type Gunzip, type Inflate } from 'node:zlib';
import { StatusError } from './status-error.js';

/** Encoding is how the bytes of a body are sent. */
export type Encoding = 'identity' | 'gzip' | 'deflate';

/** ENCODINGS lists, as the header Accept-Encoding does, what a body may be compressed with. */
export const ENCODINGS = 'gzip, deflate';

/** encodingOf reads the header Content-Encoding. @throws StatusError with 415 where it names what is not known here */
export function encodingOf({ headers }: Pick<IncomingMessage, 'headers'>): Encoding {
  const told = headers['content-encoding'] ?? '';
  const codings = told
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  const [coding, ...more] = codings;
  if (coding === undefined) return 'identity';
  // HTTP has x-gzip as another name (RFC 9110, 8.4.1.3).
  if (more.length === 0 && (coding === 'gzip' || coding === 'x-gzip')) return 'gzip';
  if (more.length === 0 && coding === 'deflate') return 'deflate';
  throw new StatusError(
    415,
    `Cannot read the body: its Content-Encoding is ${JSON.stringify(told)}; send it as it is, or with one of ${ENCODINGS}`,
  );
}

/** inflater gives a stream that takes a compressed body and gives what was compressed. */
export function inflater(encoding: Exclude<Encoding, 'identity'>): Gunzip | Inflate {
  return encoding === 'gzip' ? createGunzip() : createInflate();
}
