import { type Engine, engineTarget } from '../engine-target.js';
import { tritonPlanOf } from './bundle.js';
import { configsOf, ensembleVersions } from './config.js';
import { REPOSITORY, tritonNamesOf } from './names.js';
import { pythonModels } from './python-models.js';
import { readmeText } from './readme.js';
import { refusedByTriton } from './refuse.js';
import { TRITON_RULES } from './rules.js';
import { serverFiles } from './scripts.js';

const ENGINE: Engine<'triton'> = {
  target: 'triton',
  refuse: (bundle) => refusedByTriton(tritonPlanOf(bundle)),
  place: (graph) => tritonNamesOf(graph).stages.map((name) => `${REPOSITORY}/${name}/1/model.onnx`),
  files: (bundle) => {
    const triton = tritonPlanOf(bundle);
    const configs = configsOf(triton);
    return new Map([
      ...configs,
      ...ensembleVersions(configs),
      ...pythonModels(triton),
      ...serverFiles(triton),
      ['README.md', readmeText(bundle, triton)],
    ]);
  },
  rules: TRITON_RULES,
  isProgram: (path) => path.endsWith('.sh'),
};

/**
 * TRITON writes a bundle that Triton Inference Server runs: a model repository with a model for each stage, an ensemble for each
 * pipeline, and a Python model where requests choose their way; and what starts and loads each server.
 */
export const TRITON = engineTarget(ENGINE);
