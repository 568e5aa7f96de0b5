import { expect } from 'vitest';

/** metricOf adds up the values of a metric over its labels. */
export function metricOf(text: string, name: string): number {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

/** expectPartsAddUp expects that the parts of requests' times in a server's metrics are all of these times. */
export function expectPartsAddUp(text: string): void {
  const parts = ['queue', 'compute_input', 'compute_infer', 'compute_output'].map((part) =>
    metricOf(text, `nv_inference_${part}_duration_us`),
  );
  for (const us of parts) expect(us).toBeGreaterThan(0);
  const whole = metricOf(text, 'nv_inference_request_duration_us');
  expect(Math.abs(parts.reduce((sum, us) => sum + us, 0) - whole)).toBeLessThan(1e-6 * whole);
}
