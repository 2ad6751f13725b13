import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import type { ClusterInfo } from '@eventstore/db-client/generated/gossip_pb.js';
import { uuid } from './messages.ts';

/** One server's view of its cluster. */
export interface Membership {
  /** The leader's address; undefined: there is none. */
  readonly leader: () => number | undefined;
  /** Resolves when this server is not frozen, as a stopped process continues where it was. */
  readonly thawed: () => Promise<void>;
  readonly isFrozen: () => boolean;
  /** The ports of all members, and the leader according to gossip, which lags for a while. */
  readonly gossip: () => { readonly ports: readonly number[]; readonly leader: number | undefined };
}

/** A single server. */
export function alone(port: () => number): Membership {
  return {
    leader: port,
    thawed: () => Promise.resolve(),
    isFrozen: () => false,
    gossip: () => ({ ports: [port()], leader: port() }),
  };
}

/** The response of `Gossip/Read`. */
export function clusterInfo({ ports, leader }: ReturnType<Membership['gossip']>): ClusterInfo {
  const { LEADER, FOLLOWER } = gossip.MemberInfo.VNodeState;
  const cluster = new gossip.ClusterInfo();
  for (const [at, port] of ports.entries()) {
    const member = new gossip.MemberInfo();
    member.setInstanceId(uuid(`00000000-0000-4000-8000-00000000000${String(at + 1)}`));
    member.setTimeStamp(String(Date.now()));
    member.setState(port === leader ? LEADER : FOLLOWER);
    member.setIsAlive(true);
    const endpoint = new gossip.EndPoint();
    endpoint.setAddress('127.0.0.1');
    endpoint.setPort(port);
    member.setHttpEndPoint(endpoint);
    cluster.addMembers(member);
  }
  return cluster;
}
