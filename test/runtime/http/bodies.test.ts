import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { Bodies } from '../../../src/runtime/http/bodies.js';
import { inWholeRun } from '../../cases.js';

const KIB = 1024;

/** Sending is a request whose body is sent piece by piece, and the result. */
class Sending {
  private readonly stream = new PassThrough({ highWaterMark: 16 * 1024 * KIB });
  readonly raw: IncomingMessage;
  outcome: { status?: number | undefined; body?: Buffer | undefined } | undefined;

  constructor(
    bodies: Bodies,
    { announced, headerLength = 0 }: { announced?: number; headerLength?: number } = {},
  ) {
    const headers = announced === undefined ? {} : { 'content-length': String(announced) };
    this.raw = Object.assign(this.stream, { headers }) as unknown as IncomingMessage;
    bodies.read(this.raw, headerLength, (error, body) => {
      const status = (error as { statusCode?: number } | null)?.statusCode;
      this.outcome = { status, body };
    });
  }

  async send(piece: Buffer): Promise<void> {
    await new Promise<void>((done) => this.stream.write(piece, () => done()));
    await new Promise(setImmediate);
  }

  async end(): Promise<void> {
    this.stream.end();
    await new Promise((done) => setTimeout(done, 5));
  }
}

const piece = (bytes: number, of = 7): Buffer => Buffer.alloc(bytes, of);

