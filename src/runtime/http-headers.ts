/** HEADER_LENGTH is the header with the length of a body's JSON, where binary data follows. */
export const HEADER_LENGTH = 'inference-header-content-length';
export const JSON_TYPE = 'application/json';
export const BYTES_TYPE = 'application/octet-stream';
/** RETRY_AFTER_S is what the header Retry-After says with every 503, in seconds. */
export const RETRY_AFTER_S = '1';
