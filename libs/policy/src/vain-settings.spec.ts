import { describe, expect, it } from '@jest/globals';
import { checkPolicy } from './load-policy.js';

const warningsOf = (require: string, defaults = ''): readonly string[] => {
  const text = `version: 1\n${defaults}rules:\n  - id: a\n    then:\n      require:\n        anyOf: [ops]\n        ${require}\n`;
  return checkPolicy('p.yaml', text, null).warnings.map(({ line, path, message }) => `${line}: ${path}: ${message}`);
};

const noDeadline =
  'never happens: with "expiresIn: never" there is no deadline. Write an "expiresIn", or leave "onTimeout" out';

describe('settings that contradict each other', () => {
  it.each([
    ['allow', 'allowOnTimeout: i-understand'],
    ['escalate', 'escalation: [{ to: [managers], expiresIn: 1h }]'],
  ])('are a warning with its line: no deadline, and "onTimeout: %s"', (onTimeout, more) => {
    expect(warningsOf(`expiresIn: never\n        onTimeout: ${onTimeout}\n        ${more}`)).toEqual([
      `8: rules.0.then.require.onTimeout: ${noDeadline}`,
    ]);
  });

  it('are found where the default of the file is one of them', () => {
    const defaults = 'defaults: { expiresIn: never }\n';
    expect(warningsOf('onTimeout: allow\n        allowOnTimeout: i-understand', defaults)).toEqual([
      `8: rules.0.then.require.onTimeout: ${noDeadline}`,
    ]);
  });

  it('are a warning where people may only deny', () => {
    expect(warningsOf('allowedDecisions: [deny]')).toEqual([
      '7: rules.0.then.require.allowedDecisions: lets people only deny, so the call never runs: add "approve", or write "block"',
    ]);
  });

  it.each([
    ['no deadline, and a denial', 'expiresIn: never\n        onTimeout: deny'],
    ['no deadline, and an approval that stays open', 'expiresIn: never\n        onTimeout: hold'],
    [
      'people who may only deny, and silence that approves',
      'onTimeout: allow\n        allowOnTimeout: i-understand\n        allowedDecisions: [deny]',
    ],
    ['people who may only answer', 'allowedDecisions: [answer]'],
  ])('are none: %s', (_, require) => {
    expect(warningsOf(require)).toEqual([]);
  });
});
