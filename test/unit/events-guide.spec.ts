import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { actorRules, eventCodes, eventTypes } from '@countersign/contracts';
import type { ActorRule } from '@countersign/contracts';

const guide = readFileSync(join(import.meta.dirname, '../../docs/events.md'), 'utf8');

const idOf = ({ id, onBehalfOf }: ActorRule): string => {
  const name = id === null ? 'not recorded' : `\`${id.replaceAll("'", '')}\``;
  const whose = id?.startsWith("'") === true ? 'the word ' : '';
  return `${whose}${name}${onBehalfOf === undefined ? '' : `, for \`${onBehalfOf}\``}`;
};

it('has the code of each event, and its rule about who did it', () => {
  const rows = eventTypes.flatMap((type) =>
    actorRules[type].map(
      (rule) =>
        `| \`${type}\` | ${eventCodes[type]} | ${rule.kind} | ${idOf(rule)} | ${rule.when === undefined ? '' : rule.when.words} |`,
    ),
  );
  const table = guide.slice(guide.indexOf('| event | code |')).split('\n\n')[0] ?? '';
  expect(table.trim().split('\n').slice(2)).toEqual(rows);
});

it('gives no two types of events the same code', () => {
  const codes = eventTypes.map((type) => eventCodes[type]);
  expect(new Set(codes).size).toBe(codes.length);
  expect(codes.filter((code) => !/^CS[1-9][0-9]{2}$/.test(code))).toEqual([]);
});
