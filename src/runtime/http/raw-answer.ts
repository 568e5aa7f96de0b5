import { STATUS_CODES } from 'node:http';
import { JSON_TYPE } from './http-headers.js';

/** rawAnswer gives the text of an answer that ends its connection, where there is no request to answer. */
export function rawAnswer(
  status: number,
  told: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): string {
  const body = JSON.stringify(told);
  const head = {
    'content-type': JSON_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...headers,
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
  return `${[`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines].join('\r\n')}\r\n\r\n${body}`;
}
