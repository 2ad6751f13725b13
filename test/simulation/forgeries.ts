import type { StoredEvent } from '@countersign/contracts';

/** A log that its owner changed at one place. */
export interface Forgery {
  readonly what: string;
  readonly events: readonly StoredEvent[];
  /** The index of the first event that differs. */
  readonly at: number;
  /** Without a checkpoint of before it nobody can find it: the log is one that could have been. */
  readonly isHidden: boolean;
}

type Log = readonly StoredEvent[];
type Members = Readonly<Record<string, unknown>>;

/** Forges a log at an index. Undefined: that changes nothing. */
type Forge = (log: Log, at: number, seed: number) => Forgery | undefined;

const eventAt = (log: Log, at: number): StoredEvent => log[at] as StoredEvent;
const dataOf = ({ data }: StoredEvent): Members => data as Members;
const laterOf = (log: Log, at: number): Log =>
  log.slice(at + 1).filter(({ stream }) => stream === eventAt(log, at).stream);

/** The same events, with revisions that have no gap. */
function renumbered(log: Log): Log {
  const next = new Map<string, number>();
  return log.map((event) => {
    const revision = next.get(event.stream) ?? 0;
    next.set(event.stream, revision + 1);
    return revision === event.revision ? event : { ...event, revision };
  });
}

/** Drops an event. At the end of its stream it was never recorded, as far as the log goes. */
const drop: Forge = (log, at) => ({
  what: `drop ${nameOf(log, at)}`,
  events: log.toSpliced(at, 1),
  at,
  isHidden: laterOf(log, at).length === 0 && !isLeantOn(log, at),
});

/** Drops an event, and closes the gap in its stream. It is hidden where nothing later leans on it. */
const neverRecorded: Forge = (log, at) => ({
  what: `leave out ${nameOf(log, at)}`,
  events: renumbered(log.toSpliced(at, 1)),
  at,
  isHidden: !isLeantOn(log, at),
});

/** Records an event once more, at the end of the log. */
const again: Forge = (log, at) => {
  const event = eventAt(log, at);
  const { length: revision } = log.filter(({ stream }) => stream === event.stream);
  const { recordedAt } = eventAt(log, log.length - 1);
  const copy = { ...event, eventId: event.eventId.replace(/^.{8}/, 'ffffffff'), revision, recordedAt };
  return {
    what: `repeat ${nameOf(log, at)}`,
    events: [...log, copy],
    at: log.length,
    isHidden: saysOnly.has(event.type),
  };
};

/** Moves an event before the one that precedes it in its stream. */
const earlier: Forge = (log, at) => {
  const event = eventAt(log, at);
  const to = log.findLastIndex(({ stream }, index) => index < at && stream === event.stream);
  if (to === -1) return undefined;
  const events = renumbered(log.toSpliced(at, 1).toSpliced(to, 0, event));
  return { what: `move back ${nameOf(log, at)}`, events, at: to, isHidden: !hasOrder(event) };
};

/** Swaps two events of a stream. */
const swap: Forge = (log, at) => {
  const other = log.findIndex(({ stream }, index) => index > at && stream === eventAt(log, at).stream);
  if (other === -1) return undefined;
  const events = log.with(at, eventAt(log, other)).with(other, eventAt(log, at));
  return { what: `swap ${nameOf(log, at)} with the next of its stream`, events, at, isHidden: false };
};

/** Moves the record of an event by hours. */
const inTime: Forge = (log, at, seed) => {
  const event = eventAt(log, at);
  const hours = seed % 2 === 0 ? 1 : -1;
  const recordedAt = new Date(Date.parse(event.recordedAt) + hours * 3_600_000).toISOString();
  return {
    what: `record ${nameOf(log, at)} ${String(hours)} h later`,
    events: log.with(at, { ...event, recordedAt }),
    at,
    // What nothing precedes may be as old as it says; so may a policy that is recorded a little before another event.
    isHidden: hours < 0 && (at === 0 || event.type === 'PolicyActivated'),
  };
};

/** Members that decide something, besides those that name people. */
const deciding = ['resolution', 'actionDigest', 'attempt', 'grantId', 'executeBy', 'nth', 'round'];

/** Writes the value of another event in the place of a member that decides. */
const edit: Forge = (log, at, seed) => {
  const event = eventAt(log, at);
  const data = dataOf(event);
  const names = deciding.filter((name) => name in data);
  const name = names[seed % names.length];
  if (name === undefined) return undefined;
  const others = log.map((one) => dataOf(one)[name]).filter((one) => one !== undefined && one !== data[name]);
  if (others.length === 0) return undefined;
  const changed = { ...event, data: { ...data, [name]: others[seed % others.length] } };
  return { what: `another ${name} in ${nameOf(log, at)}`, events: log.with(at, changed), at, isHidden: false };
};

/** Events that permit and forbid nothing by themselves, or say once more what holds. */
const saysOnly: ReadonlySet<string> = new Set([
  ...['PolicyActivated', 'RequestRefused', 'RunCancelled', 'ExecutionClaimRenewed', 'ValuesRevealed'],
]);

/** Streams whose events have an order by the rules. Of the others each event holds by itself. */
function hasOrder({ stream }: StoredEvent): boolean {
  return /^(?:toolCall|grant|batch|passkeys)-/.test(stream);
}

const ofExecution = /^Execution(?!Claimed$)/;

/** Returns whether something that stays is there because of this event. */
function isLeantOn(log: Log, at: number): boolean {
  const { type, data } = eventAt(log, at);
  const later = laterOf(log, at);
  const isRun = later.some((one) => one.type === 'ExecutionClaimed');
  switch (type) {
    case 'ToolCallRequested':
    case 'GrantCreated':
    case 'GrantProposed':
      return later.length > 0;
    case 'ApprovalRequested': {
      const { approvalId } = data as Members;
      return later.some((one) => dataOf(one)['approvalId'] === approvalId);
    }
    case 'ApprovalResponded':
      return (data as Members)['resolution'] === 'approved' && isRun;
    case 'ToolCallAllowed':
      return isRun;
    case 'ExecutionClaimed':
      return later.some((one) => ofExecution.test(one.type));
    case 'GrantConfirmed':
      return later.some((one) => one.type === 'GrantUsed');
    default:
      return false;
  }
}

function nameOf(log: Log, at: number): string {
  const { type, stream, revision } = eventAt(log, at);
  return `${type} at index ${String(at)} (revision ${String(revision)} of ${stream})`;
}

/** What somebody who has the log and its key may do to it. */
export const forgeries: readonly Forge[] = [drop, neverRecorded, again, earlier, swap, inTime, edit];
