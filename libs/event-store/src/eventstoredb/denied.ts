import { status } from '@grpc/grpc-js';

const needed = 'do this; it needs the right to read $all, and to append to streams and read them';
const wrongUser =
  'the name or the password of the connection string is wrong, or the user is disabled. ' +
  'Correct COUNTERSIGN_EVENTSTORE_URL, enable the user, or set its password with: countersign store secure';

/** Why a call failed. For denied access: what is missing, and the command that helps. */
export function whyOf(error: unknown, right = needed): string {
  if (!(error instanceof Error)) return String(error);
  if (!('type' in error) || error.type !== 'access-denied') return error.message;
  const { code } = error as { readonly code?: unknown };
  if (code === status.UNAUTHENTICATED) return `the event store refuses the user: ${wrongUser}`;
  const noRight = `${error.message}: the service's user may not ${right}. Grant it with: countersign store secure`;
  // The reads of Kurrent's client do not say which of both it is.
  return code === undefined ? `${noRight}. Or ${wrongUser}` : noRight;
}
