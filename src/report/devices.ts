import type { DeviceReport } from '../execution/index.js';
import type { Table } from './table.js';

/** deviceTable has one row per device, which says that it is available, with its CPU threads, or what is missing. */
export function deviceTable(reports: readonly DeviceReport[]): Table {
  const rows = reports.map((report) =>
    report.available
      ? [
          report.className,
          'yes',
          described(report),
          report.threads === undefined ? '' : String(report.threads),
        ]
      : [report.className, 'no', report.missing, ''],
  );
  return { columns: ['device', 'available', 'what', 'threads'], rows };
}

function described({ name, device: { slowdown = 1 } }: DeviceReport & { available: true }): string {
  return slowdown === 1 ? name : `${name} (emulated, ${slowdown}× slower)`;
}
