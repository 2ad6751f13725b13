import { codeOfEvent } from '@countersign/contracts';
import type { JsonObject, JsonValue, LogEventView } from '@countersign/contracts';

/** A value of a table: null for none. */
export type Cell = string | number | null;

/** How a column's values are to be read. `json`: a JSON text. `time`: RFC 3339, UTC, with milliseconds. */
export type ColumnType = 'text' | 'integer' | 'boolean' | 'time' | 'json';

/** One column of the table of events. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** What it is, for a reader who has only the file. */
  readonly explanation: string;
  readonly cellOf: (event: LogEventView) => Cell;
}

/** The columns of a table of events, in the order of every format that has columns. */
export const eventColumns: readonly Column[] = [
  column('position', 'integer', 'The place of the event in the log. It grows; gaps are allowed.', (e) => e.position),
  column('recordedAt', 'time', 'When the event was recorded, by the clock of the log.', (e) => e.recordedAt),
  column('code', 'text', 'The stable code of the type of event.', ({ type }) => codeOfEvent(type)),
  column('type', 'text', 'What happened.', ({ type }) => type),
  column('actorKind', 'text', 'person, agent, resolver, service or operator.', ({ actor }) => actor?.kind ?? null),
  column(
    'actor',
    'text',
    'Who did it: the principal. Empty: the event does not say it.',
    ({ actor }) => actor?.id ?? null,
  ),
  column('onBehalfOf', 'text', 'The person who is represented.', ({ actor }) => actor?.onBehalfOf ?? null),
  column('toolName', 'text', 'The tool of the call.', ({ toolName }) => toolName),
  column('agentId', 'text', 'The agent that requested the call.', ({ agentId }) => agentId),
  column('runId', 'text', 'The run of the agent.', ({ runId }) => runId),
  column('callId', 'text', 'The call, by the id that Countersign gave it.', ({ callId }) => callId),
  column('toolCallId', 'text', 'The call, by the id that the agent gave it.', ({ toolCallId }) => toolCallId),
  fromData('approvalId', 'The question that people are asked about the call.'),
  fromData('decision', 'What the person decided: approve, edit, deny or answer.', ['decision', 'type']),
  fromData('resolution', 'How the question stands after the decision: pending, approved or denied.'),
  fromData('outcome', 'The verdict of the policy: allow, require or block.', ['verdict', 'outcome']),
  fromData('ruleId', 'The rule of the policy that decided.', ['verdict', 'ruleId'], ['ruleId']),
  fromData('policyVersion', 'The digest of the policy.', ['verdict', 'policyVersion'], ['policyVersion']),
  fromData('via', 'Through which channel the person responded.'),
  fromData('assurance', 'How well the person was known: low, medium or high.'),
  fromData(
    'automatic',
    'true: nobody responded in time, and the policy says what that means.',
    ['automatic'],
    'boolean',
  ),
  fromData('reason', 'The reason, in the words of who gave it.', ['reason'], ['note']),
  fromData('instruction', 'What the person tells the agent.'),
  fromData('shown', 'The digest of the proposal that the person was shown. Empty: the channel did not say it.'),
  fromData('actionDigest', 'The digest of the tool, its arguments and the agent.'),
  fromData('credential', 'The id of the credential that the person used.'),
  fromData('session', 'The digest of the id of the session.'),
  fromData('client', 'The client program, as it names itself.'),
  fromData('address', 'The IP address that the person connected from, where addresses are recorded.'),
  fromData('bulkId', 'The same for all decisions of one click.'),
  fromData('attempt', 'The number of the claim of the call.', ['attempt'], 'integer'),
  fromData('arguments', 'The arguments, with hidden values masked.', ['arguments'], ['decision', 'arguments'], 'json'),
  fromData('output', 'What the tool returned.', ['output'], ['decision', 'output'], 'json'),
  fromData('error', 'Why the tool failed.', ['error'], 'json'),
  column('data', 'json', 'All members of the event. docs/schemas/events explains them.', ({ data }) => jsonOf(data)),
  column('erased', 'json', 'The places in `data` whose values were erased.', ({ erased }) => jsonOf(erased)),
  column('missing', 'json', 'The places in `data` whose key is lost.', ({ missing }) => jsonOf(missing)),
  column('unreadable', 'text', 'Why this version cannot read the event.', ({ unreadable }) => unreadable ?? null),
  column('eventId', 'text', 'The id of the event.', ({ eventId }) => eventId),
  column('revision', 'integer', 'The place of the event in its own stream, from 0.', ({ revision }) => revision),
  column('tenant', 'text', 'Whose log it is.', ({ tenant }) => tenant),
];

/** The values of an event, in the order of {@link eventColumns}. */
export function cellsOf(event: LogEventView): readonly Cell[] {
  return eventColumns.map(({ cellOf }) => cellOf(event));
}

function column(name: string, type: ColumnType, explanation: string, cellOf: Column['cellOf']): Column {
  return { name, type, explanation, cellOf };
}

type Place = readonly string[];

/** A column of a member of the data: the first of these places that has a value; by default the member of that name. */
function fromData(name: string, explanation: string, ...how: readonly (Place | ColumnType)[]): Column {
  const type = how.find((one): one is ColumnType => typeof one === 'string') ?? 'text';
  const places = how.filter((one): one is Place => typeof one !== 'string');
  const all = places.length === 0 ? [[name]] : places;
  return column(name, type, explanation, ({ data }) => (data === null ? null : cellFrom(firstAt(data, all), type)));
}

function firstAt(data: JsonObject, places: readonly Place[]): JsonValue | undefined {
  for (const place of places) {
    const value = at(data, place);
    if (value !== undefined) return value;
  }
  return undefined;
}

function at(data: JsonObject, place: Place): JsonValue | undefined {
  let value: JsonValue | undefined = data;
  for (const member of place) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, member)) {
      return undefined;
    }
    value = (value as JsonObject)[member];
  }
  return value;
}

/** A value of another type than that of its column is left out: `data` has it. */
function cellFrom(value: JsonValue | undefined, type: ColumnType): Cell {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'json':
      return JSON.stringify(value);
    case 'integer':
      return Number.isSafeInteger(value) ? Number(value) : null;
    case 'boolean':
      return typeof value === 'boolean' ? String(value) : null;
    case 'text':
    case 'time':
      return typeof value === 'string' ? value : null;
  }
}

function jsonOf(value: JsonValue | undefined): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}
