import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { encodeMessage } from './frames.js';
import type { Tensors } from './protocol.js';

const READ_BYTES = 1 << 20;

/** openSocket opens a socket that the parent gave this process, and hands what comes to a reader. */
export function openSocket(fd: number, reader: { push(chunk: Uint8Array): void }): Socket {
  // All chunks are read into one buffer, rather than into a new one for every 64 KB.
  const onread: OnReadOpts = {
    buffer: Buffer.allocUnsafeSlow(READ_BYTES),
    callback: (bytes, buffer) => {
      reader.push(buffer.subarray(0, bytes));
      return true;
    },
  };
  const options: SocketConstructorOpts & { onread: OnReadOpts } = {
    fd,
    readable: true,
    writable: true,
    onread,
  };
  return new Socket(options);
}

/** writeReply writes a message. @param written is called with its chunks when their memory is not read any more */
export function writeReply(
  socket: Socket,
  { reply, tensors }: { readonly reply: unknown; readonly tensors: Tensors },
  written: (chunks: Uint8Array[]) => void,
): void {
  const chunks = encodeMessage(reply, tensors);
  const last = chunks.length - 1;
  socket.cork();
  for (let i = 0; i < last; i++) socket.write(chunks[i]!);
  socket.write(chunks[last]!, () => written(chunks));
  socket.uncork();
}
