import type { EventData } from '@countersign/contracts';
import type { CallState, RequestFacts } from './call-state.js';
import { derivedName, digestOf, digestOfAction } from './digests.js';
import { illegal, isSealedAt } from './judged-event.js';
import type { Illegal, JudgedEvent } from './judged-event.js';
import { compared } from './names.js';
import { shownOfRequest } from './shown-card.js';

type Requested = EventData<'ToolCallRequested'>;

/** Judges the first event of a call, and returns what to remember of it. */
export function request(event: JudgedEvent): Illegal | CallState {
  const data = event.data as Requested;
  const { callId, tenant, runId, toolCallId } = data;
  if (callId !== derivedName('tc_', [tenant, runId, toolCallId]) || event.stream !== `toolCall-${callId}`) {
    return illegal('request', 'its callId is not the one of tenant, run and toolCallId');
  }
  if (event.metadata.callId !== callId || event.metadata.tenant !== tenant) {
    return illegal('stream', 'its call or its tenant is not that of its stream');
  }
  const broken = notOfItself(data) ?? wrongDigest(event, data);
  if (broken !== undefined) return broken;
  return {
    ...{ kind: 'call', request: factsOf(event, data), permission: 'awaiting', wasAllowed: false },
    ...{ isJudged: false, queued: null, isShadowJudged: false, isCommitted: false },
    ...{ actionDigest: data.actionDigest, executeBy: null, approval: null, edits: [], nonces: [] },
    execution: { status: 'none', attempt: 0, claimedBy: null, leaseUntil: '', isLapsed: false },
  };
}

/** Attack: an event is shown under another run, tool or agent than that of its call. Filters and exports go by the headers. */
export function misnamedIn({ metadata }: JudgedEvent, { request: of }: CallState): Illegal | undefined {
  const { callId, tenant, runId, tool } = metadata;
  if (callId !== of.callId || tenant !== of.tenant) {
    return illegal('stream', 'its call or its tenant is not that of its stream');
  }
  const { toolCallId, toolName, agentId } = tool ?? of;
  const isOfTool = toolCallId === of.toolCallId && toolName === of.toolName && agentId === of.agentId;
  return runId === of.runId && isOfTool ? undefined : illegal('stream', 'its headers name another run, tool or agent');
}

/** Attack: a call is of the batch of others, which has begun, and runs although people denied a call of its own step. */
function notOfItself({ batchCallIds, callId }: Requested): Illegal | undefined {
  return batchCallIds.length === 0 || batchCallIds.includes(callId)
    ? undefined
    : illegal('request', 'the calls that it names as of its step are without itself');
}

/** Returns whether sealed values keep the judge from computing the digest. */
export function isHiddenRequest(event: JudgedEvent): boolean {
  return isSealedAt(event, '/arguments') || isSealedAt(event, '/salt');
}

function wrongDigest(event: JudgedEvent, data: Requested): Illegal | undefined {
  const { toolSchema, toolSchemaHash } = data;
  if (toolSchema !== null && toolSchemaHash !== digestOf(toolSchema) && !isInPlace(data)) {
    return illegal('digest', 'the hash of the tool schema is not that of the schema');
  }
  if (isHiddenRequest(event) || data.actionDigest === digestOfAction(data, data.arguments, data.salt)) return undefined;
  return illegal('digest', 'its action digest is not that of its arguments');
}

/** A schema that is too large to be recorded has another one in its place, which says nothing but that all is hidden. */
function isInPlace({ toolSchema, schemaNotes = [] }: Requested): boolean {
  const says = Object.keys(toolSchema ?? {}).filter((name) => name !== 'sensitive');
  return says.length === 0 && schemaNotes.some(({ pointer }) => pointer === '');
}

function factsOf(event: JudgedEvent, data: Requested): RequestFacts {
  const { callId, actionDigest, tenant, agentId, runId, toolCallId, toolName, toolSchemaHash } = data;
  const { batchMode, batchCallIds, requestedBy, requestedAt, labels } = data;
  const isHidden = isHiddenRequest(event);
  const isMember = batchMode === 'all-or-nothing' && batchCallIds.length > 1;
  return {
    ...{ callId, actionDigest, tenant, agentId, runId, toolCallId, toolName, toolSchemaHash },
    ...{ requestedBy, requestedAt, recordedAt: event.recordedAt, labels },
    salt: isHidden ? null : data.salt,
    argumentsDigest: isHidden ? null : digestOf({ arguments: data.arguments, toolName }),
    shown: shownOfRequest(event, data),
    requesters: requestersOf(data),
    ...{ batchMode, batchCallIds, needsApproval: data.needsApproval, parent: data.chain?.at(-1)?.callId ?? null },
    chainDigest: digestOf(data.chain ?? []),
    isSchemaWhole: data.toolSchema !== null && data.schemaNotes === undefined,
    clientExecuted: data.clientExecuted,
    idempotent: data.idempotent,
    batchStream: isMember ? batchStreamOf({ tenant, requestedBy, callIds: batchCallIds }) : null,
  };
}

/** Everybody whose request it is: the principals that asked, the owners of their agents, and the people for whom they act. */
function requestersOf(data: Requested): readonly string[] {
  const links = [data, ...(data.chain ?? [])];
  const people = links.flatMap(({ requestedBy, owner, onBehalfOf }) => [requestedBy, owner, onBehalfOf]);
  return [...new Set(people.filter((name) => name !== undefined).map(compared))];
}

/** The stream of an all-or-nothing batch: its members and who requested them make its name. */
export function batchStreamOf(batch: {
  readonly tenant: string;
  readonly requestedBy: string;
  readonly callIds: readonly string[];
}): string {
  return derivedName('batch-', [batch.tenant, batch.requestedBy, batch.callIds.toSorted()]);
}
