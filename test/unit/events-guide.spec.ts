import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { actorRules, eventTypes } from '@countersign/contracts';
import type { ActorRule } from '@countersign/contracts';

const guide = readFileSync(join(import.meta.dirname, '../../docs/events.md'), 'utf8');

const idOf = ({ id, onBehalfOf }: ActorRule): string => {
  const name = id === null ? 'not recorded' : `\`${id.replaceAll("'", '')}\``;
  const whose = id?.startsWith("'") === true ? 'the word ' : '';
  return `${whose}${name}${onBehalfOf === undefined ? '' : `, for \`${onBehalfOf}\``}`;
};

it('has the rule of each event about who did it', () => {
  const rows = eventTypes.flatMap((type) =>
    actorRules[type].map(
      (rule) => `| \`${type}\` | ${rule.kind} | ${idOf(rule)} | ${rule.when === undefined ? '' : rule.when.words} |`,
    ),
  );
  const table = guide.slice(guide.indexOf('| event | kind |')).split('\n\n')[0] ?? '';
  expect(table.trim().split('\n').slice(2)).toEqual(rows);
});
