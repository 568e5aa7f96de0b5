import type { Provider } from './device.js';
import { firstLine } from './errors.js';

const GPU_LIBRARIES =
  'Run `npm rebuild onnxruntime-node --onnxruntime-node-install=cuda12` where the network allows it (it fetches the CUDA and TensorRT providers, which are not in the npm package), with NVIDIA driver, CUDA and cuDNN installed.';

const ADVICE: Readonly<Record<Provider, string>> = {
  cpu: 'The CPU provider is part of onnxruntime-node: install it anew with `npm ci`.',
  webgpu:
    'WebGPU needs a GPU with its driver: on Linux a Vulkan loader (libvulkan1) and a Vulkan driver, on Windows Direct3D 12, on macOS Metal.',
  cuda: GPU_LIBRARIES,
  tensorrt: `${GPU_LIBRARIES} TensorRT itself has to be installed too.`,
  coreml: 'CoreML exists only on macOS.',
  dml: 'DirectML exists only on Windows.',
};

/** whatIsMissing says in one line why a provider could not start, and what to do about it. */
export function whatIsMissing(
  provider: Provider,
  message: string,
  lastWords: string,
): { why: string; advice: string } {
  const said = firstLine(message.replace(/^.*was false\.\s*/s, ''));
  const library = /(\S+): cannot open shared object file/.exec(lastWords)?.[1]?.split('/').at(-1);
  const why = library === undefined || said.includes(library) ? said : `${said} (${library} is not found)`;
  return { why: `${provider}: ${why}`, advice: ADVICE[provider] };
}
