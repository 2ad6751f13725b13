import { openServerLog } from './log.ts';
import type { Membership } from './members.ts';
import { startTestServer } from './server.ts';
import type { TestServer } from './server.ts';

/** Three servers with one log, only for tests. */
export interface TestCluster {
  readonly url: string;
  readonly members: readonly TestServer[];
  /** The member that leads; undefined: none. */
  readonly leader: () => TestServer | undefined;
  /**
   * Freezes the leader, like SIGSTOP. There is no leader until the others elect one; until then gossip names the frozen
   * one.
   */
  readonly freezeLeader: () => void;
  /** The frozen ones continue, as followers. */
  readonly thaw: () => void;
  /** Takes the majority away: there is no leader, and the remaining member reports that it is not ready. */
  readonly loseQuorum: () => void;
  /** Those that are not frozen elect a leader. */
  readonly elect: () => void;
  readonly stop: () => void;
}

/** Starts it. `folder` is where its log is kept; default: in memory. */
export async function startTestCluster(folder?: string): Promise<TestCluster> {
  const log = openServerLog(folder);
  const frozen = new Map<number, PromiseWithResolvers<void>>();
  const ports: number[] = [];
  let leader: number | undefined;
  let named: number | undefined;
  const membershipOf = (port: () => number): Membership => ({
    leader: () => leader,
    isFrozen: () => frozen.has(port()),
    thawed: () => frozen.get(port())?.promise ?? Promise.resolve(),
    gossip: () => ({ ports, leader: named }),
  });
  const members: TestServer[] = [];
  for (let count = 0; count < 3; count += 1) {
    const member = await startTestServer({ log, membership: membershipOf });
    members.push(member);
    ports.push(member.port);
  }
  const elect = (): void => {
    leader = named = ports.find((port) => !frozen.has(port));
  };
  elect();
  return {
    url: `esdb://${ports.map((port) => `127.0.0.1:${String(port)}`).join(',')}?tls=false`,
    members,
    leader: () => members.find(({ port }) => port === leader),
    freezeLeader: () => {
      if (leader !== undefined) frozen.set(leader, Promise.withResolvers());
      leader = undefined;
    },
    thaw: () => {
      const woken = [...frozen.values()];
      frozen.clear();
      for (const one of woken) one.resolve();
      for (const member of members) member.wake();
    },
    loseQuorum: () => {
      leader = named = undefined;
    },
    elect,
    stop: () => {
      for (const one of frozen.values()) one.resolve();
      for (const member of members) member.stop();
      log.close();
    },
  };
}
