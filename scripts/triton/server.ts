import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../python/environment.js';

const START_MS = 120_000;
const PACKAGES = 'lib/python3.11/site-packages';
/** Of what a server tells, this is kept for who looks for a fault. */
const MOST_TOLD = 6000;
/** A Python process takes seconds to start on two cores: the check needs several, and not one for each request in flight. */
const PYTHON_INSTANCES = 4;

/** TritonServer is a Triton that runs. */
export interface TritonServer {
  readonly url: string;
  told(): string;
  stop(): Promise<void>;
}

/** withStandIns turns the ONNX models of a bundle into Python models of the same names and tensors, which call ONNX Runtime. */
export function withStandIns(bundle: string): void {
  const repository = join(bundle, 'model_repository');
  for (const model of readdirSync(repository)) {
    const configs = [join(repository, model, 'config.pbtxt'), ...filesIn(join(repository, model, 'configs'))];
    const texts = configs.map((file) => readFileSync(file, 'utf8'));
    const isOnnx = texts.some((text) => text.includes('backend: "onnxruntime"'));
    if (isOnnx)
      copyFileSync(join(PROJECT, 'scripts/triton/stand_in.py'), join(repository, model, '1/model.py'));
    for (const [i, text] of texts.entries()) {
      const asPython = text.replace('backend: "onnxruntime"', 'backend: "python"');
      const few = asPython.replace(
        /count: \d+ kind: KIND_CPU \}/,
        `count: ${PYTHON_INSTANCES} kind: KIND_CPU }`,
      );
      writeFileSync(configs[i] as string, isOnnx ? asPython : few);
    }
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((file) => join(folder, file));
  } catch {
    return [];
  }
}

/** startTriton starts the server of a bundle by its own script, with the Triton of an environment that has nvidia-pytriton. */
export async function startTriton(
  { environment, folder }: { readonly environment: string; readonly folder: string },
  { bundle, server, port }: { readonly bundle: string; readonly server: string; readonly port: number },
): Promise<TritonServer> {
  const packages = join(environment, PACKAGES);
  const triton = join(packages, 'pytriton/tritonserver');
  const backends = join(folder, 'backends');
  cpSync(join(triton, 'backends'), backends, { recursive: true });
  const stub = 'triton_python_backend_stub';
  copyFileSync(join(triton, 'python_backend_stubs/3.11', stub), join(backends, 'python', stub));
  const options = [`--backend-directory=${backends}`, `--http-port=${port}`, '--http-address=127.0.0.1'];
  const child = spawn(
    join(bundle, 'servers', server, 'start.sh'),
    [...options, '--allow-grpc=false', '--allow-metrics=false', '--exit-timeout-secs=5'],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        TRITONSERVER: join(triton, 'bin/tritonserver'),
        PYTHONPATH: packages,
        VIRTUAL_ENV: environment,
        LD_LIBRARY_PATH: join(packages, 'nvidia_pytriton.libs'),
        PATH: `${join(environment, 'bin')}:${process.env.PATH}`,
      },
    },
  );
  const ended = new Promise((resolve) => child.once('exit', resolve));
  let told = '';
  child.stderr.on('data', (bytes: Buffer) => {
    told = (told + bytes.toString()).slice(-MOST_TOLD);
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    await ready(url, child);
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}; it told last:\n${told}`);
  }
  return { url, told: () => told, stop };
}

async function ready(url: string, server: ChildProcess): Promise<void> {
  for (const end = Date.now() + START_MS; ; await new Promise((resolve) => setTimeout(resolve, 250))) {
    const answer = await fetch(`${url}/v2/health/ready`).catch(() => undefined);
    if (answer?.status === 200) return;
    if (server.exitCode !== null) throw new Error(`Triton ended with ${server.exitCode}`);
    if (Date.now() > end) throw new Error(`Triton was not ready within ${START_MS / 1000} s`);
  }
}
