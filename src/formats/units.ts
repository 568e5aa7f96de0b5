/** Time is whole nanoseconds while a plan runs; files and people see microseconds, milliseconds and seconds. */
export const NS_PER_US = 1e3;
export const NS_PER_MS = 1e6;
export const NS_PER_S = 1e9;
export const US_PER_MS = 1e3;
export const US_PER_S = 1e6;

export const BYTES_PER_MIB = 2 ** 20;
export const BYTES_PER_GIB = 2 ** 30;
