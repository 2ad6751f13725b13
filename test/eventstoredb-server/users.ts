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
import { nameOf } from './messages.ts';
import { failure } from './status-errors.ts';

/** `Users`: creating a user, reading its groups and setting a password; for admins. */
export function usersService(context: ServerContext) {
  return {
    create: (call: ServerUnaryCall<CreateReq, CreateResp>, answer: sendUnaryData<CreateResp>): void => {
      context.calls.push('Users/Create');
      const refusal = context.rights.refusalToManage(call.metadata);
      if (refusal !== undefined) return void answer(refusal);
      const options = call.request.getOptions()!;
      const name = options.getLoginName();
      if (context.rights.create(name, options.getPassword(), options.getGroupsList()))
        return void answer(null, new pb.CreateResp());
      answer(failure(status.ALREADY_EXISTS, `User '${name}' conflicts.`, { exception: 'user-conflict' }));
    },
    details: (call: ServerWritableStream<DetailsReq, DetailsResp>): void => {
      context.calls.push('Users/Details');
      const name = call.request.getOptions()!.getLoginName();
      const user = context.rights.find(name);
      const refusal = context.rights.refusalToManage(call.metadata) ?? (user === undefined ? notFound() : undefined);
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
      answer(notFound());
    },
  };
}

function notFound(): ServiceError {
  return failure(status.NOT_FOUND, 'User was not found.', { exception: 'user-not-found' });
}

/** `Delete` and `Tombstone` as far as rights go: this server deletes nothing. */
export function deletions(context: ServerContext) {
  const judge = (call: ServerUnaryCall<DeleteReq | TombstoneReq, unknown>): Error => {
    const options = call.request.getOptions()!;
    const stream = nameOf(options.getStreamIdentifier());
    const refusal = context.rights.refusal(call.metadata, '$d', stream);
    if (refusal !== undefined) return refusal;
    if (!options.hasRevision() || Number(options.getRevision()) === context.log.revisionOf(stream))
      return failure(status.UNIMPLEMENTED, 'this server deletes nothing');
    return failure(status.FAILED_PRECONDITION, 'Append failed due to WrongExpectedVersion.', {
      exception: 'wrong-expected-version',
    });
  };
  return {
    delete: (call: ServerUnaryCall<DeleteReq, DeleteResp>, answer: sendUnaryData<DeleteResp>): void => {
      context.calls.push('Streams/Delete');
      answer(judge(call), new streamsPb.DeleteResp());
    },
    tombstone: (call: ServerUnaryCall<TombstoneReq, TombstoneResp>, answer: sendUnaryData<TombstoneResp>): void => {
      context.calls.push('Streams/Tombstone');
      answer(judge(call), new streamsPb.TombstoneResp());
    },
  };
}
