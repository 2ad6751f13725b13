import { Metadata, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import type { AppendFault, Faults, ReadFault } from './faults.ts';

/** The status of a failed call: a gRPC code, the text, and the trailers that the vendor's client reads. */
export function failure(code: status, details: string, trailers: Readonly<Record<string, string>> = {}): ServiceError {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, value);
  return Object.assign(new Error(details), { name: 'ServiceError', code, details, metadata });
}

/** The failures that the server itself reports, as it words them. */
export function failureOf(fault: AppendFault | ReadFault | undefined, faults: Faults): ServiceError | undefined {
  switch (fault) {
    case 'not-leader': {
      const { host, port } = faults.leader ?? { host: '127.0.0.1', port: 1 };
      return failure(status.NOT_FOUND, `Leader info available (${host}:${port})`, {
        exception: 'not-leader',
        'leader-endpoint-host': host,
        'leader-endpoint-port': String(port),
      });
    }
    case 'timeout':
      return commitTimeout();
    case 'busy':
      return failure(status.UNAVAILABLE, 'Server Is Busy');
    case 'not-ready':
      return failure(status.UNAVAILABLE, 'Server Is Not Ready');
    case 'access-denied':
      return failure(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' });
    case 'stream-deleted':
      return streamDeleted('gone');
    case 'internal':
      return failure(status.INTERNAL, 'Unexpected error');
    case 'cancelled':
      return failure(status.CANCELLED, 'the server cancelled it');
    case 'unavailable':
    case 'cut':
    case 'write-then-cut':
      return failure(status.UNAVAILABLE, 'Connection dropped');
    default:
      return undefined;
  }
}

/** The server waited for a commit in vain, or dropped a repeat of an append that was on its way. */
export function commitTimeout(): ServiceError {
  return failure(status.ABORTED, 'Operation timed out: Commit phase timeout.');
}

/** The error of a server that is not the leader: the leader's address, or that there is none. */
export function notLeading(leader: number | undefined): ServiceError {
  return leader === undefined
    ? failure(status.UNAVAILABLE, 'Server Is Not Ready')
    : failureOf('not-leader', { leader: { host: '127.0.0.1', port: leader } })!;
}

/** An append that is larger than the server accepts. */
export function tooLarge(maxBytes: number): ServiceError {
  return failure(status.INVALID_ARGUMENT, `Maximum Append Size of ${maxBytes} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(maxBytes),
  });
}

/** A read or an append of a stream that has a tombstone. */
export function streamDeleted(stream: string): ServiceError {
  return failure(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  });
}

/** A read of `$all` from a place where no event begins. */
export function invalidPlace(result: 'InvalidPosition' | 'Error'): ServiceError {
  return failure(status.UNKNOWN, `Unexpected ReadAllResult: ${result}`);
}

/** The end of a subscription to `$all` that was to begin at such a place. */
export function invalidStart(): ServiceError {
  return failure(status.INVALID_ARGUMENT, 'Trying to read from an invalid position.');
}
