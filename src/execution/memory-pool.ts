/** The size of a piece is a multiple of this, so that similar bodies and batches share. */
export const CLASS_BYTES = 64 * 1024;

/** PoolLimits bounds what a pool keeps. A limit that is absent does not apply. */
export interface PoolLimits {
  readonly pieces?: number;
  readonly bytes?: number;
}

/**
 * MemoryPool keeps pieces of memory for later use. Where it is full, it forgets the piece that was given back first, so
 * that sizes which nobody asks for any more make room.
 */
export class MemoryPool {
  /** The pieces that are kept, the one that was given back first at the front. */
  private readonly kept: ArrayBuffer[] = [];
  private readonly most: Required<PoolLimits>;
  private keptBytes = 0;

  constructor({ pieces = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY }: PoolLimits) {
    this.most = { pieces, bytes };
  }

  /** has says whether a piece for a given number of bytes is kept. */
  has(bytes: number): boolean {
    return this.find(bytes) >= 0;
  }

  /** take gives a piece of at least a given number of bytes, whose content is left over from its last use. */
  take(bytes: number): ArrayBuffer {
    const i = this.find(bytes);
    return i < 0 ? uncleared(classOf(bytes)) : this.remove(i);
  }

  /**
   * give returns a piece that nothing uses any more. Memory that is no whole number of classes, or larger than all that
   * may be kept, is left to the garbage collector.
   */
  give(piece: ArrayBuffer): void {
    const bytes = piece.byteLength;
    if (bytes === 0 || bytes % CLASS_BYTES !== 0 || bytes > this.most.bytes) return;
    this.kept.push(piece);
    this.keptBytes += bytes;
    while (this.kept.length > this.most.pieces || this.keptBytes > this.most.bytes) this.remove(0);
  }

  /** The piece that was used last is the one that a processor's caches most likely hold. */
  private find(bytes: number): number {
    const wanted = classOf(bytes);
    return this.kept.findLastIndex(({ byteLength }) => byteLength === wanted);
  }

  private remove(i: number): ArrayBuffer {
    const piece = this.kept.splice(i, 1)[0]!;
    this.keptBytes -= piece.byteLength;
    return piece;
  }
}

/** uncleared allocates memory that is not cleared and belongs to no pool, so that it can move between threads. */
export function uncleared(bytes: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(bytes).buffer as ArrayBuffer;
}

function classOf(bytes: number): number {
  return Math.ceil(bytes / CLASS_BYTES) * CLASS_BYTES;
}
