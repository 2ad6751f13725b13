import type { EventType, LedgerEvent, RecordedEvent } from './events.js';
import type { JsonObject, JsonValue } from './json.js';
import { erasedMark, keyMissingMark } from './sensitive-mask.js';
import { isContainer, membersOf } from './sensitive-members.js';
import { maskSchema } from './sensitive-schema.js';
import { hiddenByName, hiddenValues } from './sensitive.js';

/** The text that the log has in the place of a sealed value. */
const sealedMark = '[sealed]';

/** The part of the data of an event that is encrypted on its own. */
export interface SecretValues {
  /** JSON pointers (RFC 6901) into the data. */
  readonly pointers: readonly string[];
  /** The values, in the order of the pointers. */
  readonly values: readonly JsonValue[];
}

/**
 * The JSON pointers of an event's sensitive values: what a masked view hides, and the salt, with which a reader could
 * guess them. Empty for most events.
 */
export function secretPointers({ type, data }: Pick<LedgerEvent, 'type' | 'data'>): readonly string[] {
  const event = { type, data } as LedgerEvent;
  switch (event.type) {
    case 'ToolCallRequested':
      return [...withSalt('', event.data), ...resultPointers('/metadata', event.data.metadata ?? null)];
    case 'ApprovalResponded':
      return decisionPointers(event.data.decision);
    case 'ExecutionSucceeded':
      return resultPointers('/output', event.data.output);
    case 'ExecutionFailed':
      return resultPointers('/error', event.data.error);
    case 'GrantProposed':
    case 'GrantCreated':
      return 'digest' in event.data.match ? ['/match/salt'] : [];
    default:
      return [];
  }
}

type Decision = Extract<LedgerEvent, { type: 'ApprovalResponded' }>['data']['decision'];

function decisionPointers(decision: Decision): readonly string[] {
  switch (decision.type) {
    case 'edit':
      return withSalt('/decision', decision);
    case 'answer':
      return withSaltOf(decision.salt, resultPointers('/decision/output', decision.output));
    case 'approve':
    case 'deny':
      return [];
  }
}

function withSaltOf(salt: string | null | undefined, hidden: readonly string[]): readonly string[] {
  return hidden.length === 0 || salt === undefined ? hidden : [...hidden, '/decision/salt'];
}

function withSalt(
  place: string,
  action: { readonly arguments: JsonObject; readonly sensitive: readonly string[] },
): readonly string[] {
  const hidden = hiddenValues(action.arguments, action.sensitive);
  if (hidden.length === 0) return [];
  return [...hidden.map(({ pointer }) => `${place}/arguments${pointer}`), `${place}/salt`];
}

function resultPointers(place: string, value: JsonValue): readonly string[] {
  return hiddenByName(value).map(({ pointer }) => place + pointer);
}

/** The types of events that {@link secretPointers} finds values in. */
const secretTypes: ReadonlySet<string> = new Set<EventType>([
  ...(['ToolCallRequested', 'ApprovalResponded', 'ExecutionSucceeded', 'ExecutionFailed'] as const),
  ...(['GrantProposed', 'GrantCreated'] as const),
]);

/** Returns whether an event of this type can have hidden values at all. */
export function mayHaveSecrets(type: string): boolean {
  return secretTypes.has(type);
}

/**
 * Returns whether the log has values of an event in clear that a masked view hides. `event` is as it is stored. Sensitive values
 * are sealed where there are keys. A cluster without a keeper has none, and older versions had none; and the defaults and
 * examples of a tool's schema are never sealed. Every export of stored events goes by this rule alone.
 */
export function isRecordedInClear({ type, data, metadata }: RecordedEvent): boolean {
  const sealed = metadata.sealed?.pointers ?? [];
  const isSealed = (pointer: string): boolean => sealed.some((one) => pointer === one || pointer.startsWith(`${one}/`));
  return !secretPointers({ type, data }).every(isSealed) || hasTellingSchema({ type, data } as LedgerEvent);
}

function hasTellingSchema({ type, data }: LedgerEvent): boolean {
  if (type !== 'ToolCallRequested' || data.toolSchema === null) return false;
  const masked = maskSchema(data.toolSchema, data.arguments, data.sensitive);
  return JSON.stringify(masked) !== JSON.stringify(data.toolSchema);
}

/** Returns a stored event with a mask at each sealed value, so that it can be shown without the keys. */
export function maskSealed(event: RecordedEvent): RecordedEvent {
  const { sealed } = event.metadata;
  if (sealed === undefined) return event;
  return {
    ...event,
    data: replaceMarked(event.data as JsonObject, sealed.pointers, '[masked]') as RecordedEvent['data'],
  };
}

/** Returns the data without the values at `pointers`, and those values. A pointer to nothing is left out. */
export function takeSecrets<T extends JsonObject>(
  data: T,
  pointers: readonly string[],
): SecretValues & { readonly data: T } {
  const taken = new Map<number, JsonValue>();
  const rest = replaceAt(data, pointers, (value, index) => {
    taken.set(index, value);
    return sealedMark;
  });
  const found = [...taken].sort(([one], [other]) => one - other);
  return {
    data: rest,
    pointers: found.map(([index]) => pointers[index] ?? ''),
    values: found.map(([, value]) => value),
  };
}

/** Returns the data with the values put back at their places. */
export function putSecrets<T extends JsonObject>(data: T, { pointers, values }: SecretValues): T {
  return replaceAt(data, pointers, (_, index) => values[index] ?? null);
}

/** Why a sealed value cannot be read: its key was destroyed, or is lost. */
export type Unreadable = 'erased' | 'missing';

/** Returns the data with a mark that says why at each pointer. The salt is null. */
export function markSecrets<T extends JsonObject>(data: T, pointers: readonly string[], why: Unreadable): T {
  return replaceMarked(data, pointers, why === 'erased' ? erasedMark : keyMissingMark);
}

function replaceMarked<T extends JsonObject>(data: T, pointers: readonly string[], mark: string): T {
  return replaceAt(data, pointers, (_, index) => (isSalt(pointers[index]) ? null : mark));
}

/** Returns the pointers of the values among those of an event: all but the salt. */
export function valuePointers(pointers: readonly string[]): readonly string[] {
  return pointers.filter((pointer) => !isSalt(pointer));
}

function isSalt(pointer: string | undefined): boolean {
  return pointer === '/salt' || pointer === '/decision/salt' || pointer === '/match/salt';
}

/** The places of pointers as a tree, so that one walk finds all of them. */
interface Places {
  readonly members: Map<string, Places>;
  index: number | null;
}

function placesOf(pointers: readonly string[]): Places {
  const root: Places = { members: new Map(), index: null };
  pointers.forEach((pointer, index) => {
    let node = root;
    for (const part of pointer.split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const next: Places = node.members.get(key) ?? { members: new Map(), index: null };
      node.members.set(key, next);
      node = next;
    }
    node.index ??= index;
  });
  return root;
}

/** A copy with the values at `pointers` replaced. Pointers below a replaced value are ignored. */
function replaceAt<T extends JsonObject>(
  data: T,
  pointers: readonly string[],
  replace: (value: JsonValue, index: number) => JsonValue,
): T {
  const visit = (node: JsonValue, place: Places | undefined): JsonValue => {
    if (place === undefined) return node;
    if (place.index !== null) return replace(node, place.index);
    if (!isContainer(node)) return node;
    const members = membersOf(node).map(([key, child]) => [key, visit(child, place.members.get(key))] as const);
    return Array.isArray(node) ? members.map(([, child]) => child) : Object.fromEntries(members);
  };
  return visit(data, placesOf(pointers)) as T;
}
