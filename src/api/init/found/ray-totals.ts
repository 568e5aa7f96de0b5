import { counted, listed } from '../../../formats/index.js';
import { acceleratorsIn, gpuCount, unnamedNote } from './ray-resources.js';
import { below, type FieldReader, type Fields, type FoundDevices, UNNAMED } from './servers.js';

/** isTotals says whether these are the sums of resources over all nodes, as `ray.cluster_resources()` has them. */
export function isTotals(value: Fields): boolean {
  const keys = Object.keys(value);
  return keys.some((key) => key === 'CPU' || key === 'GPU' || key.startsWith('node:'));
}

/** totalServers shares sums out among nodes, which only works where these are alike. */
export function totalServers(resources: Fields, reader: FieldReader): FoundDevices {
  const types = acceleratorsIn(resources);
  const gpus = gpuCount({ resources, at: '' }, reader);
  const [type] = types;
  const key = type === undefined ? undefined : `accelerator_type:${type}`;
  const hosts = Object.keys(resources).filter((one) => one.startsWith('node:') && !one.startsWith('node:__'));
  const given = key === undefined ? hosts.length : resources[key];
  const nodes = reader.devices(typeof given === 'number' ? given : undefined, {
    given,
    at: below('', key ?? ''),
  });
  const each = gpus / nodes;
  const advice = 'give the nodes, as `ray list nodes --format json` tells them';
  if (gpus === 0) reader.wrong(`these sums have no GPUs; ${advice}`, '');
  else if (types.length > 1)
    reader.wrong(`these sums have ${gpus} GPUs of ${listed(types)}, and not how many of each; ${advice}`, '');
  else if (!Number.isInteger(each))
    reader.wrong(`these sums have ${gpus} GPUs on ${nodes} nodes, which are not alike; ${advice}`, '');
  if (reader.told.count > 0) return { servers: [], notes: [] };
  const product = reader.className(type, key ?? '') ?? UNNAMED;
  const servers = Array.from({ length: nodes }, (_, i) => ({
    name: `node ${i + 1}`,
    product,
    isChosen: false,
    devices: each,
  }));
  const alike = `${gpus} GPUs are shared out among ${counted(nodes, 'node')} as if all had as many: these are sums`;
  return { servers, notes: [...(nodes === 1 ? [] : [alike]), ...unnamedNote(servers)] };
}
