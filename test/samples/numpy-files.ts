import { crc32, deflateRawSync } from 'node:zlib';

/** npy writes an array as NumPy's format 1.0 has it; `header` stands in place of the right one. */
export function npy(
  descr: string,
  shape: readonly number[],
  { data, header }: { readonly data: ArrayBufferView; readonly header?: string },
): Buffer {
  const axes = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const said = header ?? `{'descr': '${descr}', 'fortran_order': False, 'shape': (${axes}), }`;
  const padded = `${said.padEnd(117)}\n`;
  const head = Buffer.alloc(10);
  head.write('\x93NUMPY\x01\x00', 0, 'latin1');
  head.writeUInt16LE(padded.length, 8);
  return Buffer.concat([head, Buffer.from(padded), bytesOf(data)]);
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}

/** npz writes files into a ZIP archive, packed or not, as `np.savez_compressed` and `np.savez` do. */
export function npz(files: Readonly<Record<string, Buffer>>, packed = false): Buffer {
  const locals: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const [name, bytes] of Object.entries(files)) {
    const body = packed ? deflateRawSync(bytes) : bytes;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(packed ? 8 : 0, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(body.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), body]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), common, rest, Buffer.from(name)]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}
