import { AssignerProtocol } from 'kafkajs';
import type { PartitionAssigner } from 'kafkajs';

/** The metadata that a member sends at each rebalance. */
export interface Claim {
  /** Since when (ms) it has been the owner; null when it is not. */
  readonly since: () => number | null;
  /** Called when it sends its claim: from now until the group has formed, nothing is certain. */
  readonly onClaim: () => void;
}

const version = 1;

/**
 * Assigns every partition to one member and keeps it there: to the member that claims to own it; of two, to the one
 * that became owner last, since the other was removed; without a claim, to the first.
 */
export function oneOwnerAssigner({ since, onClaim }: Claim): PartitionAssigner {
  return ({ cluster }) => ({
    name: 'countersign-one-owner',
    version,
    protocol: ({ topics }) => {
      onClaim();
      const userData = Buffer.from(String(since() ?? ''));
      return {
        name: 'countersign-one-owner',
        metadata: AssignerProtocol.MemberMetadata.encode({ version, topics, userData }),
      };
    },
    assign: async ({ members, topics }) => {
      const claims = members.map(({ memberId, memberMetadata }) => ({ memberId, since: sinceOf(memberMetadata) }));
      const [owner] = claims.toSorted(
        (one, other) => other.since - one.since || (one.memberId < other.memberId ? -1 : 1),
      );
      const everything = Object.fromEntries(
        topics.map((topic) => [topic, cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId)]),
      );
      return members.map(({ memberId }) => ({
        memberId,
        memberAssignment: AssignerProtocol.MemberAssignment.encode({
          version,
          assignment: memberId === owner?.memberId ? everything : {},
          userData: Buffer.alloc(0),
        }),
      }));
    },
  });
}

/** Zero when the member is not the owner, or its metadata cannot be read. */
function sinceOf(metadata: Buffer): number {
  const since = Number(AssignerProtocol.MemberMetadata.decode(metadata)?.userData.toString());
  return Number.isFinite(since) ? since : 0;
}