describe('Bodies', () => {
  it('reads a body that comes in pieces, announced or not, and aligns what follows its JSON part', async () => {
    const bodies = new Bodies({ oneBytes: 400 * KIB, allBytes: 1000 * KIB });
    for (const announced of [undefined, 300 * KIB]) {
      const sending = new Sending(bodies, {
        ...(announced !== undefined && { announced }),
        headerLength: 13,
      });
      for (const of of [1, 2, 3]) await sending.send(piece(100 * KIB, of));
      await sending.end();
      const { body } = sending.outcome ?? {};
      expect(body!.equals(Buffer.concat([1, 2, 3].map((of) => piece(100 * KIB, of))))).toBe(true);
      expect((body!.byteOffset + 13) % 8).toBe(0);
      bodies.release(sending.raw);
    }
  });

  it('reads a body whatever its client gives as the length of the JSON part', async () => {
    const bodies = new Bodies({ oneBytes: 100_000, allBytes: 10_000_000 });
    for (const headerLength of [Number.POSITIVE_INFINITY, Number.NaN, -1, 5.5, 1e300, 2 ** 53]) {
      const sending = new Sending(bodies, { headerLength });
      await sending.send(piece(1000));
      await sending.end();
      expect(sending.outcome?.body?.equals(piece(1000))).toBe(true);
    }
  });

  it('refuses a body one byte over the limit for one body, though memory has room', async () => {
    const bodies = new Bodies({ oneBytes: 100_000, allBytes: 10_000_000 });
    const fits = new Sending(bodies);
    await fits.send(piece(100_000));
    await fits.end();
    expect(fits.outcome?.body).toHaveLength(100_000);
    const one = new Sending(bodies);
    await one.send(piece(100_000));
    expect(one.outcome).toBeUndefined();
    await one.send(piece(1));
    expect(one.outcome).toEqual({ status: 413, body: undefined });
    expect(new Sending(bodies, { announced: 100_001 }).outcome?.status).toBe(413);
  });

  it('refuses bodies that together exceed the limit for all, until some are released', async () => {
    const bodies = new Bodies({ oneBytes: 256 * KIB, allBytes: 512 * KIB });
    const sendings = [1, 2].map(() => new Sending(bodies));
    for (const sending of sendings) await sending.send(piece(192 * KIB));
    expect(new Sending(bodies, { announced: 129 * KIB }).outcome?.status).toBe(503);
    expect(new Sending(bodies, { announced: 128 * KIB }).outcome).toBeUndefined();
    const third = new Sending(bodies);
    await third.send(piece(100 * KIB));
    expect(third.outcome).toBeUndefined();
    await third.send(piece(100 * KIB));
    expect(third.outcome?.status).toBe(503);
    for (const { raw } of [...sendings, third]) bodies.release(raw);
    const later = [1, 2].map(() => new Sending(bodies));
    for (const sending of later) {
      await sending.send(piece(256 * KIB));
      await sending.end();
      expect(sending.outcome?.body).toHaveLength(256 * KIB);
    }
  });

  it('reserves no more than 1 MiB for a body before that much has come', async () => {
    const bodies = new Bodies({ oneBytes: 8 * KIB * KIB, allBytes: 8 * KIB * KIB });
    const slow = Array.from({ length: 20 }, () => new Sending(bodies, { announced: 4 * KIB * KIB }));
    for (const sending of slow) await sending.send(piece(10));
    expect(slow.filter(({ outcome }) => outcome !== undefined).length).toBe(slow.length - 8);
  });

  it('reads into the memory of an earlier body of its size, and gives back memory that it has outgrown', async () => {
    const bodies = new Bodies({ oneBytes: 4096 * KIB, allBytes: 8192 * KIB });
    const memories = [];
    for (const announced of [2000 * KIB, 2000 * KIB, 1024 * KIB]) {
      const sending = new Sending(bodies, { announced });
      for (let sent = 0; sent < announced; sent += 500 * KIB)
        await sending.send(piece(Math.min(500 * KIB, announced - sent), sent / KIB / 500));
      await sending.end();
      const { body } = sending.outcome ?? {};
      expect(body).toHaveLength(announced);
      expect([body?.[0], body?.[500 * KIB], body?.at(-1)]).toEqual([
        0,
        1,
        Math.ceil(announced / KIB / 500) - 1,
      ]);
      memories.push(body?.buffer);
      bodies.release(sending.raw);
      if (memories.length === 1) bodies.giveBack(body as Buffer);
    }
    expect(memories[1]).toBe(memories[0]);
    // The first body outgrew its first MiB, which the third takes.
    expect(new Set(memories).size).toBe(2);
    expect(memories[2]?.byteLength).toBe(1024 * KIB);
  });

  it('keeps the memory of the last body where sizes that nobody asks for again fill what it keeps', async () => {
    const bodies = new Bodies({ oneBytes: 4096 * KIB, allBytes: 64 * KIB * KIB });
    for (let size = 64 * KIB; size <= 2048 * KIB; size += 64 * KIB)
      bodies.giveBack(Buffer.from(new ArrayBuffer(size)));
    const memories = [];
    for (let i = 0; i < 2; i++) {
      const sending = new Sending(bodies, { announced: 3000 * KIB });
      await sending.send(piece(3000 * KIB));
      await sending.end();
      bodies.release(sending.raw);
      memories.push(sending.outcome?.body?.buffer);
      bodies.giveBack(sending.outcome?.body as Buffer);
    }
    expect(memories[1]).toBe(memories[0]);
  });

  it('doubles the memory of a body that is not announced, up to the largest body', async () => {
    const bodies = new Bodies({ oneBytes: 3008 * KIB, allBytes: 6016 * KIB });
    const sending = new Sending(bodies);
    const allocated = vi.spyOn(Buffer, 'allocUnsafeSlow');
    for (let sent = 0; sent < 47; sent++) await sending.send(piece(64 * KIB, sent));
    const sizes = allocated.mock.calls.map(([bytes]) => bytes / KIB);
    allocated.mockRestore();
    await sending.end();
    expect(sizes).toEqual([64, 128, 256, 512, 1024, 2048, 3008]);
    const sent = Array.from({ length: 47 }, (_, i) => piece(64 * KIB, i));
    expect(sending.outcome?.body?.equals(Buffer.concat(sent))).toBe(true);
  });

  it('leaves room for others where it doubles the memory of bodies that announced no length', async () => {
    const bodies = new Bodies({ oneBytes: 1024 * KIB, allBytes: 2048 * KIB });
    const large = [new Sending(bodies), new Sending(bodies)];
    for (const sending of large) for (let sent = 0; sent < 9; sent++) await sending.send(piece(64 * KIB));
    const small = new Sending(bodies);
    await small.send(piece(256 * KIB));
    expect([...large, small].map(({ outcome }) => outcome?.status)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('takes an unannounced body for which twice its memory has no room, but which has room itself', async () => {
    const bodies = new Bodies({ oneBytes: 512 * KIB, allBytes: 512 * KIB });
    const other = new Sending(bodies, { announced: 128 * KIB });
    await other.send(piece(128 * KIB));
    const sending = new Sending(bodies);
    for (let sent = 0; sent < 6; sent++) await sending.send(piece(64 * KIB));
    await sending.end();
    expect(sending.outcome?.body).toHaveLength(384 * KIB);
  });

  inWholeRun(
    'copies a few times the bytes of unannounced bodies, however little room is left for all',
    async () => {
      const bodies = new Bodies({ oneBytes: 16_384 * KIB, allBytes: 20_480 * KIB });
      const allocated = vi.spyOn(Buffer, 'allocUnsafeSlow');
      const sendings = Array.from({ length: 8 }, () => new Sending(bodies));
      for (let sent = 0; sent < 160; sent++)
        for (const sending of sendings)
          if (sending.outcome === undefined) await sending.send(piece(16 * KIB));
      const bytes = allocated.mock.calls.reduce((sum, [size]) => sum + size, 0);
      allocated.mockRestore();
      const refused = sendings.filter(({ outcome }) => outcome?.status === 503);
      expect(refused.length).toBeLessThanOrEqual(3);
      // If room were made piece by piece, a body of 2.5 MiB would be copied into 40 sizes, which take 50 MiB in all.
      expect(bytes).toBeLessThan(8 * 20 * 1024 * KIB);
    },
  );

  it('lets memory follow the bytes again where bodies hold half of their limit', async () => {
    const bodies = new Bodies({ oneBytes: 4096 * KIB, allBytes: 4096 * KIB });
    const first = new Sending(bodies, { announced: 2048 * KIB });
    await first.send(piece(2048 * KIB));
    await first.end();
    bodies.release(first.raw);
    bodies.giveBack(first.outcome?.body as Buffer);
    const slow = Array.from({ length: 4 }, () => new Sending(bodies, { announced: 2048 * KIB }));
    for (const sending of slow) await sending.send(piece(KIB));
    // The first has the 2 MiB of the earlier body, the next two have 1 MiB each, and the last finds none.
    expect(slow.map(({ outcome }) => outcome?.status)).toEqual([undefined, undefined, undefined, 503]);
  });

  it('frees the pieces that it has copied', async () => {
    const bodies = new Bodies({ oneBytes: 400 * KIB, allBytes: 1000 * KIB });
    const sending = new Sending(bodies);
    const [one, two] = [piece(64 * KIB, 1), piece(64 * KIB, 2)];
    for (const sent of [one, two]) await sending.send(sent);
    await sending.end();
    expect([one.length, two.length]).toEqual([0, 0]);
    expect(sending.outcome?.body?.equals(Buffer.concat([piece(64 * KIB, 1), piece(64 * KIB, 2)]))).toBe(true);
  });
});
