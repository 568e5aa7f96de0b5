import protobuf from 'protobufjs/minimal.js';

/** fieldBytes reads a message's fields by protobufjs as `number: bytes in hex`: the oracle for our own wire reader. */
export function fieldBytes(message: Uint8Array, keep: (number: number) => boolean = () => true): string[] {
  const reader = protobuf.Reader.create(message);
  const fields: string[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const tag = reader.uint32();
    reader.skipType(tag & 7);
    if (keep(tag >>> 3)) fields.push(`${tag >>> 3}: ${hex(message.subarray(start, reader.pos))}`);
  }
  return fields;
}

/** payload gives the payload of the one occurrence of a length-delimited field. */
export function payload(message: Uint8Array, number: number): Uint8Array {
  const reader = protobuf.Reader.create(message);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === number) return reader.bytes();
    reader.skipType(tag & 7);
  }
  throw new Error(`no field ${number}`);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
