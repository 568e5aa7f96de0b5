import type { Socket } from 'node:net';
import { rawAnswer } from './raw-answer.js';

/**
 * answerBroken answers a request that is not valid HTTP (400, 413 or 431), or has not come whole in time (408), and
 * ends its connection, because nothing after it can be read. It does nothing where the client has ended the connection.
 */
export function answerBroken(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable) {
    const { status, why } = toldOf(error);
    socket.write(rawAnswer(status, { error: `Cannot read the request: ${why}` }));
  }
  socket.destroy(error);
}

function toldOf({ code, message }: NodeJS.ErrnoException): { status: number; why: string } {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return { status: 408, why: 'it has not come whole in time' };
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, why: 'its headers are too large' };
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return { status: 413, why: 'the extensions of its chunks are too large' };
    default:
      return {
        status: 400,
        why: `it is not valid HTTP (${message.replace(/^Parse Error:? */, '') || code})`,
      };
  }
}
