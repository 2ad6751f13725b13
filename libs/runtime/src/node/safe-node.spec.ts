import { describe, expect, it } from '@jest/globals';
import { nodeSafety } from './safe-node.js';

describe('the safety of a Node', () => {
  it.each(['22.23.4', '22.24.0', '24.22.1', '24.22.10', '24.100.0', '26.12.1', '26.13.0', '27.0.0', '28.1.0'])(
    '%s is safe',
    (version) => {
      expect(nodeSafety(version)).toEqual({ version, safe: true });
    },
  );

  it.each([
    ['22.23.3', '22.23.4'],
    ['22.9.9', '22.23.4'],
    ['24.21.0', '24.22.1'],
    ['24.22.0', '24.22.1'],
    ['26.10.0', '26.12.1'],
    ['26.12.0-rc.1', '26.12.1'],
  ])('%s is compared with the release of its line: update to %s', (version, update) => {
    expect(nodeSafety(version)).toEqual({ version, safe: false, update });
  });

  it.each(['18.20.8', '23.11.1', '25.99.0'])(
    '%s has no line in the list, so the newest line is the update',
    (version) => {
      expect(nodeSafety(version)).toEqual({ version, safe: false, update: '26.12.1' });
    },
  );

  it('is that of the running Node without a version', () => {
    expect(nodeSafety()).toMatchObject({ version: process.versions.node });
  });
});
