import { Tensor } from 'onnxruntime-node';

/**
 * takeFloat16AsBits makes ONNX Runtime take and give float16 as bits in a Uint16Array, as it does on Node 20. Where
 * JavaScript has a Float16Array (Node 24), version 1.30 puts the bits into one, in which its native part finds no bytes. It
 * looks for that class once, when the first tensor is made, and does not find it here.
 */
export function takeFloat16AsBits(): void {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'Float16Array');
  if (own === undefined) return;
  Reflect.deleteProperty(globalThis, 'Float16Array');
  try {
    new Tensor('uint8', new Uint8Array(1), [1]);
  } finally {
    Object.defineProperty(globalThis, 'Float16Array', own);
  }
}
