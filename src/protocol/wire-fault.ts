/** WireFault explains why something cannot be read as a tensor or a message. The caller adds the place. */
export class WireFault extends Error {}
