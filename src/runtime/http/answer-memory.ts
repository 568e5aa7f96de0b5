import type { ServerResponse } from 'node:http';
import { StatusError } from './status-error.js';

/**
 * AnswerMemory counts the memory of all answers that are being written or sent. A client that does not read its answer keeps
 * it here, until its connection is closed.
 */
export class AnswerMemory {
  private readonly held = new Map<ServerResponse, number>();
  private heldBytes = 0;

  /** @param allBytes the most that all answers take together */
  constructor(private readonly allBytes: number) {}

  /**
   * hold counts a given number of bytes more of an answer, or less, until its connection is closed or it has been sent.
   * @throws StatusError with 400 where the answer alone takes more than all may, and with 503 where all together do
   */
  hold(response: ServerResponse, bytes: number): void {
    if (response.closed) return;
    const before = this.held.get(response);
    const own = (before ?? 0) + bytes;
    if (own > this.allBytes)
      throw new StatusError(
        400,
        `The answer takes more than the ${this.allBytes} bytes that all answers may take; ask for binary data, or for fewer rows or outputs`,
      );
    if (this.heldBytes + bytes > this.allBytes)
      throw new StatusError(
        503,
        `The answers that are being sent take more than ${this.allBytes} bytes together`,
      );
    if (before === undefined) response.once('close', () => this.release(response));
    this.held.set(response, own);
    this.heldBytes += bytes;
  }

  private release(response: ServerResponse): void {
    this.heldBytes -= this.held.get(response) ?? 0;
    this.held.delete(response);
  }
}
