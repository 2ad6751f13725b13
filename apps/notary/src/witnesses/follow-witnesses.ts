import { noteRefused, watchForChanges } from '@countersign/shell';
import type { SystemLog } from '@countersign/shell';
import type { Cosigned } from './cosigned.js';
import { readWitnesses, recordWitnesses } from './witness-settings.js';
import type { WitnessSettings } from './witness-settings.js';
import { createWitnesses } from './witnesses.js';
import type { Witnesses, WitnessesPorts } from './witnesses.js';

/** The witnesses of a file that may change while the process runs. */
export interface FollowedWitnesses extends Pick<Witnesses, 'states' | 'stop'> {
  /** Records who the witnesses are, now and after each change. @throws as the store */
  readonly recordIn: (system: SystemLog) => Promise<void>;
  /** False while the file has a content that cannot be used. */
  readonly isCurrent: () => boolean;
}

/**
 * Asks the witnesses of a file, and after a change of the file its new ones. A change is noticed within two seconds; a file that
 * cannot be used then changes nothing and is logged.
 */
export function followWitnesses(
  settings: WitnessSettings,
  ports: Omit<WitnessesPorts, 'policy' | 'allowPrivateNetwork' | 'cosigned'> & { readonly cosigned: Cosigned },
): FollowedWitnesses {
  const { file, allowPrivateNetwork } = settings;
  const { cosigned, log } = ports;
  const begin = ({ policy }: WitnessSettings): Witnesses => {
    const witnesses = createWitnesses({ ...ports, policy, allowPrivateNetwork });
    witnesses.start();
    return witnesses;
  };
  let current = settings;
  let witnesses = begin(settings);
  let stopped: Promise<unknown> = Promise.resolve();
  let isCurrent = true;
  let recording: SystemLog | undefined;
  const record = async (): Promise<void> => {
    if (recording !== undefined) await recordWitnesses(recording, current);
  };
  const reload = (): void => {
    try {
      const next = readWitnesses(file, allowPrivateNetwork);
      current = next;
      stopped = Promise.all([stopped, witnesses.stop()]);
      cosigned.follow(next.policy);
      witnesses = begin(next);
      isCurrent = true;
      log.info({ file, witnesses: next.policy.witnesses.length }, 'the file of witnesses was read again');
    } catch (error) {
      isCurrent = false;
      log.error({ file, error }, 'the file of witnesses is invalid; the previous witnesses stay in force');
      if (recording !== undefined) noteRefused(recording, 'witnesses', error, file);
      return;
    }
    record().catch((error: unknown) => log.error({ error }, 'the change of the witnesses is not recorded'));
  };
  const stopWatching = watchForChanges(file, reload);
  return {
    states: () => witnesses.states(),
    recordIn: (system) => {
      recording = system;
      return record();
    },
    isCurrent: () => isCurrent,
    stop: async () => {
      stopWatching();
      await Promise.all([stopped, witnesses.stop()]);
    },
  };
}
