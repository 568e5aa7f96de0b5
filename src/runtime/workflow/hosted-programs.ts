import { itemAt } from '../../collections/index.js';
import { InputError } from '../../formats/index.js';
import {
  type CalledFace,
  type ProgramDriver,
  ProgramHost,
  type ProgramTensor,
  type SourceName,
} from '../../programs/index.js';
import { sentFace } from '../../protocol/index.js';
import { differingTensors } from '../bundle/bundle-parts.js';
import type { RunPrograms } from './live-programs.js';
import type { OpenedWorkflows } from './opened-workflows.js';

/** HostedProgramsParts says which programs are run, and who hears of them. */
export interface HostedProgramsParts {
  readonly bundle: Pick<OpenedWorkflows, 'programs' | 'models' | 'faces' | 'plan'>;
  readonly driver: ProgramDriver;
  readonly seed: number;
  /** Hears what the program of a workflow prints. */
  readonly printed?: ((workflow: string, text: string) => void) | undefined;
}

/**
 * HostedPrograms runs the program of each workflow in its host. A run that is begun before the hosts are up
 * begins with them.
 */
export class HostedPrograms implements RunPrograms {
  private hosts: readonly ProgramHost[] | undefined;
  /** The runs that wait for their hosts, by number, each with its application. */
  private readonly waiting = new Map<number, number>();

  /**
   * start loads all programs.
   * @throws MissingError or InputError with everything that keeps modules from being programs, or from being those
   *   that the bundle was made with
   */
  async start({ bundle, driver, seed, printed }: HostedProgramsParts): Promise<void> {
    const { programs, models, faces: components, plan } = bundle;
    const started = await Promise.allSettled(
      programs.map((path, application) =>
        ProgramHost.start(path, {
          components,
          driver,
          seed,
          printed: (text) => printed?.(itemAt(plan.workflows, application).name, text),
        }),
      ),
    );
    const hosts = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const failed = started.find((one) => one.status === 'rejected');
    const faults = hosts.flatMap(({ face }, i) =>
      failed === undefined ? changedFaults(face, itemAt(models, i)) : [],
    );
    if (failed !== undefined || faults.length > 0) {
      await Promise.all(hosts.map((host) => host.close()));
      throw failed?.reason ?? new InputError('serve the workflows', faults, 'Deploy the plan again.');
    }
    this.hosts = hosts;
    for (const [run, application] of this.waiting) itemAt(hosts, application).begin(run);
    this.waiting.clear();
  }

  begin(application: number, run: number): void {
    if (this.hosts === undefined) this.waiting.set(run, application);
    else itemAt(this.hosts, application).begin(run);
  }

  give(
    { application, number }: { readonly application: number; readonly number: number },
    source: SourceName,
    tensor: ProgramTensor,
  ): void {
    this.hosts?.[application]?.give(number, source, tensor);
  }

  cancel(application: number, run: number): void {
    this.waiting.delete(run);
    this.hosts?.[application]?.cancel(run);
  }

  /** close ends the threads of all programs. */
  async close(): Promise<void> {
    await Promise.all((this.hosts ?? []).map((host) => host.close()));
  }
}

/** changedFaults finds tensors of a program that are not those that the manifest has. */
function changedFaults(
  face: CalledFace,
  model: Pick<OpenedWorkflows['models'][number], 'name' | 'inputs' | 'outputs'>,
) {
  const exported = sentFace(face);
  return (['inputs', 'outputs'] as const).flatMap((which) =>
    differingTensors(which, { bundled: model[which], planned: exported[which] }, `/models/${model.name}`),
  );
}
