import { connect, Socket } from 'node:net';
import type { KafkaOptions } from '@countersign/message-bus/kafka';
import { systemClock } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';

/** The connections of one process, which a test cuts. To the broker it looks like a kill, without a goodbye. */
export interface Connections {
  readonly socketFactory: NonNullable<KafkaOptions['socketFactory']>;
  readonly clock: Clock;
  /** Closes the open connections and opens no more; timers no longer fire. */
  readonly cut: () => void;
  /** Nothing arrives and nothing leaves, while every connection stays open. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** From now on no request of this kind leaves, as if the client had forgotten to ask; everything else works. */
  readonly lose: (kind: keyof typeof kinds) => void;
  /** The next request of this kind is not sent: it gets this error code of the protocol. */
  readonly refuse: (kind: keyof typeof refusals, code: number) => void;
  /** The connection breaks when the so-manieth request of this kind from now is to leave over it. */
  readonly breakAt: (kind: keyof typeof kinds, count: number) => void;
  /** From now on every commit of offsets gets a timeout error. Returns how many there were. */
  readonly delayCommits: () => () => number;
  /** Requests are sent again. Open connections are closed first, since lost requests get no response. */
  readonly find: (kind: keyof typeof kinds) => void;
}

export function severable(): Connections {
  const open = new Set<Socket>();
  const system = systemClock;
  let [severed, frozen] = [false, false];
  const lost = new Set<number>();
  let delayed: number | undefined;
  const breaks = new Map<number, number>();
  const refused = new Map<number, Buffer>();
  const still = (socket: Socket): void => {
    socket.cork();
    socket.pause();
  };
  return {
    clock: {
      ...system,
      setTimer: (delayMs, fn) =>
        system.setTimer(delayMs, () => {
          if (!severed) fn();
        }),
    },
    socketFactory: ({ host, port, onConnect }) => {
      if (severed) {
        const refused = new Socket();
        process.nextTick(() => refused.destroy(new Error('connections are cut')));
        return refused;
      }
      const socket = connect({ host, port }, onConnect);
      if (frozen) still(socket);
      const write = socket.write.bind(socket);
      socket.write = (request: Uint8Array | string) => {
        if (delayed !== undefined && kindOf(request) === kinds.commits) {
          delayed += 1;
          setImmediate(() => socket.emit('data', timedOut(request)));
          return true;
        }
        const kind = kindOf(request);
        const refusal = refused.get(kind);
        if (refusal !== undefined) {
          refused.delete(kind);
          setImmediate(() => socket.emit('data', answerTo(request, refusal)));
          return true;
        }
        const left = (breaks.get(kind) ?? 0) - 1;
        breaks.set(kind, left);
        if (left === 0) {
          socket.destroy(new Error('the connection breaks'));
          return true;
        }
        return (lost.size > 0 && lost.has(kindOf(request))) || write(request);
      };
      open.add(socket);
      socket.once('close', () => open.delete(socket));
      return socket;
    },
    cut: () => {
      severed = true;
      for (const socket of open) socket.destroy(new Error('connections are cut'));
    },
    freeze: () => {
      frozen = true;
      for (const socket of open) still(socket);
    },
    lose: (kind) => void lost.add(kinds[kind]),
    refuse: (kind, code) => void refused.set(kinds[kind], refusals[kind](code)),
    breakAt: (kind, count) => void breaks.set(kinds[kind], count),
    delayCommits: () => {
      delayed = 0;
      return () => delayed ?? 0;
    },
    find: (kind) => {
      lost.delete(kinds[kind]);
      for (const socket of open) socket.destroy(new Error('connections are reset'));
    },
    thaw: () => {
      frozen = false;
      for (const socket of open) {
        socket.uncork();
        socket.resume();
      }
    },
  };
}

const kinds = { fetches: 1, commits: 8, offsets: 9, joins: 11, heartbeats: 12, leaves: 13 } as const;

/** A request begins with its length in 4 bytes and the number of its kind in 2. */
function kindOf(request: Uint8Array | string): number {
  return typeof request === 'string' ? -1 : Buffer.from(request).readInt16BE(4);
}

/** The broker's response to a commit for partition 0 of a topic (versions 3 to 5): REQUEST_TIMED_OUT. */
function timedOut(request: Uint8Array | string): Buffer {
  const [throttled, topic, error] = [int32(0), Buffer.from('\0\u0001t'), Buffer.from([0, 7])];
  const [topics, partitions, partition] = [int32(1), int32(1), int32(0)];
  return answerTo(request, Buffer.concat([throttled, topics, topic, partitions, partition, error]));
}

/** The broker's refusals: of a heartbeat (versions 1 to 3), and of a request to join a group (version 5). */
const refusals = {
  heartbeats: (code: number) => Buffer.concat([int32(0), Buffer.from([0, code])]),
  // No generation, no protocol, no leader, no member id, no members.
  joins: (code: number) => Buffer.concat([int32(0), Buffer.from([0, code]), int32(-1), Buffer.alloc(6), int32(0)]),
};

function answerTo(request: Uint8Array | string, body: Buffer): Buffer {
  const correlationId = Buffer.from(request as Uint8Array).subarray(8, 12);
  return Buffer.concat([int32(4 + body.length), correlationId, body]);
}

function int32(number: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(number);
  return bytes;
}
