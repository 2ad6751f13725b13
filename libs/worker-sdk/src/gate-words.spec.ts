import { expect, it } from '@jest/globals';
import { approvalUrl } from './gate-words.js';

it.each(['http://127.0.0.1:7400', 'http://127.0.0.1:7400/'])('the address of an approval at %s', (inboxUrl) => {
  expect(approvalUrl(inboxUrl, 'a 1')).toBe('http://127.0.0.1:7400/approvals/a%201');
});
