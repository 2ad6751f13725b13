import { textOf } from './connection-string.js';
import type { Sighting } from './members.js';

/** Describes the outage according to the members. */
export function outageOf({ leader, answered, asked }: Sighting): string {
  const count = `${String(answered)} of ${String(asked)}`;
  if (answered === 0) return asked === 1 ? 'the server does not answer' : `no member answers, of ${String(asked)}`;
  if (leader === undefined) {
    return `no leader: ${count} members answer; they are electing one, or too few of them are there to do so`;
  }
  return `the leader ${textOf(leader)} does not answer, and the others have not elected another one yet (${count} answer)`;
}
