import { Command } from 'commander';
import { EXIT } from '../exit.js';
import { withJson } from '../options.js';
import { action } from '../run.js';

/** devicesCommand makes `plan devices`, which shows the devices that models can be profiled and served on here. */
export function devicesCommand(): Command {
  return withJson(
    new Command('devices')
      .description(
        'Show the execution providers of this machine: which can be used here, and what the others lack.',
      )
      .argument('[device...]', 'devices to look for, such as cpu:2, cuda:0 or webgpu; all if none is given')
      .action(
        action<[string[]], object>(async ({ terminal }, _options, devices) => {
          const { listDevices } = await import('../../api/index.js');
          const { deviceTable } = await import('../../report/index.js');
          const list = await listDevices(devices);
          await terminal.table(deviceTable(list.devices));
          terminal.document(list);
          const allThere = list.devices.every((report) => report.available);
          return devices.length === 0 || allThere ? EXIT.done : EXIT.missing;
        }),
      ),
  );
}
