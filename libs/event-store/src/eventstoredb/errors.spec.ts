import { describe, expect, it } from '@jest/globals';
import { NoAnswerError, ReplacedError, meaningOf } from './errors.js';
import { ClosedChannelError } from './vendor-channels.js';

const typed = (type: string, message = ''): Error => Object.assign(new Error(message), { type });
const coded = (code: number | string, message = ''): Error => Object.assign(new Error(message), { code });

const unknown = { kind: 'unknown', timedOut: false };
const answeredLate = { kind: 'unknown', timedOut: false, answered: true };
const timedOut = { kind: 'unknown', timedOut: true };
const turnedAway = { kind: 'not-written', transient: true };
const refused = { kind: 'not-written', transient: false };

describe('the meaning of a client error', () => {
  it.each<[string, unknown, object]>([
    ['our own deadline', new NoAnswerError('no answer'), timedOut],
    ['another leader', typed('not-leader'), turnedAway],
    ['access denied', typed('access-denied'), refused],
    ['an append that is too large', typed('maximum-append-size-exceeded'), { kind: 'too-large' }],
    [
      'an event that is too large, unknown to the client',
      typed('unknown', 'Could not recognize MaximumAppendEventSizeExceeded'),
      { kind: 'too-large' },
    ],
    [
      'a message that is too large for gRPC',
      coded(8, '8 RESOURCE_EXHAUSTED: Received message larger than max'),
      { kind: 'too-large' },
    ],
    [
      'a place where no event begins',
      typed('unknown', '2 UNKNOWN: Unexpected ReadAllResult: InvalidPosition'),
      { kind: 'refused-question' },
    ],
    [
      'a subscription from there',
      Object.assign(typed('unknown', 'Trying to read from an invalid position.'), { code: 3 }),
      { kind: 'refused-question' },
    ],
    ['an argument that the server does not take', coded(3), { kind: 'refused-question' }],
    ['no such stream', typed('stream-not-found'), { kind: 'stream-not-found' }],
    ['a deleted stream', typed('stream-deleted'), { kind: 'stream-deleted' }],
    ["the server's own timeout", typed('timeout'), answeredLate],
    ["the server's own timeout, raw", coded(10), answeredLate],
    [
      'an append that is too large for the receiver of the server',
      typed('unknown', '8 RESOURCE_EXHAUSTED: Received message exceeds the maximum configured message size.'),
      { kind: 'too-large' },
    ],
    ['a connection that was closed before the call', new ClosedChannelError('closed'), turnedAway],
    ['a client that was replaced', new ReplacedError('replaced'), unknown],
    ['the deadline on the wire', typed('deadline-exceeded'), timedOut],
    ['a cancelled call', typed('cancelled'), unknown],
    ['a server that went away', typed('unavailable', '14 UNAVAILABLE: Connection dropped'), unknown],
    [
      'a server that is not there',
      typed('unavailable', '14 UNAVAILABLE: No connection established. Last error: connect ECONNREFUSED'),
      turnedAway,
    ],
    [
      'a name that does not resolve',
      typed('unavailable', '14 UNAVAILABLE: Name resolution failed for target dns:nowhere'),
      turnedAway,
    ],
    ['a busy server', typed('unavailable', '14 UNAVAILABLE: Server Is Busy'), turnedAway],
    ['a busy server, unknown to the client', typed('unknown', 'Could not recognize Server Is Busy'), turnedAway],
    ['a server that starts', typed('unknown', 'Could not recognize Server Is Not Ready'), turnedAway],
    ['something else unknown to the client', typed('unknown', 'Could not recognize Bad Request'), unknown],
    ['no cluster', new Error('Failed to discover after 10 attempts.'), turnedAway],
    ['a raw refusal', coded('ECONNREFUSED'), turnedAway],
    ['a raw deadline', coded(4), timedOut],
    ['a raw lack of rights', coded(7), refused],
    ['a raw lack of identity', coded(16), refused],
    ['a raw failure inside the server', coded(13), unknown],
    ['a mistake in the client', new TypeError('undefined is not iterable'), unknown],
    ['no error at all', 'text', unknown],
    ['nothing', undefined, unknown],
  ])('%s', (_, error, verdict) => {
    expect(meaningOf(error)).toEqual(verdict);
  });

  it.each([
    [5n, 5],
    ['no_stream', -1],
    [undefined, -1],
  ])('a conflict with a stream at %s', (actualVersion, actualRevision) => {
    const error = Object.assign(typed('wrong-expected-version'), { actualVersion });
    expect(meaningOf(error)).toEqual({ kind: 'conflict', actualRevision });
  });
});
