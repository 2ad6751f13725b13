import { withoutPlaces } from '@countersign/shell';
import type { CheckResult, ReadinessCheck } from '@countersign/shell';
import type { BrokenChannel } from '@countersign/channels';
import type { Notifier } from './notifier-port.js';

/**
 * Names the channels that do not work, with the words of the other side. A process is ready without them: people decide in
 * the inbox, and the messages wait.
 */
export function createChannelsCheck(notifier: () => Pick<Notifier, 'status'> | undefined): ReadinessCheck {
  return {
    name: 'channels',
    check: () => {
      const channels = Object.entries(notifier()?.status().channels ?? {});
      return noted(
        channels.flatMap(([id, { state, reason }]) =>
          state === 'ok' ? [] : [`${id} is ${state}${reason === null ? '' : `: ${withoutPlaces(reason)}`}`],
        ),
      );
    },
  };
}

/** The same of a process that sends nothing itself: it names the channels that are off, because their secrets cannot be used. */
export function createBrokenChannelsCheck(broken: readonly BrokenChannel[]): ReadinessCheck {
  const result = noted(broken.map(({ id, reason }) => `${id} is off: ${withoutPlaces(reason)}`));
  return { name: 'channels', check: () => result };
}

function noted(notes: readonly string[]): CheckResult {
  return { status: 'ok', ...(notes.length === 0 ? {} : { note: notes.join('; ') }) };
}
