/**
 * This folder holds what pipeline plans and gear plans have in common: stages of whole models on devices of one class.
 */
export { checkDeviceCount } from './device-count.js';
export { movedGpus } from './moved-gpus.js';
export { stageModels, stageParts } from './parts.js';
export { MOST_LISTED, seatsFrom } from './seats.js';
export { stageDevices, stagePool, transfersAlong } from './topology.js';
