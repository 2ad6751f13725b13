import { expect, it } from '@jest/globals';
import { createUnproven } from './unproven.js';

it.each([
  [['sha256:aa'], 'the content of 1 cited policy is not in the log: sha256:aa'],
  [['a', 'b', 'c', 'd'], 'the content of 4 cited policies is not in the log: a, b, c'],
])('names the policies whose content is not in the log: %j', (policies, sentence) => {
  expect(createUnproven().sentences(policies)).toContain(sentence);
});
