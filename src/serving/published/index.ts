/**
 * The folder `published` holds what exists only to replay PPipe's published simulator row for row.
 *
 * In go the parts of a reservation core, out come presets and reservation tables by the published rules.
 * Nothing here is used unless the preset `published`, or one of its choices, is asked for. Start with
 * `policies.ts` for the presets, then `tables.ts` for the tables, which remember only the end of the last
 * reservation of a resource.
 */
export { PUBLISHED_POLICY, PUBLISHED_REACTIVE_POLICY } from './policies.js';
export { busyUntilTables } from './tables.js';
