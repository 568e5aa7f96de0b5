/** HEADER_LENGTH is the header with the length of a body's JSON, where binary data follows. */
export const HEADER_LENGTH = 'inference-header-content-length';
export const JSON_TYPE = 'application/json';
export const BYTES_TYPE = 'application/octet-stream';
/**
 * RETRY_AFTER_S is what the header Retry-After says, in seconds, where a body finds no room among those that are being
 * read. How long these will take is up to their clients.
 */
export const RETRY_AFTER_S = '1';
