import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import type { sendUnaryData, ServerDuplexStream, ServerReadableStream, ServiceError } from '@grpc/grpc-js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerContext } from './context.ts';
import type { AppendFault } from './faults.ts';
import type { Expected, ProposedEvent, Written } from './log.ts';
import {
  appendAnswer,
  batchAnswer,
  batchError,
  batchResult,
  emptyAppendAnswer,
  expectedBy,
  expectedByBatch,
  nameOf,
  proposedIn,
  textOf,
} from './messages.ts';
import { commitTimeout, failure, failureOf, notLeading, streamDeleted, tooLarge } from './status-errors.ts';

const defaultMaxAppendBytes = 1024 * 1024;

interface Proposal {
  readonly stream: string;
  readonly expected: Expected;
  readonly events: readonly ProposedEvent[];
}

/** `Append`: one call per write. */
export function append(context: ServerContext) {
  return (call: ServerReadableStream<AppendReq, AppendResp>, answer: sendUnaryData<AppendResp>): void => {
    context.calls.push('Streams/Append');
    const events: ProposedEvent[] = [];
    let options: AppendReq.Options | undefined;
    call.on('data', (message: AppendReq) => {
      if (message.hasOptions()) options = message.getOptions();
      else events.push(proposedIn(message.getProposedMessage()));
    });
    call.on('error', () => undefined);
    const isForLeader = call.metadata.get('requires-leader').includes('true');
    call.on('end', () => {
      // The stream also ends when the client is killed half-way, and only then is the call cancelled.
      setImmediate(complete);
    });
    const complete = (): void => {
      // A call that the client gave up before it was complete is no append.
      if (call.cancelled || options === undefined) return;
      const proposal = { stream: nameOf(options.getStreamIdentifier()), expected: expectedBy(options), events };
      const refusal = context.rights.refusal(call.metadata, '$w', proposal.stream);
      if (refusal !== undefined) return void answer(refusal);
      void answerAppend(context, proposal, isForLeader, answer);
    };
  };
}

async function answerAppend(
  context: ServerContext,
  proposal: Proposal,
  isForLeader: boolean,
  answer: sendUnaryData<AppendResp>,
): Promise<void> {
  const { faults, membership } = context;
  const fault = faults.take('append');
  await latency(context);
  await membership.thawed();
  const leader = membership.leader();
  if (leader === undefined || (isForLeader && leader !== context.port())) return void answer(notLeading(leader));
  const refusal = failureOf(fault, faults.current()) ?? refusalOf(context, proposal);
  if (refusal === undefined && !(await untilCommitted(context, proposal))) return void answer(commitTimeout());
  const written = isWritten(fault, refusal) ? write(context, proposal, fault) : undefined;
  if (fault === 'hang' || fault === 'write-then-hang') return;
  if (refusal !== undefined) answer(refusal);
  else if (fault === 'half-close' || written === undefined) answer(null, emptyAppendAnswer());
  else answer(null, appendAnswer(written, proposal.expected));
}

/** `BatchAppend`: one call for all writes of a client, with responses as they complete. */
export function batchAppend(context: ServerContext) {
  return (call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>): void => {
    context.calls.push('Streams/BatchAppend');
    const open = new Map<string, { options: BatchAppendReq.Options | undefined; events: ProposedEvent[] }>();
    call.on('data', (message: BatchAppendReq) => {
      const id = textOf(message.getCorrelationId());
      const batch = open.get(id) ?? { options: message.getOptions(), events: [] };
      open.set(id, batch);
      batch.events.push(...message.getProposedMessagesList().map(proposedIn));
      if (!message.getIsFinal() || batch.options === undefined) return;
      open.delete(id);
      void answerBatch(context, call, id, batch.options, batch.events);
    });
    call.on('end', () => call.end());
    call.on('error', () => undefined);
  };
}

