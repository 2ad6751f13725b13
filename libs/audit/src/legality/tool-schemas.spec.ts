import { describe, expect, it } from '@jest/globals';
import type { JsonObject, StoredEvent } from '@countersign/contracts';
import { callId, digestOfEdit, identity, salt, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';
import { digestOf, digestOfAction } from './digests.js';

type Members = Readonly<Record<string, unknown>>;

const schema: JsonObject = {
  type: 'object',
  properties: { amount: { type: 'integer', maximum: 100 } },
  required: ['amount'],
  additionalProperties: false,
};
const note = { pointer: '', why: 'is too large' };
const hashOf = (of: JsonObject = schema): string => digestOf(of);

function requested(args: Members, more: Members = {}): Story {
  const toolSchemaHash = hashOf();
  const facts = { ...identity, agentId: 'agent', toolName: 'refund', toolSchemaHash };
  const actionDigest = digestOfAction(facts, args, salt);
  return story()
    .policy()
    .request({ callId, arguments: args, toolSchema: schema, toolSchemaHash, actionDigest, ...more });
}

/** On a day on which the server checked each edit. */
function later({ events }: Story): Story {
  return story(JSON.parse(JSON.stringify(events).replaceAll('2026-11-27', '2026-12-04')) as StoredEvent[]);
}

const said = (told: Story): readonly string[] =>
  wordsOf(told).filter((word) => /schema/.test(word) || word.startsWith('digest'));
const unfit = ['request: its arguments do not fit the schema of the tool'];

function digestIn({ events }: Story): unknown {
  return (events.at(-1)?.data as Members | undefined)?.['actionDigest'];
}

function edited(args: Members, more: Members = {}): Story {
  const before = requested({ amount: 5 }, more);
  const actionDigest = digestIn(before);
  const facts = { ...identity, agentId: 'agent', toolName: 'refund', toolSchemaHash: hashOf() };
  return before.ask({ actionDigest }).edit('alice', args, { actionDigest: digestOfAction(facts, args, salt) });
}

const checkedWhole = (more: Members): Story => {
  const before = requested({ amount: 5 }, more);
  const actionDigest = digestIn(before);
  return before.ask({ actionDigest }, { requireCheckedSchema: true });
};

describe('arguments and the schema of their tool', () => {
  it.each<[string, Story, readonly string[]]>([
    ['a request that fits', requested({ amount: 5 }), []],
    ['a request that does not', requested({ amount: 'lots', rm: '-rf' }), unfit],
    ['an edit that fits', edited({ amount: 7 }), []],
    ['an edit that does not', edited({ amount: 101 }), unfit],
    [
      'a schema of which the server checked a part',
      requested({ amount: 500 }, { schemaNotes: [note] }),
      ['argument-schema'],
    ],
    ['an edit under it', edited({ amount: 7 }, { schemaNotes: [note] }), ['argument-schema', 'argument-schema']],
    ['a schema that is not shown', requested({ amount: 500 }, { toolSchema: null }), ['argument-schema']],
    [
      'a schema that was too large to be recorded',
      requested({ amount: 5 }, { toolSchema: { sensitive: true }, schemaNotes: [note] }),
      ['argument-schema'],
    ],
    [
      'another schema in its place',
      requested({ amount: 5 }, { toolSchema: { type: 'string' }, schemaNotes: [note] }),
      ['digest: the hash of the tool schema is not that of the schema'],
    ],
  ])('%s', (_, told, words) => {
    expect(said(later(told))).toEqual(words);
  });

  it.each<[string, Story, boolean]>([
    ['with a schema that was checked whole', checkedWhole({}), false],
    ['with one that was not', checkedWhole({ schemaNotes: [note] }), true],
    ['without one', story().policy().request().ask({}, { requireCheckedSchema: true }), true],
  ])('a rule that takes only checked schemas, and a call %s', (_, told, isFound) => {
    const words = said(later(told)).filter((word) => word.startsWith('request'));
    expect(words).toEqual(isFound ? ['request: its rule takes no call whose schema is not checked whole'] : []);
  });

  it('lists what an older version may have passed', () => {
    expect(said(requested({ amount: 'lots' }))).toEqual(['argument-schema']);
  });

  it('compares an edit of a call without a schema with nothing', () => {
    const told = story()
      .policy()
      .request()
      .ask()
      .edit('alice', { any: 1 }, { actionDigest: digestOfEdit({ any: 1 }) });
    expect(said(later(told))).toEqual([]);
  });
});
