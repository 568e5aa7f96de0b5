/**
 * This folder makes plans of whole GPUs from the LP's own fractions, by rounding its pools up, and takes from a plan what
 * serves more than it must. It proves nothing.
 */
export {
  cappedBy,
  gpusUsed,
  priceByRule,
  priceOf,
  roundedUp,
  roundedWithRoom,
  usefulGpus,
} from './rounded.js';
export { withoutSpare } from './spare.js';
