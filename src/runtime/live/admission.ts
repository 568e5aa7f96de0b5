import { itemAt } from '../../collections/index.js';
import type { LiveModel } from '../bundle/pool-work.js';
import type { LiveDriver } from './live-driver.js';

/** A body counts as nearly read, and so as ahead of a new one, for this share of the SLO. */
const SOON_SHARE = 0.25;
/** The weight of the last body in the average time of reading one. */
const READING_WEIGHT = 0.1;
interface Reading {
  since: number;
}

/**
 * Admission decides when a request is announced whether its body is worth reading. Bodies of its model that are being
 * read are ahead of it, except those that have taken longer than a quarter of the SLO: a slow client holds no place.
 */
export class Admission {
  /** The bodies that are being read, per model, in the order they began. */
  private readonly readings: Set<Reading>[];
  private readonly averageNs: Float64Array;

  constructor(
    private readonly models: readonly Pick<LiveModel, 'sloNs'>[],
    private readonly driver: Pick<LiveDriver, 'now' | 'wouldDrop'>,
  ) {
    this.readings = models.map(() => new Set());
    this.averageNs = new Float64Array(models.length);
  }

  /**
   * wouldDrop says whether a request of the model that is announced now would be dropped once it is read. It expects
   * the reading to take as long as on average (recent bodies count most), and at most a quarter of the SLO.
   */
  wouldDrop(model: number): boolean {
    const at = this.driver.now();
    const { sloNs } = itemAt(this.models, model);
    const soonNs = SOON_SHARE * sloNs;
    const readings = itemAt(this.readings, model);
    for (const reading of readings) {
      if (at - reading.since <= soonNs) break;
      readings.delete(reading);
    }
    const readNs = Math.min(itemAt(this.averageNs, model), soonNs);
    return this.driver.wouldDrop({ at, model, deadlineNs: at + readNs + sloNs }, readings.size);
  }

  /**
   * reading reports that a body is being read.
   * @returns a function to call when the body is in (true), which changes the average, or will not come (false)
   */
  reading(model: number): (isIn: boolean) => void {
    const reading = { since: this.driver.now() };
    itemAt(this.readings, model).add(reading);
    return (isIn) => {
      itemAt(this.readings, model).delete(reading);
      if (isIn)
        this.averageNs[model]! +=
          READING_WEIGHT * (this.driver.now() - reading.since - itemAt(this.averageNs, model));
    };
  }
}
