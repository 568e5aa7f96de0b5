/**
 * What exists only to replay PPipe's published simulator row for row.
 *
 * `policies.ts` has its presets; `tables.ts` its reservations, which remember of a resource only the end of the last. Nothing here is used
 * unless the preset `published` or one of its choices is asked for.
 */
export { PUBLISHED_POLICY, PUBLISHED_REACTIVE_POLICY } from './policies.js';
export { busyUntilTables } from './tables.js';
