import type { DeadLetter, Message, OutgoingMessage } from '@countersign/message-bus';
import type { Clock } from '@countersign/runtime';

/** One stored message. Before its time it is invisible to consumers, and so are those after it. */
export interface StoredMessage {
  readonly message: Message;
  readonly visibleAt: number;
}

/** A member of a consumer group, as the broker sees it. */
export interface Member {
  readonly topics: readonly string[];
  /** These partitions are its own from now on, each from an offset; what it had before is not. */
  readonly assign: (partitions: readonly Assigned[]) => void;
  /** Its partitions are about to be reassigned. */
  readonly revoke: () => void;
  /** There may be more to read. */
  readonly wake: () => void;
}

export interface Assigned {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** The metadata that was committed with the offset. */
  readonly record: string;
}

interface Group {
  readonly members: Member[];
  readonly committed: Map<string, { readonly offset: number; readonly record: string }>;
  owners: Map<string, Member>;
}

/** A parked message, and whether it waits to be handled once more. */
export interface Parked {
  letter: DeadLetter;
  /** The record of the process that handles it again. */
  record: string;
  state: 'parked' | 'waiting' | 'replaying';
}

/** The brokers: topics of partitions in memory, consumer groups with offsets, and the parked messages. */
export interface Broker {
  /** Stores messages, each visible `delayMs` later. @throws Error for an unknown topic. */
  readonly store: (topic: string, messages: readonly OutgoingMessage[], delayMs?: () => number) => void;
  readonly read: (topic: string, partition: number, offset: number) => StoredMessage | undefined;
  readonly join: (group: string, member: Member) => void;
  readonly leave: (group: string, member: Member) => void;
  /** Only the owner of a partition moves its offset. */
  readonly commit: (group: string, member: Member, at: Assigned) => void;
  /** Records that the owner of a partition leaves it in order, without moving its offset. */
  readonly closeRecord: (group: string, member: Member, at: Pick<Assigned, 'topic' | 'partition'>) => void;
  /** The offset after the last message of a partition. */
  readonly end: (topic: string, partition: number) => number;
  /** Reassigns the partitions of a group. */
  readonly rebalance: (group: string) => void;
  readonly groups: () => readonly string[];
  readonly parked: Map<string, Parked>;
  /** Wakes the members of a group, for a parked message to be handled once more. */
  readonly wake: (group: string) => void;
  /** Every stored message of a topic, a partition after the other. */
  readonly all: (topic: string) => readonly Message[];
  /** How many messages are uncommitted by groups with a member. */
  readonly behind: () => number;
  readonly hasTopic: (topic: string) => boolean;
}

/** An empty broker with these topics. */
export function createBroker(clock: Clock, topics: readonly string[], partitions: number): Broker {
  const stored = new Map(topics.map((topic) => [topic, Array.from({ length: partitions }, (): StoredMessage[] => [])]));
  const groups = new Map<string, Group>();
  const parked = new Map<string, Parked>();
  let withoutKey = 0;

  const partitionsOf = (topic: string): StoredMessage[][] => {
    const found = stored.get(topic);
    if (found === undefined) throw new Error(`topic "${topic}" is unknown`);
    return found;
  };
  const groupOf = (name: string): Group => {
    const group = groups.get(name) ?? { members: [], committed: new Map(), owners: new Map() };
    groups.set(name, group);
    return group;
  };
  const wakeAll = (): void => {
    for (const group of groups.values()) for (const member of group.members) member.wake();
  };
  const rebalance = (name: string): void => {
    const group = groupOf(name);
    for (const member of group.members) member.revoke();
    const dealt = new Map<Member, Assigned[]>(group.members.map((member) => [member, []]));
    group.owners = new Map();
    for (const topic of new Set(group.members.flatMap((member) => member.topics))) {
      const wanting = group.members.filter((member) => member.topics.includes(topic));
      partitionsOf(topic).forEach((_, partition) => {
        const owner = wanting[partition % wanting.length];
        if (owner === undefined) return;
        group.owners.set(`${topic}/${partition}`, owner);
        dealt.get(owner)?.push({ topic, partition, ...committedOf(group, topic, partition) });
      });
    }
    for (const [member, assigned] of dealt) member.assign(assigned);
  };
  return {
    store: (topic, messages, delayMs = () => 0) => {
      const all = partitionsOf(topic);
      for (const { key, value, headers } of messages) {
        const partition = key === null ? withoutKey++ % all.length : hashOf(key) % all.length;
        const log = all[partition] ?? [];
        const bytes = typeof value === 'string' ? Buffer.from(value) : value;
        const lower = Object.fromEntries(Object.entries(headers).map(([name, text]) => [name.toLowerCase(), text]));
        const message = { topic, partition, offset: String(log.length), key, value: bytes, headers: lower };
        const visibleAt = Math.max(log.at(-1)?.visibleAt ?? 0, clock.monotonic() + delayMs());
        log.push({ message, visibleAt });
        if (visibleAt > clock.monotonic()) clock.setTimer(visibleAt - clock.monotonic(), wakeAll);
      }
      wakeAll();
    },
    read: (topic, partition, offset) => partitionsOf(topic)[partition]?.[offset],
    join: (name, member) => {
      member.topics.forEach(partitionsOf);
      groupOf(name).members.push(member);
      rebalance(name);
    },
    leave: (name, member) => {
      const { members } = groupOf(name);
      const index = members.indexOf(member);
      if (index === -1) return;
      members.splice(index, 1);
      rebalance(name);
    },
    commit: (name, member, { topic, partition, offset, record }) => {
      const group = groupOf(name);
      const key = `${topic}/${partition}`;
      if (group.owners.get(key) !== member || offset < committedOf(group, topic, partition).offset) return;
      group.committed.set(key, { offset, record });
    },
    closeRecord: (name, member, { topic, partition }) => {
      const group = groupOf(name);
      const key = `${topic}/${partition}`;
      if (group.owners.get(key) !== member) return;
      group.committed.set(key, { offset: committedOf(group, topic, partition).offset, record: '' });
    },
    end: (topic, partition) => partitionsOf(topic)[partition]?.length ?? 0,
    rebalance,
    groups: () => [...groups.keys()],
    parked,
    wake: (name) => {
      for (const member of groupOf(name).members) member.wake();
    },
    all: (topic) => partitionsOf(topic).flatMap((log) => log.map(({ message }) => message)),
    behind: () => {
      let count = 0;
      for (const { owners, committed } of groups.values()) {
        for (const key of owners.keys()) {
          const [topic = '', partition = '0'] = key.split('/');
          count += (partitionsOf(topic)[Number(partition)]?.length ?? 0) - (committed.get(key)?.offset ?? 0);
        }
      }
      return count;
    },
    hasTopic: (topic) => stored.has(topic),
  };
}

function committedOf(group: Group, topic: string, partition: number): { offset: number; record: string } {
  return group.committed.get(`${topic}/${partition}`) ?? { offset: 0, record: '' };
}

function hashOf(key: string): number {
  let hash = 7;
  for (let index = 0; index < key.length; index += 1) hash = (hash * 31 + key.charCodeAt(index)) >>> 0;
  return hash;
}
