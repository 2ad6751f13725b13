import { expect, it } from '@jest/globals';
import { answerWords } from './response-port.js';

it.each([
  [
    'a card that expired',
    'expired',
    'The approval has expired.',
    'This approval request has expired. If people were asked again, the newer card counts.',
  ],
  [
    'a card of a cancelled call',
    'already-resolved',
    'The tool call was cancelled.',
    'The tool call was cancelled. Nothing is left to answer.',
  ],
  [
    'a second answer of the same person',
    'already-voted',
    'You have already answered this; withdraw your answer first.',
    'Not recorded: You have already answered this; withdraw your answer first. Answers are withdrawn in the inbox.',
  ],
  [
    'a press that comes again after a withdrawal',
    'idempotency-key-reused',
    'The response of this idempotency key was withdrawn',
    'This press was used before, and its answer does not stand: press again to answer.',
  ],
])('says what became of %s', (_, code, detail, words) => {
  expect(answerWords({ status: 'refused', code, detail }, 'deny')).toBe(words);
});

it('says that a call waits for others after the first of several answers, and only then that it is decided', () => {
  expect(answerWords({ status: 'recorded', isWaiting: true }, 'approve')).toBe('Recorded: it waits for others.');
  expect(answerWords({ status: 'recorded' }, 'approve')).toBe('Approved.');
  expect(answerWords({ status: 'recorded' }, 'deny')).toBe('Denied.');
});

it.each(['already-voted', 'already-resolved', 'forbidden'])('fits in a reply with a long name: %s', (code) => {
  const words = answerWords({ status: 'refused', code, detail: 'n'.repeat(500) }, 'approve');
  expect(words.length).toBeLessThanOrEqual(190);
});
