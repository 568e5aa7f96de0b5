import { describe, expect, it } from 'vitest';
import { linksByServer, publishedLinks } from '../../src/serving/links.js';

const counted = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

describe('linksByServer()', () => {
  it('gives the devices of a server one link of each direction, and numbers servers in the order of the devices', () => {
    const links = linksByServer(['b', 'a', 'b', 'c', 'a'].map((server) => ({ server })));
    expect([...links.uplinkOf]).toEqual([0, 1, 0, 2, 1]);
    expect([...links.downlinkOf]).toEqual([0, 1, 0, 2, 1]);
    expect([links.uplinkCount, links.downlinkCount]).toEqual([3, 3]);
  });
});

describe('publishedLinks()', () => {
  it('lets workers of a pool share an uplink: those of the larger server of the two pools, times the fraction', () => {
    const pools = [
      // max(1, 3) · 2 = 6 workers share a link.
      { devices: counted(0, 13), deviceClass: 'small', virtual: 2, edges: [{ to: 1 }] },
      // max(3, 1) · 1 = 3 workers share a link.
      { devices: counted(13, 6), deviceClass: 'large', virtual: 1, edges: [{ to: 2 }] },
      // In a last stage, 1 · 4 workers share an uplink, and each has a downlink.
      { devices: counted(19, 5), deviceClass: 'small', virtual: 4, edges: [] },
    ];
    const links = publishedLinks(pools, (name) => (name === 'large' ? 3 : 1));
    const first = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2];
    expect([...links.uplinkOf]).toEqual([...first, 3, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6]);
    expect([...links.downlinkOf]).toEqual([...first, 3, 3, 3, 4, 4, 4, 5, 6, 7, 8, 9]);
    expect([links.uplinkCount, links.downlinkCount]).toEqual([7, 10]);
  });

  it('ignores the servers of the next pool after the last stage', () => {
    const pools = [{ devices: counted(0, 3), deviceClass: 'small', virtual: 1, edges: [] }];
    const links = publishedLinks(pools, (name) => (name === 'small' ? 2 : 9));
    expect([...links.uplinkOf]).toEqual([0, 0, 1]);
  });
});
