import { gpuNumber, type Placement } from '../../src/formats/index.js';

/** counted writes a placement with as few entries as it can: like entries on consecutive GPUs become one. */
export function counted(placement: readonly Placement[], perServer: number): Placement[] {
  const rows: Placement[] = [];
  for (const place of placement) {
    const number = gpuNumber(place, perServer);
    const row = rows.find(
      (row) =>
        gpuNumber(row, perServer) + (row.count ?? 1) === number &&
        (['class', 'virtual', 'model', 'pipeline', 'partition'] as const).every(
          (key) => row[key] === place[key],
        ),
    );
    if (row === undefined) rows.push({ ...place });
    else row.count = (row.count ?? 1) + 1;
  }
  return rows;
}
