import kafkajs from 'kafkajs';
import type { AclEntry, Kafka } from 'kafkajs';
import type { TopicNames } from '../topics.js';
import { toBusError } from './bus-errors.js';
import { withAdmin } from './kafka-client.js';

type Topic = keyof TopicNames;
type Operation = 'read' | 'write' | 'create' | 'delete' | 'describe' | 'describeConfigs';

interface GroupRight {
  /** The part after the topic prefix. */
  readonly name: string;
  /** Default: that group alone. */
  readonly prefixed?: true;
  readonly operations: readonly Operation[];
}

interface PrincipalRights {
  readonly topics: Readonly<Partial<Record<Topic, readonly Operation[]>>>;
  readonly group: GroupRight;
}

const hears = { events: ['read', 'describe'], deadLetters: ['write', 'describe'] } as const;

/** The least that each principal needs. docs/kafka.md shows this table, and a test compares the two. */
const rightsTable: Readonly<Record<string, PrincipalRights>> = {
  worker: {
    topics: { requests: ['write', 'describe'], events: ['read', 'describe'] },
    group: { name: '.worker.', prefixed: true, operations: ['read'] },
  },
  ledger: {
    topics: { requests: ['read', 'describe'], deadLetters: ['write', 'describe'] },
    group: { name: '-ledger', operations: ['read'] },
  },
  relay: {
    topics: { events: ['write', 'read', 'describe'] },
    group: { name: '-relay', operations: ['read', 'describe'] },
  },
  projector: { topics: hears, group: { name: '-batch-closer', operations: ['read'] } },
  resolver: { topics: hears, group: { name: '-resolver', operations: ['read'] } },
  notifier: { topics: hears, group: { name: '-notifier-', prefixed: true, operations: ['read'] } },
  /** It reads nothing: the owner of a partition signs checkpoints. */
  notary: {
    topics: { events: ['read', 'describe'], checkpoints: ['write', 'describe'] },
    group: { name: '-notary', operations: ['read', 'describe'] },
  },
  operator: {
    topics: {
      requests: ['create', 'describe', 'describeConfigs', 'write'],
      events: ['create', 'describe', 'describeConfigs'],
      deadLetters: ['create', 'describe', 'describeConfigs', 'read', 'write'],
      checkpoints: ['create', 'describe', 'describeConfigs'],
    },
    group: { name: '.dead-letters.v1.reader-', prefixed: true, operations: ['read', 'delete'] },
  },
};

/** The rights on the topics and groups of one installation. */
export interface KafkaRights {
  /**
   * Grants each principal its rights, and revokes none. It needs the right to alter the cluster.
   * @returns the names of the principals.
   * @throws BusUnavailableError when the brokers are unreachable or refuse it.
   */
  readonly grant: () => Promise<readonly string[]>;
}

/** The access control entries of every principal, under a topic prefix. */
export function rightsEntries(prefix: string, names: TopicNames): readonly AclEntry[] {
  const { GROUP, TOPIC } = kafkajs.AclResourceTypes;
  const { LITERAL, PREFIXED } = kafkajs.ResourcePatternTypes;
  return Object.entries(rightsTable).flatMap(([principal, { topics, group }]) => {
    const allow = (
      resource: Pick<AclEntry, 'resourceType' | 'resourceName' | 'resourcePatternType'>,
      operations: readonly Operation[],
    ): AclEntry[] =>
      operations.map((operation) => ({
        ...resource,
        ...{ principal: `User:${principal}`, host: '*', operation: operationCodes()[operation] },
        permissionType: kafkajs.AclPermissionTypes.ALLOW,
      }));
    const onTopics = (Object.keys(topics) as Topic[]).flatMap((topic) =>
      allow({ resourceType: TOPIC, resourceName: names[topic], resourcePatternType: LITERAL }, topics[topic] ?? []),
    );
    const resourcePatternType = group.prefixed === true ? PREFIXED : LITERAL;
    const ofGroup = { resourceType: GROUP, resourceName: `${prefix}${group.name}`, resourcePatternType };
    return [...onTopics, ...allow(ofGroup, group.operations)];
  });
}

export function createKafkaRights(kafka: Kafka, prefix: string, names: TopicNames): KafkaRights {
  return {
    grant: async () => {
      const acl = [...rightsEntries(prefix, names)];
      try {
        await withAdmin(kafka, (admin) => admin.createAcls({ acl }));
      } catch (error) {
        throw toBusError(error, 'the rights cannot be given');
      }
      return Object.keys(rightsTable);
    },
  };
}

// Node does not detect these exports of the client's module, so they are read when needed.
function operationCodes(): Readonly<Record<Operation, kafkajs.AclOperationTypes>> {
  const { CREATE, DELETE, DESCRIBE, DESCRIBE_CONFIGS, READ, WRITE } = kafkajs.AclOperationTypes;
  return {
    ...{ create: CREATE, delete: DELETE, describe: DESCRIBE },
    ...{ describeConfigs: DESCRIBE_CONFIGS, read: READ, write: WRITE },
  };
}
