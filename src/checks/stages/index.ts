/**
 * This folder finds what is wrong with the stages of plans of whole models: where they contradict their profiles, and tensors
 * that do not fit.
 */
export { stageProfileFaults } from './profile-faults.js';
export { misfitFaults, rowBytes, tensorFaults } from './tensor-faults.js';
