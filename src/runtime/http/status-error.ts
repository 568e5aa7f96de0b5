/** StatusError is an error with the HTTP status to answer with. */
export class StatusError extends Error {
  constructor(
    readonly statusCode: number,
    message: string,
  ) {
    super(message);
  }
}
