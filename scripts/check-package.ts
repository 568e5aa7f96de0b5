/**
 * This script checks the package as its users get it. It packs it, installs the tarball in an empty folder, and runs
 * there what needs no ONNX Runtime. It then follows the advice of a command that needs it, and profiles, solves, deploys
 * and serves with what npm chose, which is not what the lock file says. npm warns of nothing on the way.
 * npm needs its registry for this, so `npm run check` leaves this script to CI.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { ARTIFACT_KINDS } from '../src/formats/index.js';
import { folder, must, npmInstall, plan, project, served, user } from './package/installed.js';

const EXPECTED =
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|docs\/.*\.md|schemas\/.*\.schema\.json|examples\/(pooled|pipeline|cascade|workflow)\/[A-Za-z.-]+|src\/.*\.(ts|py)|dist\/bundle\/.*\.js(\.map)?)$/;
const TYPES = /^dist\/(src\/.*)\.d\.ts$/;

/** pack packs what is built, and gives the tarball. @throws where the package holds other files than it should */
function pack(): string {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const [packed] = JSON.parse(must('npm', args, { cwd: project }).stdout) as {
    filename: string;
    files: { path: string }[];
  }[];
  if (packed === undefined) throw new Error('npm packed nothing');
  const paths = packed.files.map(({ path }) => path);
  const validators = ARTIFACT_KINDS.map((kind) => `dist/validators/${kind}.cjs`);
  const foreign = paths.filter((path) => {
    const source = TYPES.exec(path)?.[1];
    return source === undefined
      ? !EXPECTED.test(path) && !validators.includes(path)
      : !existsSync(join(project, `${source}.ts`));
  });
  if (foreign.length > 0) throw new Error(`the package holds what nobody needs: ${foreign.join(', ')}`);
  const schemas = ARTIFACT_KINDS.map((kind) => `schemas/${kind}.schema.json`);
  const lacking = [...schemas, ...validators, ...mappedSources(paths)].filter(
    (path) => !paths.includes(path),
  );
  if (lacking.length > 0) throw new Error(`the package lacks ${lacking.join(', ')}`);
  return join(folder, packed.filename);
}

/** mappedSources gives the sources that source maps lead to, as paths of the package. */
function mappedSources(paths: readonly string[]): string[] {
  const maps = paths.filter((path) => path.endsWith('.map'));
  return maps.flatMap((path) => {
    const { sources } = JSON.parse(readFileSync(join(project, path), 'utf8')) as { sources: string[] };
    return sources.map((source) => relative(project, resolve(project, dirname(path), source)));
  });
}

/** runWithoutOnnxRuntime runs the commands that do without ONNX Runtime. */
function runWithoutOnnxRuntime(): void {
  for (const name of ['onnxruntime-node', 'protobufjs', 'typescript', 'esbuild'])
    if (existsSync(join(user, 'node_modules', name))) throw new Error(`${name} came along with the package`);
  plan(['--help']);
  for (const kind of ARTIFACT_KINDS) JSON.parse(plan(['schema', kind]).stdout);
  plan(['solve', join(project, 'examples/pooled/spec.yaml'), '-o', 'plan.json']);
  plan(['validate', 'plan.json']);
  plan(['simulate', 'plan.json', '--duration', '2s', '-o', 'report.json']);
  plan(['validate', 'report.json']);
  must(process.execPath, [
    '--input-type=module',
    '-e',
    "import { solveSpec } from 'inferplan'; solveSpec.call;",
  ]);
}

/** installAsTold runs the command that `plan profile` advises, profiles a model then, and begins a spec of it. */
function installAsTold(): void {
  const build = [join(project, 'dist/examples/models/build.js'), 'resnet18', '--image', '32', '--out', user];
  must(process.execPath, build);
  const profile = ['profile', 'resnet18.onnx', '--batch', '1', '--min-ms', '1', '--max-ms', '10'];
  const { stderr } = plan(profile, 7);
  const command = /^ {2}(npm install onnxruntime-node@\S+ .*)$/m.exec(stderr)?.[1];
  if (command === undefined || !stderr.includes(`in ${user}:`))
    throw new Error(`plan profile does not say how ONNX Runtime is installed:\n${stderr}`);
  npmInstall(command.split(' ').slice(1));
  plan(profile);
  plan(['init', 'resnet18.profile.json', '-o', 'spec.yaml']);
  const [first = ''] = readFileSync(join(user, 'spec.yaml'), 'utf8').split('\n');
  if (!existsSync(join(user, first.split('$schema=')[1] ?? 'none')))
    throw new Error(`the schema that a spec names is not there: ${first}`);
}

/** serve solves the spec, writes it for engines that need Python of ours, serves its bundle, and has the client ask for answers. */
async function serve(): Promise<void> {
  plan(['solve', 'spec.yaml', '-o', 'served.json']);
  plan(['deploy', 'served.json', '-o', 'bundle']);
  for (const target of ['ray-serve', 'triton'])
    plan(['deploy', 'served.json', '--target', target, '-o', target]);
  await served('bundle', (url) => {
    plan(['load', url, '--rps', '5', '--duration', '1s', '-o', 'load.json']);
    const { sent, failed } = JSON.parse(readFileSync(join(user, 'load.json'), 'utf8')) as Record<
      string,
      number
    >;
    if (sent === 0 || failed !== 0) throw new Error(`of ${sent} requests to the server ${failed} failed`);
  });
}

try {
  const tarball = pack();
  mkdirSync(user);
  npmInstall(['install', tarball]);
  runWithoutOnnxRuntime();
  installAsTold();
  await serve();
  process.stdout.write('the package installs without warnings and runs, without and with ONNX Runtime\n');
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
