import { MessageTooLargeError } from '../message-bus.js';
import { BusUnavailableError, toBusError } from './bus-errors.js';

/** The client's error: the broker's response, wrapped by its retry layer. */
function refusal(type: string): Error {
  return new Error('tried again', { cause: Object.assign(new Error('refused'), { type }) });
}

describe('a message that the broker refuses', () => {
  it.each(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])('is too large for good after %s', (type) => {
    expect(toBusError(refusal(type), 'not published')).toBeInstanceOf(MessageTooLargeError);
  });

  it('may pass after any other answer', () => {
    expect(toBusError(refusal('NOT_ENOUGH_REPLICAS'), 'not published')).toBeInstanceOf(BusUnavailableError);
  });
});
