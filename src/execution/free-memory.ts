import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Smaller memory is left to the garbage collector, which soon finds it. */
const LEAST_BYTES = 16 * 1024;

let nowhere: MessagePort | undefined;

/**
 * freeMemory frees the memory of bytes at once, whose views are empty afterwards. Large bodies and tensors come in
 * pieces of 64 KB, and V8 collects the whole heap each time that 64 MB of such pieces wait for it, which costs more
 * than everything else that a large request costs. Bytes under 16 KiB, and those that share their memory with others,
 * are left as they are.
 */
export function freeMemory(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer.byteLength < LEAST_BYTES || bytes.byteLength < buffer.byteLength) return;
  nowhere ??= closedPort();
  try {
    // Memory that is moved to a port that is closed goes nowhere.
    nowhere.postMessage(undefined, [buffer as ArrayBuffer]);
  } catch {
    // Memory that cannot be moved is left to the garbage collector.
  }
}

function closedPort(): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port1.close();
  port2.close();
  return port1;
}
