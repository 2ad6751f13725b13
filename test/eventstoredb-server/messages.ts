// The protocol's messages, encoded and decoded. Their shapes follow the definitions of the vendor's client.
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import anyPb from 'google-protobuf/google/protobuf/any_pb.js';
import pb from '@eventstore/db-client/generated/streams_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import status from '@eventstore/db-client/generated/status_pb.js';
import type {
  AppendReq,
  AppendResp,
  BatchAppendReq,
  BatchAppendResp,
  ReadResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { StreamIdentifier, UUID } from '@eventstore/db-client/generated/shared_pb.js';
import { tombstoneRevision } from './log.ts';
import type { Expected, ProposedEvent, StoredEvent, Written } from './log.ts';

/** .NET counts time in ticks of 100 ns. */
const ticksPerMs = 10_000n;

/** The text form of an id, however it was sent. */
export function textOf(id: UUID | undefined): string {
  if (id === undefined) return '';
  if (id.hasString()) return id.getString();
  const parts = id.getStructured();
  const hex = [parts?.getMostSignificantBits(), parts?.getLeastSignificantBits()]
    .map((part) =>
      BigInt.asUintN(64, BigInt(part ?? 0))
        .toString(16)
        .padStart(16, '0'),
    )
    .join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** An id as a message. */
export function uuid(text: string): UUID {
  const id = new shared.UUID();
  id.setString(text);
  return id;
}

/** The name in a stream identifier. */
export function nameOf(identifier: StreamIdentifier | undefined): string {
  return Buffer.from(identifier?.getStreamName_asU8() ?? []).toString();
}

function identifier(name: string): StreamIdentifier {
  const message = new shared.StreamIdentifier();
  message.setStreamName(Buffer.from(name).toString('base64'));
  return message;
}

/** The event in a proposal. */
export function proposedIn(
  message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage | undefined,
): ProposedEvent {
  const metadata = message?.getMetadataMap();
  return {
    id: textOf(message?.getId()),
    type: metadata?.get('type') ?? '',
    contentType: metadata?.get('content-type') ?? 'application/octet-stream',
    data: message?.getData_asU8() ?? new Uint8Array(),
    metadata: message?.getCustomMetadata_asU8() ?? new Uint8Array(),
  };
}

/** The revision that an append expects. */
export function expectedBy(options: AppendReq.Options): Expected {
  if (options.hasRevision()) return Number(options.getRevision());
  return options.hasNoStream() ? 'no-stream' : options.hasStreamExists() ? 'stream-exists' : 'any';
}

/** The revision that a batch append expects. */
export function expectedByBatch(options: BatchAppendReq.Options): Expected {
  if (options.hasStreamPosition()) return Number(options.getStreamPosition());
  return options.hasNoStream() ? 'no-stream' : options.hasStreamExists() ? 'stream-exists' : 'any';
}

/** The response to an append. */
export function appendAnswer(written: Written, expected: Expected): AppendResp {
  const answer = new pb.AppendResp();
  if (written.status === 'written') {
    const success = new pb.AppendResp.Success();
    success.setCurrentRevision(String(written.revision));
    const position = new pb.AppendResp.Position();
    position.setCommitPosition(String(written.position));
    position.setPreparePosition(String(written.position));
    success.setPosition(position);
    answer.setSuccess(success);
    return answer;
  }
  const conflict = new pb.AppendResp.WrongExpectedVersion();
  if (written.current < 0) conflict.setCurrentNoStream(new shared.Empty());
  else conflict.setCurrentRevision(String(written.current));
  if (typeof expected === 'number') conflict.setExpectedRevision(String(expected));
  else if (expected === 'no-stream') conflict.setExpectedNoStream(new shared.Empty());
  else if (expected === 'stream-exists') conflict.setExpectedStreamExists(new shared.Empty());
  else conflict.setExpectedAny(new shared.Empty());
  answer.setWrongExpectedVersion(conflict);
  return answer;
}

/** A response without success or failure. */
export function emptyAppendAnswer(): AppendResp {
  return new pb.AppendResp();
}

/** The response to a batch append; a client recognises an error by `details`. */
export function batchAnswer(correlationId: string, stream: string): BatchAppendResp {
  const answer = new pb.BatchAppendResp();
  answer.setCorrelationId(uuid(correlationId));
  answer.setStreamIdentifier(identifier(stream));
  return answer;
}

/** The same with a result. */
export function batchResult(answer: BatchAppendResp, written: Written, withDetails: boolean): BatchAppendResp {
  if (written.status === 'written') {
    const success = new pb.BatchAppendResp.Success();
    success.setCurrentRevision(String(written.revision));
    const position = new shared.AllStreamPosition();
    position.setCommitPosition(String(written.position));
    position.setPreparePosition(String(written.position));
    success.setPosition(position);
    answer.setSuccess(success);
    return answer;
  }
  const conflict = new shared.WrongExpectedVersion();
  if (written.current < 0) conflict.setCurrentNoStream(new empty.Empty());
  else conflict.setCurrentStreamRevision(String(written.current));
  return batchError(
    answer,
    'event_store.client.WrongExpectedVersion',
    withDetails ? conflict.serializeBinary() : undefined,
  );
}

/** The same with an error, by the full name of its details' type. */
export function batchError(
  answer: BatchAppendResp,
  type: string,
  details: Uint8Array | undefined,
  message = type,
): BatchAppendResp {
  const error = new status.Status();
  error.setMessage(message);
  if (details !== undefined) {
    const packed = new anyPb.Any();
    packed.pack(details, type);
    error.setDetails(packed);
  }
  answer.setError(error);
  return answer;
}

/** An event on its way to a reader. */
export function eventAnswer(event: StoredEvent): ReadResp {
  const recorded = new pb.ReadResp.ReadEvent.RecordedEvent();
  recorded.setId(uuid(event.id));
  recorded.setStreamIdentifier(identifier(event.stream));
  recorded.setStreamRevision(event.revision === tombstoneRevision ? '9223372036854775807' : String(event.revision));
  recorded.setCommitPosition(String(event.position));
  recorded.setPreparePosition(String(event.position));
  recorded.getMetadataMap().set('type', event.type);
  recorded.getMetadataMap().set('content-type', event.contentType);
  recorded.getMetadataMap().set('created', String(BigInt(event.createdMs) * ticksPerMs));
  recorded.setCustomMetadata(event.metadata);
  recorded.setData(event.data);
  const message = new pb.ReadResp.ReadEvent();
  message.setEvent(recorded);
  message.setCommitPosition(String(event.position));
  const answer = new pb.ReadResp();
  answer.setEvent(message);
  return answer;
}

/** The response to a read of a missing stream. */
export function notFoundAnswer(stream: string): ReadResp {
  const notFound = new pb.ReadResp.StreamNotFound();
  notFound.setStreamIdentifier(identifier(stream));
  const answer = new pb.ReadResp();
  answer.setStreamNotFound(notFound);
  return answer;
}

/** The first message of a subscription. */
export function confirmation(id: string): ReadResp {
  const confirmed = new pb.ReadResp.SubscriptionConfirmation();
  confirmed.setSubscriptionId(id);
  const answer = new pb.ReadResp();
  answer.setConfirmation(confirmed);
  return answer;
}

/** Reports the checkpoint of a filtered subscription. */
export function checkpoint(position: number): ReadResp {
  const reached = new pb.ReadResp.Checkpoint();
  reached.setCommitPosition(String(position));
  reached.setPreparePosition(String(position));
  const answer = new pb.ReadResp();
  answer.setCheckpoint(reached);
  return answer;
}

/** Reports that a subscription has caught up. */
export function caughtUp(): ReadResp {
  const answer = new pb.ReadResp();
  answer.setCaughtUp(new pb.ReadResp.CaughtUp());
  return answer;
}
