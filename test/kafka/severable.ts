import { connect, Socket } from 'node:net';
import type { KafkaOptions } from '@countersign/message-bus/kafka';
import { createSystemClock } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';

/** The connections of one process, which a test cuts: to the broker it looks like a kill, no word and no goodbye. */
export interface Connections {
  readonly socketFactory: NonNullable<KafkaOptions['socketFactory']>;
  readonly clock: Clock;
  /** Closes what is open and opens nothing more; timers no longer fire. */
  readonly cut: () => void;
  /** Nothing arrives and nothing leaves, while every connection stays open. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** From now on no fetch leaves, as if the client had forgotten to ask; everything else works. */
  readonly loseFetches: () => void;
  /** Everything leaves again; what is open is closed first, for nobody answers what was lost. */
  readonly findFetches: () => void;
  /** From now on no word that it leaves its group reaches the broker. */
  readonly loseLeaves: () => void;
}

export function severable(): Connections {
  const open = new Set<Socket>();
  const system = createSystemClock();
  let [severed, frozen] = [false, false];
  const lost = new Set<number>();
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
      socket.write = (request: Uint8Array | string) => (lost.size > 0 && lost.has(kindOf(request))) || write(request);
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
    loseFetches: () => void lost.add(fetchKind),
    loseLeaves: () => void lost.add(leaveGroupKind),
    findFetches: () => {
      lost.delete(fetchKind);
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

const [fetchKind, leaveGroupKind] = [1, 13];

/** A request begins with its length in 4 bytes and the number of its kind in 2. */
function kindOf(request: Uint8Array | string): number {
  return typeof request === 'string' ? -1 : Buffer.from(request).readInt16BE(4);
}
