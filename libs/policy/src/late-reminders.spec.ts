import { describe, expect, it } from '@jest/globals';
import { checkPolicy } from './load-policy.js';

const warningsOf = (require: string): readonly string[] => {
  const text = `version: 1\nrules:\n  - id: a\n    then:\n      require: { anyOf: [ops], ${require} }\n`;
  return checkPolicy('p.yaml', text, null).warnings.map(({ line, path, message }) => `${line}: ${path}: ${message}`);
};

const never = 'is never sent: the approval has expired by then';
const remedy = 'Write an earlier time or a longer "expiresIn"';

describe('a reminder that is never sent', () => {
  it.each([
    ['after the expiry', 'expiresIn: 30m, reminders: [10m, 40m]', 1],
    ['at the expiry', 'expiresIn: 30m, reminders: [30m]', 0],
    [
      'after the last level',
      'expiresIn: 30m, reminders: [45m, 1h], onTimeout: escalate, escalation: [{ to: [m], expiresIn: 20m }]',
      1,
    ],
  ])('is a warning with its line and path: %s', (_, require, index) => {
    const path = `rules.0.then.require.reminders.${String(index)}`;
    expect(warningsOf(require)).toEqual([`5: ${path}: ${never}. ${remedy}`]);
  });

  it('may be sent where a request sets a longer expiry', () => {
    const path = 'rules.0.then.require.reminders.0';
    expect(warningsOf('reminders: [2h]')).toEqual([
      `5: ${path}: ${never}, unless a request sets a longer one. ${remedy}`,
    ]);
  });

  it.each([
    ['before the expiry', 'expiresIn: 30m, reminders: [10m]'],
    ['of an approval that never expires', 'expiresIn: never, reminders: [3d]'],
    ['of an approval that stays open', 'expiresIn: 30m, reminders: [1h], onTimeout: hold'],
  ])('is no warning: %s', (_, require) => {
    expect(warningsOf(require)).toEqual([]);
  });
});
