import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import kafkajs from 'kafkajs';
import type { AclEntry, Admin } from 'kafkajs';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const guide = join(import.meta.dirname, '..', '..', 'docs', 'kafka.md');

/** The principals of the guide's table "Who may do what", each with the listed rights, for these topics. */
export function documentedRights(topicPrefix: string): ReadonlyMap<string, readonly AclEntry[]> {
  const [, chapter = ''] = readFileSync(guide, 'utf8').split('## Who may do what');
  const rows = [...chapter.matchAll(/^\| (\w+) \| (.+?) \| (.+?) \|$/gm)].slice(1);
  return new Map(
    rows.map(([, principal = '', topics = '', groups = '']) => [
      principal,
      [
        ...rightsIn(topics, principal, AclResourceTypes.TOPIC, (name) => `${topicPrefix}.${name}.v1`),
        ...rightsIn(groups, principal, AclResourceTypes.GROUP, (name) => name.replace('<prefix>', topicPrefix)),
      ],
    ]),
  );
}

/** Such as: Read, Describe `events`; Read, prefixed `<prefix>.worker.` (brackets contain remarks for people). */
function rightsIn(
  cell: string,
  principal: string,
  resourceType: kafkajs.AclResourceTypes,
  nameOf: (name: string) => string,
): readonly AclEntry[] {
  const rules = cell.replace(/\([^)]*\)/g, '').split(';');
  return rules.flatMap((rule) => {
    const [words = ''] = rule.split('`');
    const names = [...rule.matchAll(/`([^`]+)`/g)].map(([, name = '']) => nameOf(name));
    const operations = [...words.matchAll(/\b[A-Z]\w+/g)].map(([operation]) => operationOf(operation));
    const resourcePatternType = words.includes('prefixed')
      ? ResourcePatternTypes.PREFIXED
      : ResourcePatternTypes.LITERAL;
    return names.flatMap((resourceName) =>
      operations.map((operation) => ({
        ...{ resourceType, resourceName, resourcePatternType, operation },
        ...{ principal: `User:${principal}`, host: '*', permissionType: AclPermissionTypes.ALLOW },
      })),
    );
  });
}

/** The guide writes operations as Kafka's own tool does: DescribeConfigs. */
function operationOf(word: string): kafkajs.AclOperationTypes {
  const name = word.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();
  const operation = Reflect.get(AclOperationTypes, name) as kafkajs.AclOperationTypes | undefined;
  if (operation === undefined) throw new Error(`docs/kafka.md: there is no operation ${word}`);
  return operation;
}

/** Grants every principal of the guide the rights in the guide. */
export async function grantDocumentedRights(admin: Admin, topicPrefix: string): Promise<void> {
  await admin.createAcls({ acl: [...documentedRights(topicPrefix).values()].flat() });
}
