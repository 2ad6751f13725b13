import { randomUUID } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import type { sendUnaryData, ServiceError, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import pb from '@eventstore/db-client/generated/users_pb.js';
import type {
  CreateReq,
  CreateResp,
  DetailsReq,
  DetailsResp,
  ResetPasswordReq,
  ResetPasswordResp,
} from '@eventstore/db-client/generated/users_pb.js';
import streamsPb from '@eventstore/db-client/generated/streams_pb.js';
import type { DeleteReq, DeleteResp, TombstoneReq, TombstoneResp } from '@eventstore/db-client/generated/streams_pb.js';
import type { ServerContext } from './context.ts';
import type { ServerLog } from './log.ts';
import { nameOf } from './messages.ts';
import { deletedSoftly } from './retention.ts';
import { failure, streamDeleted } from './status-errors.ts';

/** `Users`: creating a user, reading its groups and setting a password; for admins. */
export function usersService(context: ServerContext) {
  return {
    create: (call: ServerUnaryCall<CreateReq, CreateResp>, answer: sendUnaryData<CreateResp>): void => {
      context.calls.push('Users/Create');
      const refusal = context.rights.refusalToManage(call.metadata);
      if (refusal !== undefined) return void answer(refusal);
      const options = call.request.getOptions()!;
      const name = options.getLoginName();
      const isNew = context.rights.create(name, options.getPassword(), options.getGroupsList());
      // With the same password it is a repeat, whatever the groups are, and also for a disabled user.
      if (isNew || context.rights.find(name)?.password === options.getPassword())
        return void answer(null, new pb.CreateResp());
      answer(failure(status.FAILED_PRECONDITION, 'Conflict.', { exception: 'user-conflict', 'login-name': name }));
    },
    details: (call: ServerWritableStream<DetailsReq, DetailsResp>): void => {
      context.calls.push('Users/Details');
      const name = call.request.getOptions()!.getLoginName();
      const user = context.rights.find(name);
      const refusal =
        context.rights.refusalToManage(call.metadata) ?? (user === undefined ? notFound(name) : undefined);
      if (refusal !== undefined) return void call.emit('error', refusal);
      const details = new pb.DetailsResp.UserDetails();
      details.setLoginName(name);
      details.setFullName(name);
      details.setGroupsList([...user!.groups]);
      details.setDisabled(user!.isDisabled === true);
      call.write(new pb.DetailsResp().setUserDetails(details));
      call.end();
    },
    resetPassword: (
      call: ServerUnaryCall<ResetPasswordReq, ResetPasswordResp>,
      answer: sendUnaryData<ResetPasswordResp>,
    ): void => {
      context.calls.push('Users/ResetPassword');
      const refusal = context.rights.refusalToManage(call.metadata);
      if (refusal !== undefined) return void answer(refusal);
      const options = call.request.getOptions()!;
      if (context.rights.setPassword(options.getLoginName(), options.getNewPassword()))
        return void answer(null, new pb.ResetPasswordResp());
      answer(notFound(options.getLoginName()));
    },
  };
}

function notFound(name: string): ServiceError {
  return failure(status.NOT_FOUND, `User '${name}' is not found.`, { exception: 'user-not-found', 'login-name': name });
}

/** `Delete`, which hides what a stream has, and `Tombstone`, which ends it for good. */
export function deletions(context: ServerContext) {
  const { log, rights } = context;
  const refusalOf = (call: ServerUnaryCall<DeleteReq | TombstoneReq, unknown>, stream: string): Error | undefined => {
    const options = call.request.getOptions()!;
    const refusal = rights.refusal(call.metadata, '$d', stream);
    if (refusal !== undefined) return refusal;
    if (log.isTombstoned(stream)) return streamDeleted(stream);
    if (!options.hasRevision() || Number(options.getRevision()) === log.revisionOf(stream)) return undefined;
    return failure(status.FAILED_PRECONDITION, 'Append failed due to WrongExpectedVersion.', {
      exception: 'wrong-expected-version',
    });
  };
  const written = (): void => {
    for (const subscription of context.subscriptions) subscription.wake();
  };
  return {
    delete: (call: ServerUnaryCall<DeleteReq, DeleteResp>, answer: sendUnaryData<DeleteResp>): void => {
      context.calls.push('Streams/Delete');
      const stream = nameOf(call.request.getOptions()!.getStreamIdentifier());
      const refusal = refusalOf(call, stream);
      if (refusal !== undefined) return void answer(refusal);
      deleteSoftly(log, stream, context.now());
      written();
      answer(null, new streamsPb.DeleteResp());
    },
    tombstone: (call: ServerUnaryCall<TombstoneReq, TombstoneResp>, answer: sendUnaryData<TombstoneResp>): void => {
      context.calls.push('Streams/Tombstone');
      const stream = nameOf(call.request.getOptions()!.getStreamIdentifier());
      const refusal = refusalOf(call, stream);
      if (refusal !== undefined) return void answer(refusal);
      log.tombstone(stream, context.now());
      written();
      answer(null, new streamsPb.TombstoneResp());
    },
  };
}

/** Writes the metadata of a stream that hide all that it has so far. */
export function deleteSoftly(log: ServerLog, stream: string, createdMs: number): void {
  const event = {
    id: randomUUID(),
    type: '$metadata',
    contentType: 'application/json',
    data: Buffer.from(`{"$tb":${deletedSoftly}}`),
    metadata: new Uint8Array(),
  };
  log.append(`$$${stream}`, 'any', [event], { createdMs, recognisesRepeats: true });
}
