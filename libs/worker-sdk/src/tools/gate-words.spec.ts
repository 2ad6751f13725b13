import { expect, it } from '@jest/globals';
import { approvalUrl, gateRemedy, withRemedy } from './gate-words.js';

it.each(['http://127.0.0.1:7400', 'http://127.0.0.1:7400/'])('the address of an approval at %s', (inboxUrl) => {
  expect(approvalUrl(inboxUrl, 'a 1')).toBe('http://127.0.0.1:7400/approvals/a%201');
});

it.each([
  ['unreachable', 'Start Countersign'],
  ['forbidden', 'COUNTERSIGN_RESOLVER_TOKEN'],
  ['forbidden', '--agent'],
  ['forbidden', 'agentIds'],
  ['not-found', 'both of one tenant'],
  ['payload-too-large', 'If its run is too large'],
  ['http-301', 'Set COUNTERSIGN_URL'],
  ['http-404', 'Set COUNTERSIGN_URL'],
  ['unreadable-response', 'Set COUNTERSIGN_URL'],
  ['http-502', 'Ask the operator'],
  ['tool-call-mismatch', 'Correct the call'],
  ['internal-error', 'Ask the operator'],
])('the remedy for %s', (code, words) => {
  expect(gateRemedy(code)).toContain(words);
});

it.each(['It failed', 'It failed.'])('a cause and its remedy are two sentences: %s', (cause) => {
  expect(withRemedy(cause, 'Try again.')).toBe('It failed. Try again.');
});

it('a cause that is a question keeps its mark', () => {
  expect(withRemedy('Is the URL right?', 'Try again.')).toBe('Is the URL right? Try again.');
});
