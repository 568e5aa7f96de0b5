import type { ServerResponse } from 'node:http';
import type { GoneSignal } from '../live/submit.js';

/** ClientGone reports that the client of a response has closed its connection before the answer. */
export class ClientGone implements GoneSignal {
  constructor(private readonly response: ServerResponse) {}

  get aborted(): boolean {
    return this.response.closed;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.response.on('close', listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.response.off('close', listener);
  }
}
