import type { FollowingClient } from '@countersign/react/parts';
import { readCallEvents } from './call-events.js';
import { followEvents } from './event-stream.js';
import { send } from './http.js';

/** The client of the cards: requests to our own origin, the event stream, and the person's passkeys. */
export const client: FollowingClient = {
  send,
  events: { follow: followEvents, read: readCallEvents },
  // The code for signatures is loaded when a rule asks for one.
  sign: async (...signed) => (await import('../passkeys/passkeys.js')).signAnswer(...signed),
};
