import type { Illegal } from '../legality/judged-event.js';

/**
 * What is checked. `read`: each event is well-formed; `store`: the bytes are those that the store recorded; `body`: the
 * content is the one of its entry; `files`: the other files of a bundle agree with its events; `time`: the time
 * stamps are of its checkpoints.
 */
export type CheckName =
  | 'read'
  | 'store'
  | 'body'
  | 'files'
  | 'order'
  | 'legal'
  | 'digest'
  | 'policy'
  | 'signature'
  | 'tree'
  | 'since'
  | 'time';

/** Something that is wrong with a log. */
export interface Finding {
  readonly check: CheckName;
  readonly ok: false;
  /** The event's index in its tenant's log; where only a root is known, the smallest index that cannot be excluded. */
  readonly index: number;
  /** Null where the event itself is not known. */
  readonly eventId: string | null;
  readonly stream: string | null;
  readonly detail: string;
}

/** The place of an event in the log. */
export type Place = Pick<Finding, 'index' | 'eventId' | 'stream'>;

/** The finding of a broken rule. */
export function findingOf({ rule, detail }: Illegal, place: Place): Finding {
  switch (rule) {
    case 'revision':
      return { check: 'order', ok: false, ...place, detail };
    case 'digest':
    case 'policy':
      return { check: rule, ok: false, ...place, detail };
    default:
      return { check: 'legal', ok: false, ...place, detail: `${rule}: ${detail}` };
  }
}
