import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventSchemas, eventTypes } from '@countersign/contracts';
import type { EventType, JsonObject, JsonValue, NewEvent } from '@countersign/contracts';
import { createSealedStore, noStream, openSubjectKeys } from '@countersign/event-store';
import type { SubjectKeys } from '@countersign/event-store';
import { createSimulatedEventStore, createSimulatedLog } from '@countersign/event-store/testing';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { z } from 'zod';

const guide = readFileSync(join(import.meta.dirname, '../../docs/privacy.md'), 'utf8');
const table = guide.slice(guide.indexOf('### Field by field'), guide.indexOf('## Erase'));

/** The fields of the guide's table, by how it says that they are stored. */
function fieldsOf(stored: 'encrypted' | 'in clear'): readonly string[] {
  const rows = [...table.matchAll(/^\| (encrypted|in clear): [^|]*\|([^|]*)\|$/gm)].filter(([, how]) => how === stored);
  const fields = rows.flatMap(([, , cell = '']) => [...cell.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name));
  return [...new Set(fields)].sort();
}

/** The parts of a JSON Schema that the schemas of events use. */
interface Node {
  readonly type?: string | readonly string[];
  readonly enum?: readonly JsonValue[];
  readonly const?: JsonValue;
  readonly pattern?: string;
  readonly format?: string;
  readonly anyOf?: readonly Node[];
  readonly oneOf?: readonly Node[];
  readonly items?: Node;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Node | boolean;
}
type Path = readonly string[];

const planted = '/hunter2';
// Without the names of schemas, each is written in its place.
const schemaOf = (type: EventType): Node =>
  z.toJSONSchema(eventSchemas[type], { unrepresentable: 'any', metadata: z.registry() }) as Node;
const choicesOf = ({ anyOf, oneOf }: Node): readonly Node[] => anyOf ?? oneOf ?? [];
const typesOf = ({ type = [] }: Node): readonly string[] => [type].flat();
const isObject = (node: Node): boolean => typesOf(node).includes('object');
const isAnyJson = (node: Node): boolean => typesOf(node).length === 0 && choicesOf(node).length === 0;
const isFreeText = (node: Node): boolean =>
  typesOf(node).includes('string') &&
  node.enum === undefined &&
  node.const === undefined &&
  node.format === undefined &&
  !(node.pattern ?? '').includes('sha256');

/** The paths of all texts and all JSON in a schema; `*` is any member or item. */
function leavesOf(node: Node, path: Path = []): readonly Path[] {
  if (isFreeText(node) || isAnyJson(node)) return [path];
  const { items, properties = {}, additionalProperties: any } = node;
  return [
    ...choicesOf(node).flatMap((choice) => leavesOf(choice, path)),
    ...(items === undefined ? [] : leavesOf(items, [...path, '*'])),
    ...Object.entries(properties).flatMap(([name, child]) => leavesOf(child, [...path, name])),
    ...(typeof any === 'object' ? leavesOf(any, [...path, '*']) : []),
  ];
}

/** Some value of a schema. Arguments have a hidden value, so that there is a reason to encrypt. */
function someOf(node: Node, name = ''): JsonValue {
  if (name === 'sensitive') return ['/password'];
  const [choice] = choicesOf(node);
  if (choice !== undefined) return someOf(choice);
  if (isAnyJson(node)) return { password: 'another' };
  if (isObject(node)) return someObject(node);
  return node.const ?? node.enum?.[0] ?? 'x';
}

function someObject({ properties = {}, required = [] }: Node): JsonObject {
  return Object.fromEntries(required.map((name) => [name, someOf(properties[name] ?? {}, name)]));
}

/** Such a value with the planted text at a path; undefined where the schema has no such path. */
function withPlanted(node: Node, [name, ...rest]: Path): JsonValue | undefined {
  if (name === undefined && isFreeText(node)) return planted;
  if (name === undefined && isAnyJson(node)) return { password: planted };
  for (const choice of choicesOf(node)) {
    const found = withPlanted(choice, name === undefined ? [] : [name, ...rest]);
    if (found !== undefined) return found;
  }
  if (name === undefined) return undefined;
  const { items, properties = {}, additionalProperties: any } = node;
  if (name === '*' && items !== undefined) return inList(withPlanted(items, rest));
  const child = name === '*' ? any : properties[name];
  if (typeof child !== 'object') return undefined;
  const value = withPlanted(child, rest);
  return value === undefined ? undefined : { ...someObject(node), [name]: value };
}

const inList = (value: JsonValue | undefined): JsonValue | undefined => (value === undefined ? undefined : [value]);

/** The name of a field in the guide: with its parents where it is encrypted. */
const nameOf = (path: Path, isEncrypted: boolean): string => {
  const names = path.filter((name) => name !== '*');
  return isEncrypted ? names.join('.') : (names.at(-1) ?? '');
};

describe('the fields of the privacy guide', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-guide-'));
  const log = createSilentLog();
  const ids = createSystemIds();
  const found = { encrypted: new Set<string>(), 'in clear': new Set<string>() };
  let keys: SubjectKeys;

  const eventOf = (type: EventType, data: JsonValue): NewEvent => {
    const metadata = { tenant: 'default', callId: 'tc_1', runId: 'r', schemaVersion: 1, commandId: 'c' };
    return { eventId: ids.uuid(), type, data: data as NewEvent['data'], metadata };
  };
  const isStoredInClear = async (type: EventType, data: JsonValue): Promise<boolean> => {
    const simulated = createSimulatedLog();
    const store = createSealedStore(createSimulatedEventStore({ clock: systemClock, log: simulated }), {
      keys,
      log,
    });
    const call = eventOf('ToolCallRequested', { ...someObject(schemaOf('ToolCallRequested')), labels: {} });
    const isFirst = type === 'ToolCallRequested' || type.startsWith('Grant');
    if (!isFirst) await store.append('stream', noStream, [call]);
    await store.append('stream', isFirst ? noStream : 0, [eventOf(type, data)]);
    return JSON.stringify(simulated.events).includes(planted);
  };

  beforeAll(async () => {
    keys = openSubjectKeys({ folder, rootKeyFile: null, log });
    for (const type of eventTypes) {
      const schema = schemaOf(type);
      for (const path of leavesOf(schema)) {
        const data = withPlanted(schema, path);
        if (data === undefined) throw new Error(`${type} has no value with ${path.join('.')}`);
        const isClear = await isStoredInClear(type, data);
        found[isClear ? 'in clear' : 'encrypted'].add(nameOf(path, !isClear));
      }
    }
  });
  afterAll(() => {
    keys.close();
    rmSync(folder, { recursive: true });
  });

  it.each(['encrypted', 'in clear'] as const)('are those that the log stores %s', (stored) => {
    expect(fieldsOf(stored)).toEqual([...found[stored]].sort());
  });
});
