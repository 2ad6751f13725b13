import type { Anchor } from './anchors.js';
import { hasTrust, whyNotByLog } from './trust.js';
import type { Trust } from './trust.js';

/** The epoch of a log, and the checkpoints of epochs before it that are kept with it. */
export interface EarlierEpochs extends Trust {
  readonly epoch: number;
  readonly earlier: readonly Anchor[];
}

/**
 * What is not known about the epochs before this one. Attack: the checkpoint of an earlier epoch is removed or replaced, so that
 * nobody sees that the log went on after something that contradicts it.
 */
export function unprovenEpochs({ epoch, earlier, ...trust }: EarlierEpochs): readonly string[] {
  const shown = new Set(earlier.map((one) => one.epoch).filter((one) => one < epoch));
  const missing = epoch - 1 - shown.size;
  const unsigned = hasTrust(trust) ? earlier.filter((one) => whyNotByLog(one, trust) !== undefined) : [];
  return [
    ...(missing > 0
      ? [
          `how ${missing === 1 ? '1 epoch' : `${String(missing)} epochs`} before epoch ${String(epoch)} ended: no checkpoint of it is kept with the log`,
        ]
      : []),
    ...unsigned.map((one) => `where epoch ${String(one.epoch)} ended: no key that you trust has signed its checkpoint`),
  ];
}
