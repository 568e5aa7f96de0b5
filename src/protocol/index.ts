/**
 * This room turns tensors into the bytes of the Open Inference Protocol and back, as JSON and as its binary
 * extension.
 *
 * It takes and gives tensors and their encodings. It does not read whole requests (`runtime` does) and knows
 * no sockets. Start reading at `wire.ts`.
 */
export { bytesOf, jsonOf, tensorFromBytes, tensorFromJson, WireFault } from './wire.js';
