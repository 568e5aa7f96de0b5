import { fault, InputError, option } from '../formats/index.js';

/**
 * refuseSamples refuses options that are for pipelines.
 * @throws InputError where there is any
 */
export function refuseSamples(
  model: string,
  {
    samples,
    verdicts,
  }: { readonly samples?: readonly string[] | undefined; readonly verdicts?: string | undefined },
): void {
  const faults = Object.entries({ samples, verdicts }).flatMap(([field, value]) =>
    value === undefined
      ? []
      : [fault(`is for the spec of a pipeline, and ${model} is a model`, option(field))],
  );
  if (faults.length > 0) throw new InputError(`profile ${model}`, faults);
}

/**
 * refuseLabels refuses labels where nothing is recorded.
 * @throws InputError where there are any
 */
export function refuseLabels(path: string, { labels }: { readonly labels?: string | undefined }): void {
  if (labels === undefined) return;
  const said = `is for the spec of a cascade, and ${path} is none`;
  throw new InputError(`profile ${path}`, [fault(said, option('labels'))]);
}

/**
 * refuseWorkflow refuses the name of a workflow where no program runs.
 * @throws InputError where there is one
 */
export function refuseWorkflow(path: string, { workflow }: { readonly workflow?: string | undefined }): void {
  if (workflow === undefined) return;
  const said = `is for the spec of workflows, and ${path} is none`;
  throw new InputError(`profile ${path}`, [fault(said, option('workflow'))]);
}
