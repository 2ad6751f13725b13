import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import type { ServerWritableStream } from '@grpc/grpc-js';
import pb from '@eventstore/db-client/generated/streams_pb.js';
import type { ReadReq, ReadResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerContext } from './context.ts';
import type { Direction, StoredEvent } from './log.ts';
import { caughtUp, checkpoint, confirmation, eventAnswer, nameOf, notFoundAnswer } from './messages.ts';
import { failure, failureOf, invalidPlace, invalidStart, notLeading, streamDeleted } from './status-errors.ts';

type ReadCall = ServerWritableStream<ReadReq, ReadResp>;

const pageSize = 200;
const backwards = pb.ReadReq.Options.ReadDirection.BACKWARDS;
const last = Number.MAX_SAFE_INTEGER;

/** `Read`: of a stream or of `$all`, once or as a subscription. */
export function read(context: ServerContext) {
  return (call: ReadCall): void => {
    const options = call.request.getOptions();
    call.on('error', () => undefined);
    if (options === undefined) return void call.emit('error', failure(status.INVALID_ARGUMENT, 'no options'));
    const stream = options.hasAll() ? undefined : nameOf(options.getStream()?.getStreamIdentifier());
    const isSubscription = options.hasSubscription();
    context.calls.push(`Streams/Read ${stream ?? '$all'}${isSubscription ? ' subscription' : ''}`);
    const refusal = context.rights.refusal(call.metadata, '$r', stream ?? '$all');
    if (refusal !== undefined) return void call.emit('error', refusal);
    if (!isSubscription) void readOnce(context, call, options, stream);
    else if (stream === undefined) subscribeToAll(context, call, options);
    else call.emit('error', failure(status.UNIMPLEMENTED, 'this server has subscriptions to $all only'));
  };
}

async function readOnce(
  context: ServerContext,
  call: ReadCall,
  options: ReadReq.Options,
  stream: string | undefined,
): Promise<void> {
  const fault = context.faults.take('read');
  const { latencyMs = 0 } = context.faults.current();
  if (latencyMs > 0) await delay(latencyMs);
  if (fault === 'hang') return;
  await context.membership.thawed();
  const leader = context.membership.leader();
  const isForLeader = call.metadata.get('requires-leader').includes('true');
  if (isForLeader && leader !== context.port()) return void call.emit('error', notLeading(leader));
  const error = failureOf(fault, context.faults.current());
  if (error !== undefined) return void call.emit('error', error);
  if (stream !== undefined && context.log.isTombstoned(stream)) return void call.emit('error', streamDeleted(stream));
  if (stream !== undefined && !context.log.isFound(stream)) {
    call.write(notFoundAnswer(stream));
    call.end();
    return;
  }
  const count = Math.min(Number(options.getCount()), last);
  const direction: Direction = options.getReadDirection() === backwards ? 'backwards' : 'forwards';
  const place = stream === undefined ? placeIn(options) : undefined;
  if (place !== undefined && !isReadableFrom(context, place, direction))
    return void call.emit(
      'error',
      invalidPlace(direction === 'backwards' && place > context.log.end() ? 'Error' : 'InvalidPosition'),
    );
  for (const event of found(context, options, stream, direction, count)) {
    call.write(eventAnswer(event));
    if (fault === 'hang-midway') return;
  }
  call.end();
}

function found(
  { log }: ServerContext,
  options: ReadReq.Options,
  stream: string | undefined,
  direction: Direction,
  count: number,
): readonly StoredEvent[] {
  if (stream === undefined) return log.readAll(positionIn(options, direction), direction, count);
  const from = options.getStream();
  const revision = from?.hasRevision() === true ? Number(from.getRevision()) : from?.hasEnd() === true ? last : 0;
  return log.readStream(stream, revision, direction, count);
}

function positionIn(options: ReadReq.Options, direction: Direction): number {
  return placeIn(options) ?? (options.getAll()?.hasEnd() === true || direction === 'backwards' ? last : 0);
}

/** The place in `$all` that the client names; undefined: its start or its end. */
function placeIn(options: ReadReq.Options): number | undefined {
  const all = options.getAll();
  return all?.hasPosition() === true ? Number(all.getPosition()?.getCommitPosition()) : undefined;
}

/** A real server reads `$all` from where an event begins, from 0 and, forwards, from behind the end; from nowhere else. */
function isReadableFrom({ log }: ServerContext, place: number, direction: Direction): boolean {
  return place === 0 || log.isPlace(place) || (direction === 'forwards' && place > log.end());
}

function subscribeToAll(context: ServerContext, call: ReadCall, options: ReadReq.Options): void {
  const fault = context.faults.take('subscriptions');
  if (fault === 'refused') {
    call.emit('error', failure(status.UNAVAILABLE, 'no subscriptions now'));
    return;
  }
  const isOurs = filterOf(options);
  const filter = options.getFilter();
  const skippedMax = (filter?.getMax() || 32) * (filter?.getCheckpointintervalmultiplier() || 1);
  const place = placeIn(options);
  if (place !== undefined && !isReadableFrom(context, place, 'forwards')) {
    call.write(confirmation(randomUUID()));
    return void call.emit('error', invalidStart());
  }
  // Reads begin at their position, subscriptions after it.
  let next = place === undefined ? 0 : place + 1;
  if (fault === 'from-the-start') next = 0;
  if (options.getAll()?.hasEnd() === true) next = context.log.end() + 1;
  let [skipped, isBlocked, hasCaughtUp] = [0, false, fault === 'without-caught-up'];

  /** False when the client accepts no more for now. */
  const send = (event: StoredEvent): boolean => {
    if (isOurs(event)) {
      skipped = 0;
      return call.write(eventAnswer(event));
    }
    skipped += 1;
    if (skipped < skippedMax) return true;
    skipped = 0;
    return call.write(checkpoint(event.position));
  };
  const pump = (): void => {
    // Also a running subscription ends when its user was disabled, or has another password by now.
    const refusal = context.rights.refusal(call.metadata, '$r', '$all');
    if (refusal !== undefined) return void call.emit('error', refusal);
    while (!isBlocked && !call.cancelled && !context.membership.isFrozen()) {
      const page = context.log.readAll(next, 'forwards', pageSize);
      for (const event of page) {
        next = event.position + 1;
        if (send(event)) continue;
        isBlocked = true;
        call.once('drain', () => {
          isBlocked = false;
          pump();
        });
        return;
      }
      if (page.length === 0) break;
    }
    if (hasCaughtUp || isBlocked || call.cancelled) return;
    hasCaughtUp = true;
    call.write(caughtUp());
  };
  const subscription = {
    wake: () => setImmediate(pump),
    drop: () => void call.emit('error', failure(status.CANCELLED, 'the server dropped the subscription')),
  };
  call.write(confirmation(randomUUID()));
  if (fault === 'silent') return;
  context.subscriptions.add(subscription);
  call.on('cancelled', () => context.subscriptions.delete(subscription));
  call.on('close', () => context.subscriptions.delete(subscription));
  pump();
}

function filterOf(options: ReadReq.Options): (event: StoredEvent) => boolean {
  const filter = options.getFilter();
  const expression = filter?.getStreamIdentifier() ?? filter?.getEventType();
  if (expression === undefined) return () => true;
  const value = (event: StoredEvent): string => (filter?.hasStreamIdentifier() === true ? event.stream : event.type);
  const regex = expression.getRegex() === '' ? undefined : new RegExp(expression.getRegex());
  const prefixes = expression.getPrefixList();
  return (event) => regex?.test(value(event)) ?? prefixes.some((prefix) => value(event).startsWith(prefix));
}
