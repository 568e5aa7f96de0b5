/** bytesOfStrings gives strings in UTF-8, each after its length in four bytes, as the Open Inference Protocol sends them. */
export function bytesOfStrings(texts: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(texts.reduce((sum, text) => sum + 4 + Buffer.byteLength(text), 0));
  let at = 0;
  for (const text of texts) {
    const length = bytes.write(text, at + 4);
    at = bytes.writeUInt32LE(length, at) + length;
  }
  return bytes;
}

/** stringsOfBytes gives the strings of bytes that `bytesOfStrings` has made. */
export function stringsOfBytes(bytes: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32LE(at);
    texts.push(bytes.toString('utf8', at + 4, end));
    at = end;
  }
  return texts;
}
