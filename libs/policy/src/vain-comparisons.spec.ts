import { celEngine } from '@countersign/cel';
import { describe, expect, it } from '@jest/globals';
import { checkPolicy } from './load-policy.js';

const fileOf = (when: string): string => `version: 1\nrules:\n  - id: a\n    when: '${when}'\n    then: allow\n`;

describe('a comparison that can never hold', () => {
  it('is a warning with its line and path', () => {
    const { warnings } = checkPolicy('p.yaml', fileOf('size(args.to) == "3"'), celEngine);
    const message = 'size(args.to) == "3": it compares a number with a text and is always false';
    expect(warnings).toEqual([{ file: 'p.yaml', line: 4, path: 'rules.0.when', message }]);
  });

  it('is no warning where the arguments may have any type', () => {
    expect(checkPolicy('p.yaml', fileOf('args.amount == "100"'), celEngine).warnings).toEqual([]);
  });
});
