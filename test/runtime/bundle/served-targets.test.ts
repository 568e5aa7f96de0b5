import { expect, it } from 'vitest';
import { InputError } from '../../../src/formats/index.js';
import { refuseTarget } from '../../../src/runtime/bundle/served-targets.js';

it('refuseTarget() refuses a bundle that another program runs, and names it', () => {
  const refused = () =>
    refuseTarget('local', 'serve bundle', {
      local: { program: '`tritonserver`' },
      'ray-serve': { program: 'Ray Serve' },
      triton: { program: 'Triton' },
      kuberay: { program: 'KubeRay' },
      kubernetes: { program: 'Kubernetes' },
      kserve: { program: 'KServe' },
    });
  expect(refused).toThrow(InputError);
  expect(refused).toThrow(
    'Cannot serve bundle: /target: is "local", which `tritonserver` runs, and not this server\nMake a bundle for this server from its plan, as with plan deploy plan.json --target local -o bundle, or run',
  );
  expect(() => refuseTarget('local', 'serve bundle')).not.toThrow();
});
