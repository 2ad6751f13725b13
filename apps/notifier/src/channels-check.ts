import { withoutPlaces } from '@countersign/shell';
import type { ReadinessCheck } from '@countersign/shell';
import type { Notifier } from './notifier.js';

/**
 * Names the channels that do not work, with the words of the other side. A process is ready without them: people decide in
 * the inbox, and the messages wait.
 */
export function createChannelsCheck(notifier: () => Pick<Notifier, 'status'> | undefined): ReadinessCheck {
  return {
    name: 'channels',
    check: () => {
      const channels = Object.entries(notifier()?.status().channels ?? {});
      const notes = channels.flatMap(([id, { state, reason }]) =>
        state === 'ok' ? [] : [`${id} is ${state}${reason === null ? '' : `: ${withoutPlaces(reason)}`}`],
      );
      return { status: 'ok', ...(notes.length === 0 ? {} : { note: notes.join('; ') }) };
    },
  };
}
