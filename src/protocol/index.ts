/**
 * The Open Inference Protocol's bytes: tensors in JSON and in the binary extension, requests and responses.
 *
 * In go tensors, out come bodies and the reverse. It knows no sockets. Start with `wire.ts`.
 */
export { bytesOf, jsonOf, tensorFromBytes, tensorFromJson, WireFault } from './wire.js';
