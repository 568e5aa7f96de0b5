import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fault, MissingError } from '../formats/index.js';

/** The package that runs models. It is an optional peer of this one, because it takes 290 MB and many commands do without. */
const PACKAGE = 'onnxruntime-node';

/**
 * checkOnnxRuntime checks that ONNX Runtime is installed, in the version that this package was tested with. It does not
 * load it.
 * @param from the file that would load it, and from which it is looked for
 * @throws MissingError with the command that installs it
 */
export function checkOnnxRuntime(from: string = import.meta.url): void {
  const require = createRequire(from);
  const { peerDependencies } = require('#package') as { peerDependencies: Record<typeof PACKAGE, string> };
  const wanted = peerDependencies[PACKAGE];
  const found = versionFrom(require);
  if (found === wanted) return;
  const why =
    found === undefined
      ? `this needs ONNX Runtime, and the package ${PACKAGE} is not installed`
      : `this needs ${PACKAGE} ${wanted}, and version ${found} is installed`;
  throw new MissingError('run models', [fault(why)], installAdvice(require.resolve('#package'), wanted));
}

function versionFrom(require: NodeJS.Require): string | undefined {
  try {
    return (require(`${PACKAGE}/package.json`) as { version: string }).version;
  } catch {
    return undefined;
  }
}

/**
 * installAdvice gives the command that installs ONNX Runtime where this package finds it: in the project that uses
 * this package, beside it where npm installed it globally, or in a checkout of this package.
 * @param packageJson the path of this package's package.json
 */
export function installAdvice(packageJson: string, version: string): string {
  const parts = packageJson.split(sep);
  const at = parts.indexOf('node_modules');
  if (at === -1) return `Run this command in ${dirname(packageJson)}:\n  npm ci`;
  const folder = parts.slice(0, at).join(sep) || sep;
  // A folder of packages that no package.json asked for is npm's global one.
  const isGlobal = !existsSync(join(folder, 'package.json'));
  const command = `npm install ${isGlobal ? '--global ' : ''}${PACKAGE}@${version} --ignore-scripts`;
  return `Run this command${isGlobal ? '' : ` in ${folder}`}:\n  ${command}\nWithout --ignore-scripts it also fetches the CUDA and TensorRT providers from outside npm (Linux on x64).`;
}