async function answerBatch(
  context: ServerContext,
  call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>,
  id: string,
  options: BatchAppendReq.Options,
  events: readonly ProposedEvent[],
): Promise<void> {
  const proposal = { stream: nameOf(options.getStreamIdentifier()), expected: expectedByBatch(options), events };
  const fault = context.faults.take('append');
  await latency(context);
  const answer = batchAnswer(id, proposal.stream);
  if (context.rights.refusal(call.metadata, '$w', proposal.stream) !== undefined) {
    const none = new shared.Empty().serializeBinary();
    call.write(batchError(answer, 'event_store.client.AccessDenied', none, 'Access Denied'));
    return;
  }
  if (fault === 'half-close') return void call.end();
  // The deadline is a moment on the client's clock, compared with the server's own.
  const deadlineMs = options.getDeadline()?.toDate().getTime() ?? Infinity;
  if (fault === 'timeout' || deadlineMs <= context.now()) {
    call.write(batchError(answer, 'event_store.client.Timeout', new shared.Timeout().serializeBinary()));
    return;
  }
  if (fault === 'busy' || fault === 'not-ready') {
    const message = fault === 'busy' ? 'Server Is Busy' : 'Server Is Not Ready';
    call.write(batchError(answer, 'google.protobuf.Empty', new shared.Empty().serializeBinary(), message));
    return;
  }
  const refusal = failureOf(fault, context.faults.current()) ?? refusalOf(context, proposal);
  if (refusal === undefined && !(await untilCommitted(context, proposal))) {
    // The same error as of `Append`, without its text.
    call.write(batchError(answer, 'event_store.client.Timeout', new shared.Timeout().serializeBinary(), ''));
    return;
  }
  const written = isWritten(fault, refusal) ? write(context, proposal, fault) : undefined;
  if (fault === 'hang' || fault === 'write-then-hang') return;
  if (refusal !== undefined) call.emit('error', refusal);
  else if (written !== undefined) call.write(batchResult(answer, written, fault !== 'no-details'));
}

function isWritten(fault: AppendFault | undefined, refusal: ServiceError | undefined): boolean {
  if (fault === 'write-then-cut' || fault === 'write-then-hang') return true;
  return refusal === undefined && fault !== 'hang' && fault !== 'half-close';
}

function write(
  context: ServerContext,
  { stream, expected, events }: Proposal,
  fault: AppendFault | undefined,
): Written {
  const options = { createdMs: context.now(), recognisesRepeats: fault !== 'forgetful' };
  const written = context.log.append(stream, expected, events, options);
  for (const subscription of context.subscriptions) subscription.wake();
  return written;
}

function refusalOf(context: ServerContext, { stream, events }: Proposal): ServiceError | undefined {
  return context.log.isTombstoned(stream) ? streamDeleted(stream) : sizeError(context, events);
}

function sizeError({ faults }: ServerContext, events: readonly ProposedEvent[]): ServiceError | undefined {
  const maxBytes = faults.current().maxAppendBytes ?? defaultMaxAppendBytes;
  const bytes = events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
  if (events.some(({ id }) => id === '')) return failure(status.INVALID_ARGUMENT, 'an event without an id');
  return bytes > maxBytes ? tooLarge(maxBytes) : undefined;
}

/**
 * Waits for the duration of a commit. Returns false for a duplicate of an append in flight, when its caller has waited.
 */
async function untilCommitted(
  { faults, onTheirWay }: ServerContext,
  { stream, expected, events }: Proposal,
): Promise<boolean> {
  const { commitMs = 0, dropMs = 2000 } = faults.current();
  if (commitMs === 0) return true;
  const key = [stream, expected, ...events.map(({ id }) => id)].join(' ');
  if (onTheirWay.has(key)) {
    await delay(dropMs, undefined, { ref: false });
    return false;
  }
  onTheirWay.add(key);
  await delay(commitMs);
  onTheirWay.delete(key);
  return true;
}

async function latency({ faults }: ServerContext): Promise<void> {
  const { latencyMs = 0 } = faults.current();
  if (latencyMs > 0) await delay(latencyMs);
}
